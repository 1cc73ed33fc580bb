import { assertEquals, assertRejects } from "@std/assert";
import { DigestStatusError, RefusedError } from "../../../../src/errors.ts";
import { createVersionMap } from "../../../../src/client/versions.ts";
import { MAX_UNACKED } from "../../../../src/client/worker/fanout.ts";
import { test } from "../../../support/test.ts";
import { cursorOf, EPOCH, Stage } from "./sim/scripted.ts";

test("a port that never attached is asked who it is, and is sent nothing else", () => {
  const stage = new Stage();
  const tab = stage.tab(null);
  tab.beat();
  tab.answer(1);
  assertEquals(tab.got.map(({ kind }) => kind), ["who", "who"]);
  assertEquals(stage.streams.length, 0);
  assertEquals(stage.host.state, "stopped");
});

test("the stream begins with the first tab, and there is one for all", () => {
  const stage = new Stage();
  stage.tab();
  stage.tab();
  assertEquals(stage.streams.length, 1);
  assertEquals(stage.stream.calls, ["start"]);
  assertEquals(stage.stream.options.url, "http://scripted/events");
  assertEquals(stage.host.size, 2);
});

test("a tab that attaches hears how the stream stands, then that it is attached", () => {
  const stage = new Stage();
  const first = stage.tab();
  stage.stream.open();
  stage.stream.frames(1, 2);
  const late = stage.tab();
  assertEquals(late.got.map(({ kind }) => kind), ["welcome", "record"]);
  const { seq, cursor, state, epoch, generation, doubt } = late.last("welcome");
  assertEquals([seq, cursor, state, epoch, generation, doubt], [
    ...[2, cursorOf(2), "open", EPOCH, 1, false],
  ]);
  assertEquals(late.last("record"), {
    kind: "record",
    record: { kind: "tab_attached", tabs: 2, state: "open" },
    state: "open",
    cursor: cursorOf(2),
  });
  assertEquals(first.last("record"), late.last("record"));
});

test("a stream that was told to start is connecting, though it still reads its cursor", () => {
  const stage = new Stage({}, true);
  const tab = stage.tab();
  const states = (): string[] => tab.all("record").map(({ state }) => state);
  assertEquals([tab.last("welcome").state, ...states()], ["connecting", "connecting"]);
  // Whoever takes it for stopped would not start it on another host.
  stage.tab({ start: true });
  assertEquals([stage.stream.calls, states()], [["start"], ["connecting", "connecting"]]);
  stage.stream.move("connecting");
  stage.stream.move("stopped");
  assertEquals([stage.host.state, states().at(-1)], ["stopped", "stopped"]);
});

test("frames of one turn are one message, numbered, and behind them whatever comes later", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  tab.got.length = 0;
  stage.stream.frames(1, 2, 3);
  assertEquals(tab.got.length, 0);
  stage.stream.tell({ kind: "alive_ack", ok: true, status: 204 });
  stage.stream.frames(4);
  await stage.settle();
  assertEquals(tab.got.map(({ kind }) => kind), ["frames", "record", "frames"]);
  assertEquals(tab.all("frames").map(({ seq }) => seq), [1, 4]);
  assertEquals(tab.frames, ["1", "2", "3", "4"]);
});

test("a tab that attaches in the turn of a frame does not get what its welcome covers", async () => {
  const stage = new Stage();
  const first = stage.tab();
  stage.stream.open();
  stage.stream.frames(1);
  const late = stage.tab();
  stage.stream.frames(2);
  await stage.settle();
  assertEquals(late.last("welcome").cursor, cursorOf(1));
  assertEquals(late.frames, ["2"]);
  assertEquals(first.frames, ["1", "2"]);
});

test("the state that comes with a record is the state since", () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  const states = tab.all("record").map(({ record, state }) => [record.kind, state]);
  assertEquals(states, [["tab_attached", "connecting"], ["state", "open"], ["hello", "open"]]);
});

test("an error in a record crosses the port as text", () => {
  const stage = new Stage();
  const tab = stage.tab();
  const error = new TypeError("no");
  stage.stream.tell({ kind: "revalidate_failed", cause: "hello", error });
  const { record } = tab.last("record");
  assertEquals(record, { kind: "revalidate_failed", cause: "hello", error: "TypeError: no" });
  assertEquals(stage.records.at(-1), { kind: "revalidate_failed", cause: "hello", error });
});

