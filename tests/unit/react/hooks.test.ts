import { assertEquals } from "@std/assert";
import * as reactModule from "react";
import * as serverModule from "react-dom/server";
import { createHooks, type ReactLike } from "../../../src/react/mod.ts";
import { test } from "../../support/test.ts";
import { PuppetServer } from "../client/puppet_server.ts";

/** What is used of React besides; it brings no types along. */
interface React extends ReactLike {
  createElement(type: unknown, properties: object | null, ...children: unknown[]): unknown;
}

const react = reactModule as unknown as React;
const { renderToString } = serverModule as unknown as {
  renderToString(element: unknown): string;
};
const { useFrames, useStream, useStreamState } = createHooks(react);

test("on a server a component renders its initial state, and connects nothing", () => {
  const server = new PuppetServer();
  const Room = (): unknown => {
    const room = useStream({
      url: "/events",
      fetch: server.fetch,
      initial: "nothing yet",
      reduce: (_, { data }) => data,
    });
    return react.createElement("p", { title: useStreamState(room) }, useFrames(room));
  };
  const html = renderToString(react.createElement(Room, null));
  assertEquals(html, '<p title="stopped">nothing yet</p>');
  assertEquals(server.requests, 0);
});
