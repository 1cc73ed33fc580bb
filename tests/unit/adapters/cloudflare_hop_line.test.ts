import { assert, assertEquals, assertMatch } from "@std/assert";
import type { LineSocket } from "../../../src/adapters/cloudflare/hop/dial.ts";
import { HopLine } from "../../../src/adapters/cloudflare/hop/line.ts";
import {
  type Begin,
  type Control,
  encodeControl,
  encodePart,
  PING,
  PONG,
  type Resume,
} from "../../../src/adapters/cloudflare/hop/wire.ts";
import { FakeClock } from "../../../src/testing/fake_clock.ts";
import { test } from "../../support/test.ts";
import { settle } from "./cloudflare_hop_world.ts";

const EPOCH = "00c0ffee00c0ffee";

/** A Worker's socket, and what an object says over it. */
class Socket implements LineSocket {
  readonly sent: string[] = [];
  closed: string | null = null;
  #hear: (event: { readonly data: unknown }) => void = () => {};
  #lose: () => void = () => {};

  accept(): void {}

  send(message: string): void {
    this.sent.push(message);
  }

  close(_code: number, reason: string): void {
    this.closed = reason;
  }

  addEventListener(
    type: "message" | "close" | "error",
    listener: (event: { readonly data: unknown }) => void,
  ): void {
    if (type === "message") this.#hear = listener;
    else this.#lose = () => listener({ data: null });
  }

  says(control: Control): void {
    this.#hear({ data: encodeControl(control) });
  }

  foreign(data: unknown): void {
    this.#hear({ data });
  }

  frames(text: string, offset: number, resumable = true): void {
    const bytes = new TextEncoder().encode(text);
    this.#hear({ data: encodePart({ offset, resumable, bytes }).buffer });
  }

  pong(): void {
    this.#hear({ data: PONG });
  }

  breaks(): void {
    this.#lose();
  }
}

interface Stage {
  readonly clock: FakeClock;
  readonly socket: Socket;
  readonly line: HopLine;
  /** How the Worker asked for its stream again. */
  readonly asked: Resume[];
  /** What it is answered, one after another; then it is not reached. */
  readonly answers: (Socket | "gone" | null | Promise<Socket>)[];
  /** What the client has read. */
  readonly text: () => string;
  /** Whether its stream has ended. */
  readonly ended: () => boolean;
}

const BEGIN: Begin = {
  ...{ type: "begin", connection: "c", epoch: EPOCH, keepaliveMs: 1000, keepaliveEvent: "" },
  ...{ writeTimeoutMs: 5000, expiresAt: null },
};

/** A line whose client reads, or does not. */
async function stage(reads: boolean, begin: Begin = BEGIN): Promise<Stage> {
  const clock = new FakeClock();
  const socket = new Socket();
  const asked: Resume[] = [];
  const answers: Stage["answers"] = [];
  const line = new HopLine(socket, (resume) => {
    asked.push(resume);
    return Promise.resolve(answers.shift() ?? null);
  }, clock);
  let text = "";
  let ended = false;
  const reader = line.stream.getReader();
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value);
    }
    ended = true;
  };
  if (reads) void read();
  socket.says({ ...begin });
  socket.frames("retry: 1\n\n", 7);
  await settle();
  return { clock, socket, line, asked, answers, text: () => text, ended: () => ended };
}

/** Lets time pass in steps of a keepalive; the platform answers each ping, if it does. */
async function pass({ clock, socket }: Stage, beats: number, pongs = true): Promise<void> {
  for (let n = 0; n < beats; n++) {
    clock.advance(1000);
    if (pongs) socket.pong();
    await settle();
  }
}

test("an idle client gets a keepalive each interval, and where it stands, for as long as it stays", async () => {
  const one = await stage(true);
  await pass(one, 20);
  assertEquals(one.text(), `retry: 1\n\n${`id: ${EPOCH}:7\n\n: keepalive\n\n`.repeat(20)}`);
  assertEquals(one.socket.sent, new Array(20).fill(PING));
  assertEquals(one.ended(), false);
});

test("a client that takes nothing for the write timeout is dropped, and its socket closed", async () => {
  const one = await stage(false);
  await pass(one, 4);
  assertEquals(one.socket.closed, null);
  await pass(one, 3);
  assertEquals([one.socket.closed, one.clock.pending], ["stalled", 0]);
});

test("a client that leaves closes the socket, and leaves no timer behind", async () => {
  const one = await stage(true);
  one.line.leave();
  assertEquals([one.socket.closed, one.clock.pending], ["left", 0]);
});

