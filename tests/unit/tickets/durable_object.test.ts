import { assert, assertEquals, assertRejects } from "@std/assert";
import { TicketError } from "../../../src/errors/ticket.ts";
import { createDurableObjectTicketStore } from "../../../src/tickets/durable_object.ts";
import { test } from "../../support/test.ts";
import { openStorage, type SqlStorage } from "./sql_storage.ts";

if (openStorage !== undefined) {
  const open = openStorage;

  /** Registers a test with a storage of its own. */
  const onStorage = (name: string, body: (storage: SqlStorage) => Promise<void>): void =>
    test(`tickets in an object: ${name}`, async () => {
      const storage = open();
      try {
        await body(storage);
      } finally {
        storage.close();
      }
    });

  onStorage("what has expired is deleted when others are put", async (storage) => {
    let time = 0;
    const store = createDurableObjectTicketStore(storage, { now: () => time });
    for (let n = 0; n < 250; n++) await store.put(`old ${n}`, "v", 1000 + n);
    await store.put("long", "v", 100_000);
    time = 1099;
    await store.put("new 1", "v", 1000);
    assertEquals(rows(storage), 250 + 2 - 100);
    time = 5000;
    await store.put("new 2", "v", 1000);
    await store.put("new 3", "v", 1000);
    // "new 1" has expired meanwhile.
    assertEquals(rows(storage), 3);
    assertEquals(await store.take("long"), "v");
  });

  onStorage(
    "what is put again takes the place of what is still there, expired",
    async (storage) => {
      let time = 0;
      const store = createDurableObjectTicketStore(storage, { now: () => time });
      for (let n = 0; n < 150; n++) await store.put(`old ${n}`, "v", 10);
      await store.put("key", "old", 20);
      time = 20;
      await store.put("key", "new", 10);
      assertEquals(await store.take("key"), "new");
    },
  );

  onStorage("it finds what was put before the object was made anew", async (storage) => {
    const now = (): number => 0;
    await createDurableObjectTicketStore(storage, { now }).put("key", "v", 1000);
    const anew = createDurableObjectTicketStore(storage, { now });
    assertEquals([await anew.take("key"), await anew.take("key")], ["v", null]);
  });

  onStorage("it begins anew after the application has deleted everything", async (storage) => {
    const store = createDurableObjectTicketStore(storage);
    await store.put("key", "v", 10_000);
    storage.sql.exec("DROP TABLE tidemark_tickets").toArray();
    assertEquals(await store.take("key"), null);
    await store.put("key", "w", 10_000);
    assertEquals(await store.take("key"), "w");
  });

  onStorage("everything is done before a method returns", async (storage) => {
    const store = createDurableObjectTicketStore(storage);
    const put = store.put("key", "v", 10_000);
    assertEquals(rows(storage), 1);
    const take = store.take("key");
    assertEquals(rows(storage), 0);
    assertEquals([await put, await take], [undefined, "v"]);
  });

  onStorage("it sees nothing of the application's own tables, nor they of it", async (storage) => {
    storage.sql.exec("CREATE TABLE tickets (key)").toArray();
    const store = createDurableObjectTicketStore(storage);
    await store.put("'; DROP TABLE tickets; --", "v", 10_000);
    assertEquals(await store.take("'; DROP TABLE tickets; --"), "v");
    assertEquals(storage.sql.exec("SELECT * FROM tickets").toArray(), []);
  });
}

test("tickets in an object: a storage that fails is unavailable", async () => {
  let asked = 0;
  const store = createDurableObjectTicketStore({
    sql: {
      exec(): never {
        asked++;
        throw new Error("database or disk is full: SQLITE_FULL");
      },
    },
  });
  for (const ask of [() => store.put("key", "v", 1), () => store.take("key")]) {
    const error = await assertRejects(ask, TicketError);
    assertEquals(error.fault, "unavailable");
    assert(error.message.includes("SQLITE_FULL"), error.message);
  }
  assertEquals(asked, 2);
});

function rows(storage: SqlStorage): number {
  const [row] = storage.sql.exec("SELECT count(*) AS n FROM tidemark_tickets").toArray();
  return (row as { readonly n: number }).n;
}
