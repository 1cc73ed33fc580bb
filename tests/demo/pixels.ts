/**
 * What is drawn on a page's canvases.
 *
 * @module
 */
import type { Page } from "puppeteer-core";

/**
 * Says whether a canvas holds a good many pixels that are nearly of a colour of the theme.
 *
 * @param page The page.
 * @param id The canvas's id.
 * @param colour The colour's name in the style sheet, `--accent`.
 * @returns Whether it does.
 */
export function hasColour(page: Page, id: string, colour: string): Promise<boolean> {
  return page.evaluate(
    (id, colour) => {
      const canvas = document.getElementById(id) as HTMLCanvasElement;
      const hex = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
      const wanted = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
      const { width, height } = canvas;
      // From a copy: reading the page's own canvas back would slow it down, and be warned of.
      const copy = new OffscreenCanvas(width, height).getContext("2d", {
        willReadFrequently: true,
      });
      copy?.drawImage(canvas, 0, 0);
      const image = copy?.getImageData(0, 0, width, height).data ?? [];
      let found = 0;
      for (let i = 0; i < image.length; i += 4) {
        if ((image[i + 3] ?? 0) < 100) continue;
        if (wanted.every((value, at) => Math.abs((image[i + at] ?? 0) - value) < 24)) found++;
      }
      return found > 20;
    },
    id,
    colour,
  );
}

/** Whether a canvas has been drawn for the size at which it is shown. */
export const isSharp = (node: Element): boolean =>
  node instanceof HTMLCanvasElement &&
  node.width === Math.round(node.getBoundingClientRect().width * devicePixelRatio);
