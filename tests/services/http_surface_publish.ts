/**
 * The surface of `http_surface_main.ts`: publishing, and hearing what was published.
 *
 * @module
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { KEY } from "../unit/service/world.ts";
import type { Answer, Surface } from "./http_surface_server.ts";

/** Who may publish. */
export const BEARER = `Authorization: Bearer ${KEY}`;
/** Who may listen. */
export const ADA = "X-User: ada";
/** The data of the event that ends a case. */
export const END = "the end of it";

/** Publishes as JSON, or as the data itself. */
export function publish(
  surface: Surface,
  event: { readonly topic: string; readonly name?: string; readonly data: string },
  raw = false,
): Promise<Answer> {
  if (!raw) {
    const head = `POST /sse/publish HTTP/1.1\n${BEARER}\nContent-Type: application/json`;
    return surface.send(head, { body: JSON.stringify(event) });
  }
  const { topic, name = "", data } = event;
  const query = new URLSearchParams({ topic, name });
  const head = `POST /sse/publish?${query} HTTP/1.1\n${BEARER}\nContent-Type: text/plain`;
  return surface.send(data === "" ? `${head}\nContent-Length: 0` : head, { body: data });
}

/** Opens a stream, and reads its events up to the one that ends the case. */
export async function heard(
  surface: Surface,
  head: string,
): Promise<() => Promise<EventSourceMessage[]>> {
  let opened = (): void => {};
  const isOpen = new Promise<void>((resolve) => opened = resolve);
  const answer = surface.send(head, {
    until(body) {
      if (body.includes("event: sse:hello")) opened();
      return body.includes(END);
    },
  });
  await Promise.race([isOpen, answer]);
  return async () => {
    const { body } = await answer;
    const events: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (event) => events.push(event) });
    const bytes = Uint8Array.from(body, (character) => character.charCodeAt(0));
    // A reader strips a BOM at the beginning of a stream, and there alone.
    parser.feed(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
    return events.filter(({ event }) => event === undefined || !event.startsWith("sse:"));
  };
}