test("the profile is visible while any tab is, and its network is as last reported", async () => {
  const stage = new Stage();
  const one = stage.tab({ visible: false });
  const { stream } = stage;
  const { visibility, online } = stream.options;
  // Until a whole beat has passed nobody knows who else is coming.
  await stage.advance(9000);
  assertEquals(visibility?.hidden(), false);
  await stage.advance(1000);
  assertEquals(visibility?.hidden(), true);
  const two = stage.tab({ visible: true, online: false });
  assertEquals([visibility?.hidden(), online?.online()], [false, false]);
  one.beat({ visible: true, online: true });
  two.beat({ visible: false });
  await stage.advance(12_000);
  assertEquals(visibility?.hidden(), false);
  one.say({ kind: "detach", reason: "pagehide" });
  await stage.advance(10_000);
  assertEquals(visibility?.hidden(), true);
  assertEquals(stream.calls, ["start", "hidden", "visible", "false", "true", "hidden"]);
});

test("when one tab is left for another the stream does not hear of a moment in between", async () => {
  const stage = new Stage();
  const [one, two] = [stage.tab(), stage.tab({ visible: false })];
  // Whenever that is, and also when a beat falls into it.
  for (const at of [200, 4800, 4600]) {
    await stage.clock.advance(at);
    one.beat({ visible: false });
    await stage.clock.advance(400);
    two.beat({ visible: true });
    await stage.clock.advance(4000);
    one.beat({ visible: true });
    two.beat({ visible: false });
  }
  assertEquals(stage.stream.calls, ["start"]);
});

test("a profile whose last tab is gone is hidden within two beats, and keeps no timer then", async () => {
  const stage = new Stage();
  stage.tab().say({ kind: "detach", reason: "pagehide" });
  assertEquals(stage.stream.calls, ["start"]);
  await stage.advance(10_000);
  assertEquals(stage.stream.calls, ["start", "hidden"]);
  assertEquals(stage.clock.waiting(stage.owner), 0);
});

test("the first tag is presented, another one replaces it with one reconnection, none changes nothing", async () => {
  const stage = new Stage({ headers: { "X-Own": "1" } });
  const read = async (): Promise<unknown> => {
    const { headers } = stage.stream.options;
    return typeof headers === "function" ? await headers() : headers;
  };
  stage.tab({ tag: "" });
  stage.stream.open();
  assertEquals(await read(), { "X-Own": "1" });
  const tab = stage.tab({ tag: "a" });
  assertEquals(await read(), { "X-Own": "1", "SSE-Client": "a" });
  stage.tab({ tag: "a" });
  stage.tab({ tag: "" });
  tab.say({ kind: "tag", tag: "a" });
  tab.say({ kind: "tag", tag: "" });
  assertEquals(stage.stream.calls, ["start", "reconnect"]);
  tab.say({ kind: "tag", tag: "b" });
  assertEquals(stage.stream.calls, ["start", "reconnect", "reconnect"]);
  assertEquals(await read(), { "X-Own": "1", "SSE-Client": "b" });
});

test("a logout stops the stream for every tab and forgets where it was, until a new tab comes", () => {
  const stage = new Stage();
  const leaving = stage.tab();
  const staying = stage.tab();
  stage.stream.open();
  stage.stream.frames(7);
  leaving.say({ kind: "detach", reason: "logout" });
  assertEquals(stage.stream.calls, ["start", "stop", "reset"]);
  assertEquals(staying.last("beat").cursor, "");
  assertEquals(staying.all("record").at(-1)?.state, "stopped");
  // A page that comes back has seen the end; a new one has not.
  staying.attach({ start: false, repair: true });
  assertEquals(stage.host.state, "stopped");
  stage.tab();
  assertEquals(stage.host.state, "connecting");
});

test("a logout of a tab that had expired counts all the same", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  const other = stage.tab();
  await stage.advance(30_000, other);
  assertEquals(stage.host.size, 1);
  tab.say({ kind: "detach", reason: "logout" });
  assertEquals(stage.host.state, "stopped");
});

test("401 to an acknowledgement stops the stream, and says so once", () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  stage.stream.tell({ kind: "alive_ack", ok: false, status: 403 });
  assertEquals(stage.host.state, "open");
  stage.stream.tell({ kind: "alive_ack", ok: false, status: 401 });
  stage.stream.tell({ kind: "alive_ack", ok: false, status: 401 });
  assertEquals(stage.host.state, "stopped");
  assertEquals(tab.records.filter((kind) => kind === "auth_lost").length, 1);
  assertEquals(tab.last("record").state, "stopped");
});

