// SPDX-License-Identifier: Apache-2.0
import { identityToken, liveClient, until } from "../../../../Clients/JavaScript/test/support/system.js";
import { server, text } from "./system.js";

/** The people of a ferry company, by their user ids. */
export const people = {
  "ines.costa": "Inês Costa", "rui.almeida": "Rui Almeida", "marta.sousa": "Marta Sousa",
  "tiago.reis": "Tiago Reis", "clara.nunes": "Clara Nunes", "harbour-bot": "Harbour Desk",
};

/** Makes the identities of all people, whose ids begin with `prefix`. */
export async function makePeople(prefix = "") {
  for (const [id, name] of Object.entries(people)) {
    const [first, last] = name.split(" ");
    const email = `${id}@ferries.example`;
    const more = id.endsWith("bot") ? { identity_type: "bot" }
      : { first_name: first, last_name: last, email_address: email, metadata: { team: "Deck 2", locale: "pt-PT" } };
    await server("PUT", `/users/${prefix}${id}/identity`, { display_name: name, ...more });
  }
}

/** Signs a person in, and returns a client that is live. */
export const signIn = (id) =>
  liveClient(id, { identityToken: (nonce) => identityToken(id, nonce, {}), confirmsDelivery: true });

/** The metadata of the conversation, by who sets it. */
const metadata = {
  "ines.costa": {
    title: "Ferry 7, Saturday", trip: { from: "Lisboa", to: "Barreiro", date: "2026-11-28", boat: "Dom Dinis" },
    status: "boarding",
  },
  "rui.almeida": { crew: { captain: "rui.almeida", deck: "tiago.reis", engineer: "clara.nunes" } },
  "harbour-bot": { weather: { wind: "14 kn", sea: "slight" }, tickets: { sold: "312", left: "48" } },
};

const lines = [
  ["ines.costa", "Boarding for the 17:40 begins at pier 3."],
  ["rui.almeida", "Ramp is down. We take vehicles first today."],
  ["marta.sousa", "Group of 42 from the school is at the gate, with two wheelchairs."],
  ["tiago.reis", "I meet them at ramp B and keep the lift free."],
  ["ines.costa", "Thank you! Tell me when they are seated."],
  ["rui.almeida", "Wind turns to the west after six, so we leave on time."],
  ["tiago.reis", "School group is on board, all seated on deck 2."],
  ["marta.sousa", "Gate is closed: 312 tickets, 48 seats left."],
];

/**
 * Makes the talk of a crew: a conversation with a metadata tree, messages, receipts and one who left.
 * @returns {Promise<{id: string, clients: object}>} `clients`: by user ids without the prefix; they stay connected
 */
export async function makeTalk(prefix = "") {
  const ids = Object.keys(people).map((id) => prefix + id);
  const { id } = await server("POST", "/conversations", { participants: ids, distinct: false, metadata: {} });
  const uuid = id.split("/").at(-1);
  const clients = {};
  for (const one of ["ines.costa", "rui.almeida", "marta.sousa", "tiago.reis"]) {
    clients[one] = await signIn(prefix + one);
    await until(() => clients[one].conversation(id), `${one} has the conversation`);
  }
  for (const [one, tree] of Object.entries(metadata)) {
    const own = clients[one];
    if (own) await own.conversation(id).mergeMetadata(tree);
    else await server("PATCH", `/conversations/${uuid}`, operations(tree));
  }
  for (const [one, body] of lines) await clients[one].conversation(id).send(body);
  await server("POST", `/conversations/${uuid}/messages`, {
    sender_id: `layer:///identities/${encodeURIComponent(`${prefix}harbour-bot`)}`,
    parts: [text("Departure of ferry 7"),
      { mime_type: "application/json", body: JSON.stringify({ ferry: 7, pier: 3, departs: "17:40", delay: 0 }) }],
  });
  await clients["rui.almeida"].conversation(id).markAllRead();
  await clients["ines.costa"].conversation(id).markAllRead();
  await server("PATCH", `/conversations/${uuid}`, [
    { operation: "remove", property: "participants", id: `layer:///identities/${prefix}clara.nunes` }]);
  return { id: uuid, clients };
}

const operations = (tree, path = "metadata") => Object.entries(tree).flatMap(([key, value]) =>
  (typeof value === "string" ? [{ operation: "set", property: `${path}.${key}`, value }]
    : operations(value, `${path}.${key}`)));
