/**
 * A fixture in the test's own process.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { createFixture, type Fixture, FrameReader } from "../../../src/testing/mod.ts";
import type { FixtureOpeners, FixtureOptions, FixtureState } from "../../../src/testing/mod.ts";

export const ORIGIN = "http://localhost";

/** What moves it. */
export interface Driver {
  fixture: Fixture;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  state(): Promise<FixtureState>;
  open(query?: string, headers?: Record<string, string>): Promise<FrameReader>;
}

/** Makes a fixture. Its streams are ended after the work, whatever becomes of that. */
export async function driven(
  work: (driver: Driver) => Promise<void>,
  options: FixtureOptions = {},
  openers?: FixtureOpeners,
): Promise<void> {
  const fixture = createFixture(options, openers);
  const readers: FrameReader[] = [];
  const get: Driver["get"] = async (path, headers) =>
    await fixture.fetch(new Request(ORIGIN + path, { headers }));
  const post: Driver["post"] = async (path, body, headers) =>
    await fixture.fetch(
      new Request(ORIGIN + path, {
        method: "POST",
        headers,
        body: typeof body === "string" || body === undefined ? body : JSON.stringify(body),
      }),
    );
  try {
    await work({
      fixture,
      get,
      post,
      state: async () => await (await get("/control/state")).json(),
      async open(query = "", headers = {}) {
        const reader = new FrameReader((await get(`/events${query}`, headers)).body);
        readers.push(reader);
        return reader;
      },
    });
  } finally {
    await Promise.all(readers.map((reader) => reader.cancel()));
    await fixture.close();
  }
}

/** A refusal's status, code and message, after its envelope was checked. */
export async function refusalOf(response: Response): Promise<[number, string, string]> {
  const { error, code } = await response.json();
  assertEquals(response.headers.get("content-type"), "application/json");
  assertEquals(response.headers.get("x-content-type-options"), "nosniff");
  return [response.status, code, error];
}