test("401 to the host's own digest stops the stream", async () => {
  const stage = new Stage({ revalidate: () => Promise.reject(new DigestStatusError(401)) });
  const tab = stage.tab();
  stage.stream.open();
  await assertRejects(() => stage.stream.revalidate(), DigestStatusError);
  assertEquals(stage.host.state, "stopped");
  assertEquals(tab.last("record").record, { kind: "auth_lost", route: "digest", status: 401 });
});

test("401 to a tab's digest stops the stream; another failure of a tab does not", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  const run = stage.stream.revalidate();
  tab.answer(tab.last("revalidate").ask);
  await run;
  assertEquals(stage.host.state, "open");
  void stage.stream.revalidate();
  tab.answer(tab.last("revalidate").ask, { fault: "unauthorized" });
  assertEquals(stage.host.state, "stopped");
});

test("a stopped stream starts again when a tab reconnects it or renewed its credentials", () => {
  for (const how of ["reconnect", "reset", "credentials"] as const) {
    const stage = new Stage();
    const tab = stage.tab();
    stage.stream.open();
    stage.stream.tell({ kind: "alive_ack", ok: false, status: 401 });
    assertEquals(stage.host.state, "stopped");
    tab.say({ kind: "reconnect", how });
    assertEquals(stage.host.state, "connecting", how);
  }
});

test("a running stream is reconnected, reset, or told of credentials, as the tab says", () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  for (const how of ["reconnect", "credentials", "reset"] as const) {
    tab.say({ kind: "reconnect", how });
  }
  assertEquals(stage.stream.calls, ["start", "reconnect", "credentials", "reset"]);
});

test("stamps go into the profile's map, and one that it refuses is lost alone", () => {
  const versions = createVersionMap();
  const stage = new Stage({ versions });
  const tab = stage.tab();
  versions.bind(EPOCH);
  const subject = { kind: "chat", ref: "1" };
  tab.say({ kind: "observe", subject, version: "3", epoch: null });
  tab.say({ kind: "observe", subject, version: "4", epoch: "00000000000000bb" });
  assertEquals(versions.snapshot().subjects, [{ ...subject, version: "3" }]);
});

test("a revalidation is over when every tab has answered, has left or has expired", async () => {
  const stage = new Stage();
  const [answers, leaves, expires] = [stage.tab(), stage.tab(), stage.tab()];
  stage.stream.open();
  let over = false;
  const run = stage.stream.revalidate({ cause: "visible" }).then(() => over = true);
  for (const tab of [answers, leaves, expires]) {
    const { cause, epoch, generation, full, topics, changed, removed } = tab.last("revalidate");
    assertEquals([cause, epoch, generation, full, topics, changed, removed], [
      ...["visible", EPOCH, 1, false, null, null, null],
    ]);
  }
  // What comes from a tab that was not asked, or twice, is no answer.
  const stranger = stage.tab();
  const { ask } = answers.last("revalidate");
  stranger.answer(ask);
  answers.answer(ask);
  answers.answer(ask);
  leaves.say({ kind: "detach", reason: "detached" });
  await stage.settle();
  assertEquals(over, false);
  await stage.advance(16_000, answers, stranger);
  assertEquals(over, true);
  await run;
});

test("with nobody there a revalidation is over at once", async () => {
  const stage = new Stage();
  stage.tab().say({ kind: "detach", reason: "detached" });
  await stage.stream.revalidate();
});

test("a revalidation that the stream gives up is given up in the tabs that have not answered", async () => {
  const stage = new Stage();
  const [quick, slow] = [stage.tab(), stage.tab()];
  stage.stream.open();
  const controller = new AbortController();
  const run = stage.stream.revalidate({ signal: controller.signal });
  const { ask } = quick.last("revalidate");
  quick.answer(ask);
  controller.abort(new Error("given up"));
  await assertRejects(() => run, Error, "given up");
  assertEquals([quick.all("abort").length, slow.last("abort").ask], [0, ask]);
});

test("the host's own body asks one digest, and fans what it found out to every tab", async () => {
  let digests = 0;
  const found = { changed: [{ kind: "chat", ref: "1", version: "2" }], removed: [] };
  const stage = new Stage({
    async revalidate(context, tabs) {
      digests++;
      await tabs.run({ ...context, full: true }, found);
    },
  });
  const tabs = [stage.tab(), stage.tab()];
  stage.stream.open();
  const run = stage.stream.revalidate();
  for (const tab of tabs) {
    const { ask, changed, removed, full } = tab.last("revalidate");
    assertEquals([changed, removed, full], [found.changed, [], true]);
    tab.answer(ask);
  }
  await run;
  assertEquals(digests, 1);
});