test("a socket that breaks off is replaced within the stream, after the last offset that came", async () => {
  const one = await stage(true);
  one.socket.frames("data: 1\n\n", 12);
  const next = new Socket();
  one.answers.push(null, next);
  one.socket.breaks();
  for (let n = 0; n < 9; n++) {
    one.clock.advance(100);
    await settle();
  }
  const resume = { connection: "c", after: `${EPOCH}:12`, pasts: 0, waiting: 0 };
  assertEquals(one.asked, [resume, resume]);
  next.says({ ...BEGIN });
  next.frames("data: 2\n\n", 13);
  await settle();
  assert(one.text().includes("data: 1\n\ndata: 2\n\n"), one.text());
  assertEquals(one.ended(), false);
});

test("an object that cannot go on, or is not reached for half a minute, is told as a reset", async () => {
  for (const answer of ["gone", null] as const) {
    const one = await stage(true);
    one.answers.push(answer);
    one.socket.breaks();
    await pass(one, answer === "gone" ? 1 : 29);
    if (answer === null) {
      assertEquals(one.ended(), false);
      await pass(one, 10);
      assert(one.asked.length > 5, "it was hardly tried again");
    }
    assertMatch(one.text(), /event: sse:reset\ndata: \{"reason":"shutdown"\}\n\n$/);
    assertEquals(one.ended(), true);
  }
});

test("an object that does not answer is asked again, and what comes too late is not used", async () => {
  const one = await stage(true);
  const late = new Socket();
  let resolve: (socket: Socket) => void = () => {};
  const promise = new Promise<Socket>((settle) => resolve = settle);
  const next = new Socket();
  one.answers.push(promise, next);
  one.socket.breaks();
  await pass(one, 13);
  assertEquals(one.asked.length, 2);
  resolve(late);
  await settle();
  assertEquals([late.closed, next.closed, one.ended()], ["late", null, false]);
  next.says({ ...BEGIN });
  next.frames("data: on\n\n", 8);
  await settle();
  assert(one.text().endsWith("data: on\n\n"), one.text());
});

test("what breaks off in the midst of a history is not patched up", async () => {
  const one = await stage(true);
  one.socket.frames("data: a part\n\n", 7, false);
  one.socket.breaks();
  await settle();
  assertEquals(one.asked, []);
  assertEquals(one.ended(), true);
});

test("a promised history that was not heard of is no longer to be had", async () => {
  const one = await stage(true);
  one.socket.says({ type: "pasts", count: 1 });
  one.socket.frames("data: all of it\n\n", 7);
  one.answers.push("gone");
  one.socket.breaks();
  await pass(one, 1);
  assertEquals(one.asked.map(({ pasts }) => pasts), [1]);
});

test("an object that is not heard any more is asked anew", async () => {
  const one = await stage(true);
  one.answers.push(new Socket());
  await pass(one, 15, false);
  assertEquals(one.asked.length, 0);
  await pass(one, 2, false);
  assertEquals(one.asked.length, 1);
  assertEquals(one.socket.closed, "lost");
});

test("an authority that ends is told a minute before, and can be put off", async () => {
  const clock = new FakeClock();
  const one = await stage(true, { ...BEGIN, expiresAt: clock.now() + 70_000 });
  await pass(one, 9);
  assertEquals(one.text().includes("sse:expiring"), false);
  assertMatch(one.text(), /^retry: 1\n\n/);
  await pass(one, 2);
  assert(one.text().includes('event: sse:expiring\ndata: {"in_ms":60000}'), one.text());
  one.socket.says({ type: "expires", at: clock.now() + 80_000 });
  await pass(one, 62);
  assertEquals(one.ended(), false);
  await pass(one, 8);
  assertEquals(one.ended(), true);
  assertEquals(one.socket.closed, "left");
});

test("what an application sends to all sockets of its object is not taken for the hop's", async () => {
  const one = await stage(true);
  const bytes = new TextEncoder().encode('{"type":"end"} and more');
  const messages = ['{"type":"end"}', "", "tidemark:x", bytes.buffer, new ArrayBuffer(0), bytes];
  for (const data of messages) one.socket.foreign(data);
  await settle();
  assertEquals([one.text(), one.ended()], ["retry: 1\n\n", false]);
});

test("what an object has said last leaves before the stream ends", async () => {
  const one = await stage(true);
  one.socket.frames("data: last\n\n", 8);
  one.socket.says({ type: "end" });
  one.socket.breaks();
  await settle();
  assertMatch(one.text(), /data: last\n\n$/);
  assertEquals([one.ended(), one.asked.length, one.clock.pending], [true, 0, 0]);
});
