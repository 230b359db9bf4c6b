// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test, { afterEach } from "node:test";
import { randomNumbers } from "./support/clock.js";
import { disconnectAll, liveClient, newUser, objectsOf, openProxy, pause, skip, until } from "./support/system.js";

/** The number of steps and the seeds of the histories. */
const steps = Number(process.env.STRATA_STEPS ?? 120);
const seeds = (process.env.STRATA_SEEDS ?? "1 2 3").split(" ").map(Number);

afterEach(() => disconnectAll());

const pick = (random, list) => list[Math.floor(random() * list.length)];

/** Changes by their weights. Each receives a client, one of its conversations, and the other users. */
const changes = [
  [30, ({ client, chat, sent }) => {
    const text = `${client.userId} ${sent.length}`;
    sent.push(text);
    void chat.send(text);
  }],
  [12, ({ chat, random }) => void chat.setMetadata(pick(random, ["a", "b", "c.d", "c.e", "c.f.g"]), `${random()}`)],
  [4, ({ chat, random }) => void chat.setMetadata("c", { d: `${random()}` })],
  [5, ({ chat, random }) => void chat.deleteMetadata(pick(random, ["a", "c", "c.f"]))],
  [10, ({ chat }) => void chat.markAllRead()],
  [6, ({ chat, random }) => void pick(random, chat.messages().items)?.markRead()],
  [4, ({ chat, random }) => void pick(random, chat.messages().items.filter((one) =>
    !one.isPending))?.delete("all_participants")],
  [3, ({ chat, random }) => void pick(random, chat.messages().items.filter((one) =>
    !one.isPending))?.delete("my_devices")],
  [4, ({ client, chat, random }) => void pick(random, chat.messages().items.filter((one) =>
    one.senderId === client.userId))?.edit(`edited ${random()}`)],
  [4, ({ chat, others, random }) => void chat.add(pick(random, others))],
  [3, ({ chat, others, random }) => void chat.remove(pick(random, others))],
  [3, ({ client, others, random }) => void client.createConversation({ participants: [pick(random, others)],
    distinct: random() < 0.5 })],
  [2, ({ chat }) => void chat.delete("my_devices")],
  [1, ({ chat }) => void chat.leave()],
];
const weights = changes.flatMap(([weight, change]) => Array(weight).fill(change));

for (const seed of seeds) {
  test(`the random history ${seed}, with cuts of the sockets, ends with equal states, also of fresh clients`,
    { skip }, async () => {
    const random = randomNumbers(seed);
    const users = ["ann", "ben", "cleo"].map(newUser);
    const proxies = await Promise.all(users.map(() => openProxy()));
    const clients = [];
    for (const [index, user] of users.entries()) clients.push(await liveClient(user, { url: proxies[index].url,
      messages: 100 }));
    const [sent, failures] = [[], []];
    for (const client of clients) client.on("failure", ({ error, change }) =>
      failures.push(`${change.kind} ${error.code}`));
    const first = clients[0].createConversation({ participants: users.slice(1), distinct: false });
    await first.created;
    await until(() => clients.every((client) => client.conversation(first.id)));
    for (let step = 0; step < steps; step += 1) {
      const index = Math.floor(random() * clients.length);
      const [client, proxy] = [clients[index], proxies[index]];
      if (random() < 0.06) proxy.cut();
      if (random() < 0.04) [proxy.isSilent, proxy.isDown] = [random() < 0.5, random() < 0.5];
      if (random() < 0.1) for (const one of proxies) [one.isSilent, one.isDown] = [false, false];
      const chat = pick(random, client.conversations().items);
      const others = users.filter((user) => user !== client.userId);
      if (chat) pick(random, weights)({ client, chat, others, random, sent });
      if (random() < 0.5) await pause(random() * 60);
    }
    for (const one of proxies) {
      [one.isSilent, one.isDown] = [false, false];
      one.cut();
    }
    const isQuiet = (client) => client.state === "live" && client.pendingChanges === 0;
    await until(() => clients.every(isQuiet), "all changes are sent", 90_000);
    const fresh = [];
    for (const user of users) fresh.push(await liveClient(user, { messages: 100, confirmsDelivery: false }));
    const differing = () => clients.findIndex((client, index) => {
      const [one, other] = [client, fresh[index]].map(objectsOf);
      return JSON.stringify(one) !== JSON.stringify(other);
    });
    await until(() => differing() < 0, "equal states", 15_000).catch(() => {});
    const index = differing();
    if (index >= 0) assert.deepEqual(objectsOf(clients[index]), objectsOf(fresh[index]), users[index]);
    const refused = failures.filter((failure) => !/access_denied|not_found/.test(failure));
    assert.deepEqual(refused, [], "only changes of former participants and of deleted objects are refused");
    const all = fresh.flatMap((client) => client.conversations().items).flatMap((chat) => chat.messages().items);
    const seen = new Map(all.map((message) => [message.id, message.text]));
    const unedited = [...seen.values()].filter((text) => sent.includes(text));
    assert.equal(new Set(unedited).size, unedited.length, "no message was sent twice");
    for (const one of proxies) one.close();
  });
}