test("a tab that comes too late for a revalidation is told so, until one has ended well", () => {
  const stage = new Stage();
  const first = stage.tab();
  stage.stream.open();
  const doubts = (): boolean => stage.tab().last("welcome").doubt;
  assertEquals(doubts(), false);
  const run = stage.stream.revalidate();
  first.answer(first.last("revalidate").ask);
  assertEquals(doubts(), true);
  void run;
  stage.stream.tell({ kind: "revalidated", cause: "hello", tookMs: 1 });
  assertEquals(doubts(), false);
  stage.stream.tell({ kind: "lag", missed: 3 });
  assertEquals(doubts(), true);
  stage.stream.tell({ kind: "revalidated", cause: "topic_gap", tookMs: 1 });
  assertEquals(doubts(), true);
  stage.stream.tell({ kind: "revalidated", cause: "lag", tookMs: 1 });
  stage.stream.tell({ kind: "revalidate_failed", cause: "hello", error: null });
  assertEquals(doubts(), true);
});

test("a tab that is silent for three beats expires, is sent nothing more, and is repaired when it answers", async () => {
  const stage = new Stage();
  const [silent, other] = [stage.tab(), stage.tab()];
  stage.stream.open();
  await stage.advance(14_000, other);
  assertEquals(stage.host.size, 2);
  await stage.advance(1000, other);
  assertEquals(stage.host.size, 1);
  assertEquals(silent.all("beat").map(({ ask }) => ask), [true, true]);
  const expired = other.all("record").map(({ record }) => record)
    .find(({ kind }) => kind === "port_expired");
  assertEquals(expired, { kind: "port_expired", sinceLastBeatMs: 15_000, unacked: 0 });
  assertEquals(other.last("record").record, { kind: "tab_detached", tabs: 1, cause: "expired" });
  const before = silent.got.length;
  stage.stream.frames(1);
  await stage.settle();
  assertEquals(silent.got.length, before);
  silent.beat();
  assertEquals(silent.last("who").boot, silent.last("welcome").boot);
  silent.attach({ repair: true });
  stage.stream.frames(2);
  await stage.settle();
  assertEquals(silent.frames, ["2"]);
  assertEquals(other.records.slice(-2), ["tab_attached", "port_repaired"]);
});

test("any message is a sign of life, and a question is answered with the cursor", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  stage.stream.frames(5);
  for (let i = 0; i < 6; i++) {
    await stage.advance(9000);
    tab.say({ kind: "tag", tag: "" });
  }
  assertEquals(stage.host.size, 1);
  tab.beat({ ask: true });
  assertEquals(tab.last("beat"), { kind: "beat", cursor: cursorOf(5), ask: false });
});

test("a tab with too many frames unacknowledged expires, but not for one burst that it takes", async () => {
  const stage = new Stage();
  const [stuck, quick] = [stage.tab(), stage.tab()];
  stage.stream.open();
  const burst = (from: number): void =>
    stage.stream.frames(...Array.from({ length: MAX_UNACKED }, (_, i) => from + i));
  burst(1);
  await stage.settle();
  burst(MAX_UNACKED + 1);
  await stage.settle();
  assertEquals(stage.host.size, 2);
  // It shows signs of life all the time.
  for (let second = 0; second < 3; second++) {
    await stage.advance(1000, quick);
    stuck.beat({ ack: 10 });
  }
  stage.stream.frames(2 * MAX_UNACKED + 1);
  await stage.settle();
  assertEquals(stage.host.size, 1);
  assertEquals(stuck.all("frames").length, 2);
  assertEquals(quick.frames.length, 2 * MAX_UNACKED + 1);
  const expired = quick.all("record").map(({ record }) => record)
    .find(({ kind }) => kind === "port_expired");
  assertEquals(expired?.kind === "port_expired" && expired.unacked, 2 * MAX_UNACKED - 10);
});

test("nothing piles up for a tab that never acknowledges, even when nothing follows", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  stage.stream.frames(...Array.from({ length: MAX_UNACKED }, (_, i) => 1 + i));
  for (let second = 0; second < 11; second++) {
    await stage.advance(1000);
    tab.beat({ ack: 0 });
  }
  assertEquals(stage.host.size, 0);
});

