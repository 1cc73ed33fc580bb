import { journalCases } from "../../src/journal/conformance.ts";
import { NATS, NatsServer } from "../support/nats.ts";
import { test } from "../support/test.ts";
import { natsSubject } from "./journal_nats_subject.ts";

let server: Promise<NatsServer> | undefined;
const subject = natsSubject(() => server ??= NatsServer.start());

for (const { name, run } of journalCases(subject)) {
  test(`JetStream: ${name}`, run, { needs: [NATS], foreignTimers: true });
}

test("JetStream: the server of the suite ends", async () => {
  await (await server)?.stop();
}, { needs: [NATS], foreignTimers: true });
