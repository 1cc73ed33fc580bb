import { assertEquals } from "@std/assert";
import {
  CONTROL,
  helloFrame,
  keepaliveFrame,
  lagFrames,
  resetFrame,
  snapshotFrame,
} from "../../../src/wire/control.ts";
import { textOf } from "../../model/chunks.ts";
import { parseAll } from "../../model/reports.ts";
import { test } from "../../support/test.ts";

const EPOCH = "00c0ffee00c0ffee";
const FROM = `${EPOCH}:3`;
const TO = `${EPOCH}:9`;

test("the hello is an event without an id", () => {
  const hello = helloFrame({
    wire: 1,
    epoch: EPOCH,
    floor: 3,
    head: 9,
    resumed: true,
    verdict: "resumed",
    keepaliveMs: 15_000,
    keepaliveEvent: "sse:keepalive",
  });
  assertEquals(
    textOf(hello),
    `event: sse:hello\ndata: {"wire":1,"epoch":"${EPOCH}","floor":"3","head":"9","resumed":true,` +
      '"verdict":"resumed","keepalive_ms":15000,"keepalive_event":"sse:keepalive"}\n\n',
  );
});

test("a keepalive is an event of the given name with an empty object, or a comment", () => {
  assertEquals(textOf(keepaliveFrame("sse:keepalive")), "event: sse:keepalive\ndata: {}\n\n");
  assertEquals(textOf(keepaliveFrame("ping")), "event: ping\ndata: {}\n\n");
  assertEquals(textOf(keepaliveFrame("")), ": keepalive\n\n");
});

test("a reset says why", () => {
  assertEquals(textOf(resetFrame("slow")), 'event: sse:reset\ndata: {"reason":"slow"}\n\n');
  assertEquals(textOf(resetFrame("shutdown")), 'event: sse:reset\ndata: {"reason":"shutdown"}\n\n');
});

test("a lag is a comment and an event, in that order, and without a number the event alone", () => {
  assertEquals(
    textOf(lagFrames({ missed: 6, from: FROM, to: TO })),
    `: dropped 6\n\nevent: sse:lag\ndata: {"missed":6,"from":"${FROM}","to":"${TO}"}\n\n`,
  );
  assertEquals(
    textOf(lagFrames({ missed: 0, from: FROM, to: TO })),
    `: dropped 0\n\nevent: sse:lag\ndata: {"missed":0,"from":"${FROM}","to":"${TO}"}\n\n`,
  );
  assertEquals(
    textOf(lagFrames({ missed: null, from: FROM, to: TO })),
    `event: sse:lag\ndata: {"missed":null,"from":"${FROM}","to":"${TO}"}\n\n`,
  );
});

test("a lag's fields are the wire's, in the wire's order, whatever object held them", () => {
  const roomy = { to: TO, connection: "secret", from: FROM, missed: 6 };
  assertEquals(
    textOf(lagFrames(roomy)),
    textOf(lagFrames({ missed: 6, from: FROM, to: TO })),
  );
});

test("a repair is marked at its begin and at its end, with the head at the end", () => {
  assertEquals(textOf(snapshotFrame("begin")), 'event: sse:snapshot\ndata: {"phase":"begin"}\n\n');
  assertEquals(
    textOf(snapshotFrame("end", TO)),
    `event: sse:snapshot\ndata: {"phase":"end","head":"${TO}"}\n\n`,
  );
});

test("no frame of the library's carries an id or sets the reconnection time", () => {
  const frames = [
    keepaliveFrame("sse:keepalive"),
    keepaliveFrame(""),
    resetFrame("slow"),
    lagFrames({ missed: 1, from: FROM, to: TO }),
    snapshotFrame("begin"),
    snapshotFrame("end", TO),
  ];
  for (const report of parseAll(frames)) {
    assertEquals(
      report.kind === "event" ? report.id : report.kind,
      report.kind === "event" ? null : "comment",
    );
  }
});

test("every name of the library's starts with what no application may use", () => {
  for (const name of Object.values(CONTROL)) assertEquals(name.startsWith("sse:"), true);
});