test("an acknowledgement beyond what was sent does not count for what will be", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  tab.beat({ ack: 1_000_000 });
  stage.stream.frames(...Array.from({ length: MAX_UNACKED }, (_, i) => 1 + i));
  for (let second = 0; second < 11; second++) {
    await stage.advance(1000);
    tab.beat();
  }
  assertEquals(stage.host.size, 0);
});

test("a tab that attaches anew takes the place of its old port, which nothing is sent to any more", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  const run = stage.stream.revalidate();
  const port = stage.tab(null);
  Object.assign(port, { id: tab.id });
  port.attach({ start: false });
  assertEquals(stage.host.size, 1);
  await run;
  stage.stream.frames(1);
  await stage.settle();
  assertEquals([tab.frames, port.frames], [[], ["1"]]);
  tab.beat();
  assertEquals(tab.all("who").length, 1);
});

test("a tab that comes back gets what it has missed, as long as that is kept, before what is new", async () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  stage.stream.at = cursorOf(0);
  stage.stream.frames(1, 2, 3);
  await stage.settle();
  tab.say({ kind: "detach", reason: "pagehide" });
  const back = stage.tab({ cursor: cursorOf(1) });
  const { seq, cursor } = back.last("welcome");
  assertEquals([seq, cursor], [1, cursorOf(1)]);
  stage.stream.frames(4);
  await stage.settle();
  assertEquals(back.all("frames").map(({ seq }) => seq), [2, 4]);
  assertEquals(back.frames, ["2", "3", "4"]);
  // Of what was never kept, of another epoch, and beyond what came, there is nothing.
  for (const other of ["", "00000000000000bb:1", cursorOf(9)]) {
    const stranger = stage.tab({ cursor: other });
    assertEquals([stranger.frames, stranger.last("welcome").cursor], [[], cursorOf(4)], other);
  }
});

test("a tab that revalidates in full anyway is not given what it has missed", async () => {
  const stage = new Stage();
  stage.tab();
  stage.stream.open();
  stage.stream.at = cursorOf(0);
  stage.stream.frames(1, 2);
  await stage.settle();
  const owing = stage.tab({ cursor: cursorOf(1), owed: true });
  assertEquals([owing.frames, owing.last("welcome").cursor], [[], cursorOf(2)]);
  stage.stream.tell({ kind: "revalidate_failed", cause: "hello", error: null });
  assertEquals(stage.tab({ cursor: cursorOf(1) }).frames, []);
});

test("over a hole nothing that was kept is handed on", async () => {
  const holes: ((stage: Stage) => void)[] = [
    ({ stream }) => stream.open(false),
    ({ stream }) => {
      stream.tell({ kind: "lag", missed: 1 });
      stream.tell({ kind: "revalidated", cause: "lag", tookMs: 1 });
    },
  ];
  for (const hole of holes) {
    const stage = new Stage();
    stage.tab();
    stage.stream.open();
    stage.stream.at = cursorOf(0);
    stage.stream.frames(1, 2);
    hole(stage);
    stage.stream.at = cursorOf(5);
    stage.stream.frames(6);
    await stage.settle();
    const behind = stage.tab({ cursor: cursorOf(1) });
    assertEquals([behind.frames, behind.last("welcome").cursor], [[], cursorOf(6)]);
    assertEquals(stage.tab({ cursor: cursorOf(5) }).frames, ["6"]);
  }
});

test("what is kept is bounded by number and by size", async () => {
  const stage = new Stage();
  stage.tab();
  stage.stream.open();
  stage.stream.at = cursorOf(0);
  stage.stream.frames(...Array.from({ length: 300 }, (_, i) => 1 + i));
  await stage.settle();
  assertEquals(stage.tab({ cursor: cursorOf(44) }).frames.length, 256);
  assertEquals(stage.tab({ cursor: cursorOf(43) }).frames.length, 0);
  for (const offset of [301, 302]) {
    stage.stream.options.onFrame({ type: "big", data: "x".repeat(600_000), id: cursorOf(offset) });
    stage.stream.at = cursorOf(offset);
  }
  await stage.settle();
  assertEquals(stage.tab({ cursor: cursorOf(301) }).frames.length, 1);
  assertEquals(stage.tab({ cursor: cursorOf(300) }).frames.length, 0);
});

test("frames without an id are not handed on: they belong to one connection", async () => {
  const stage = new Stage();
  stage.tab();
  stage.stream.open();
  stage.stream.at = cursorOf(0);
  stage.stream.frames(1);
  stage.stream.options.onFrame({ type: "hook", data: "hook", id: null });
  stage.stream.frames(2);
  await stage.settle();
  assertEquals(stage.tab({ cursor: cursorOf(0) }).frames, ["1", "2"]);
});

test("two first words that crossed a call are one attachment", () => {
  const stage = new Stage();
  const tab = stage.tab();
  tab.attach();
  assertEquals(tab.all("welcome").length, 1);
  assertEquals(tab.records, ["tab_attached"]);
});

test("a host that follows another starts from the cursor of its first tab", async () => {
  const stage = new Stage();
  const first = stage.tab({ cursor: cursorOf(9) });
  assertEquals(await stage.stream.options.persist?.load(), {
    ...{ cursor: cursorOf(9), unverified: false, stateKept: true },
  });
  assertEquals(first.last("welcome").cursor, cursorOf(9));
  // The stream has not read it yet: later tabs are measured by it all the same.
  assertEquals(stage.tab({ cursor: cursorOf(11) }).last("welcome").cursor, cursorOf(9));
});

test("a logout before the stream has read its cursor forgets that cursor, too", async () => {
  const stage = new Stage();
  stage.tab({ cursor: cursorOf(9) }).say({ kind: "detach", reason: "logout" });
  assertEquals(await stage.stream.options.persist?.load(), null);
});

test("a visible tab is asked for the address first, then the others, each for five seconds", async () => {
  const stage = new Stage();
  const hidden = stage.tab({ visible: false, url: null });
  const visible = stage.tab({ url: null });
  const { url } = stage.stream.options;
  if (typeof url !== "function") throw new Error("the address is not asked for");
  const { signal } = new AbortController();
  const answer = Promise.resolve(url({ attempt: 4, signal }));
  assertEquals(hidden.all("ask").length, 0);
  const { want, attempt, ask } = visible.last("ask");
  assertEquals([want, attempt], ["url", 4]);
  await stage.advance(4000, hidden, visible);
  assertEquals(hidden.all("ask").length, 0);
  await stage.advance(1000, hidden, visible);
  assertEquals(visible.last("abort").ask, ask);
  hidden.answer(hidden.last("ask").ask, { value: "http://tab/events" });
  assertEquals(await answer, "http://tab/events");
});

test("when no tab brings what is asked for, the attempt fails; a refusal ends the asking", async () => {
  const stage = new Stage();
  const [one, two] = [stage.tab({ url: null }), stage.tab()];
  const { url, headers } = stage.stream.options;
  if (typeof url !== "function" || typeof headers !== "function") throw new Error("not asked for");
  const { signal } = new AbortController();
  const failed = assertRejects(async () => await headers(), Error, "No tab brought");
  one.answer(one.last("ask").ask);
  await stage.settle();
  two.say({ kind: "detach", reason: "detached" });
  await failed;
  const refused = assertRejects(async () => await url({ attempt: 0, signal }), RefusedError);
  one.answer(one.last("ask").ask, { fault: "refused" });
  await refused;
});

test("an attempt that is given up asks no further tab", async () => {
  const stage = new Stage();
  const [one, two] = [stage.tab({ url: null }), stage.tab()];
  const { url } = stage.stream.options;
  if (typeof url !== "function") throw new Error("the address is not asked for");
  const controller = new AbortController();
  const failed = assertRejects(async () => await url({ attempt: 0, signal: controller.signal }));
  controller.abort();
  await failed;
  assertEquals([one.all("ask").length, one.all("abort").length, two.all("ask").length], [1, 1, 0]);
});

test("what the worker's script says itself is not asked for", async () => {
  const stage = new Stage({ url: "http://worker/events", headers: () => ({ "X-Own": "2" }) });
  const tab = stage.tab({ url: null });
  assertEquals(stage.stream.options.url, "http://worker/events");
  const { headers } = stage.stream.options;
  assertEquals(typeof headers === "function" && await headers(), { "X-Own": "2" });
  assertEquals(tab.all("ask").length, 0);
});

test("a host that is stopped ends its stream without a word to the tabs, and answers nobody", () => {
  const stage = new Stage();
  const tab = stage.tab();
  stage.stream.open();
  const before = tab.got.length;
  stage.host.stop();
  tab.beat({ ask: true });
  stage.tab();
  assertEquals(stage.host.state, "stopped");
  assertEquals(tab.got.length, before);
  assertEquals(stage.host.size, 0);
});
