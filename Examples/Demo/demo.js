// SPDX-License-Identifier: Apache-2.0
import { IndexedDBStorage } from "/client/indexeddb.js";
import { StrataClient, StrataError } from "/client/strata.js";
import { Pane } from "./pane.js";

/** The user ids of the sessions in the page's address. */
const users = ["alice", "bob"];

/**
 * The exchange of the first visit: the sender's index, and the text.
 * @type {[number, string][]}
 */
const greeting = [
  [0, "Shall we take the early train on Saturday?"],
  [1, "Yes. It leaves at 8:10 and arrives before lunch."],
  [0, "Good. I will book two seats by the window."],
  [1, "Then I bring the coffee."],
];

/**
 * Returns the values in the address's fragment; null if one is missing. A plus sign stays a plus sign.
 * @param {string} fragment
 */
function readFragment(fragment) {
  /** @type {Record<string, string>} */
  const values = Object.create(null);
  try {
    for (const pair of fragment.replace(/^#/, "").split("&")) {
      const [name, ...rest] = pair.split("=");
      values[name] = decodeURIComponent(rest.join("="));
    }
  } catch {
    return null;
  }
  return values.app && users.every((user) => values[user]) ? values : null;
}

/**
 * Makes the client of one user. It starts with the session in the address and has no other sign-in. Its unsent changes
 * outlive the page.
 * @param {string} appId
 * @param {string} userId
 * @param {string} token
 * @param {() => void} refused
 */
function makeClient(appId, userId, token, refused) {
  const identityToken = () => {
    refused();
    throw new StrataError("sign_in_failed", "The page has no identity tokens.");
  };
  const storage = new IndexedDBStorage(`strata-demo ${appId} ${userId}`);
  return new StrataClient({ url: location.origin, appId, identityToken, session: { token, userId }, storage });
}

/**
 * Resolves when a client has a value.
 * @template T
 * @param {StrataClient} client
 * @param {() => T | null | undefined | false} read
 * @returns {Promise<T>}
 */
function available(client, read) {
  return new Promise((resolve) => {
    const check = () => {
      const value = read();
      if (!value) return;
      stop();
      resolve(value);
    };
    const stop = client.on("change", check);
    check();
  });
}

/**
 * Makes the first conversation, or completes one whose making was interrupted. All ids follow from the conversation's
 * id, so that repetitions and concurrent pages make no second message.
 * @param {StrataClient[]} clients
 */
async function makeFirstConversation(clients) {
  const [alice] = clients;
  const known = alice.conversations().items;
  let conversation = known.find(({ metadata }) => metadata.demo === "greeting");
  if (!conversation) {
    if (known.length > 0) return;
    const metadata = { title: "Weekend in Porto", theme: "ocean", demo: "greeting" };
    conversation = await alice.createConversation({ participants: [users[1]], metadata }).created;
  }
  const { id } = conversation;
  for (const [index, [sender, text]] of greeting.entries()) {
    if (index === greeting.length - 1) await markAllRead(clients, id, index);
    await post(clients[sender], id, messageId(id, index), text);
  }
  await alice.conversation(id)?.deleteMetadata("demo");
}

/**
 * Marks the messages of the exchange as read by both users. The last one stays unread.
 * @param {StrataClient[]} clients
 * @param {string} id
 * @param {number} count
 */
async function markAllRead(clients, id, count) {
  await Promise.all(clients.map(async (client) => {
    const conversation = await available(client, () => {
      const one = client.conversation(id);
      return one && one.totalCount >= count && one;
    });
    await conversation.markAllRead();
  }));
}

/**
 * Returns the id of a message of the exchange: the conversation's id with another end.
 * @param {string} conversation
 * @param {number} index
 */
function messageId(conversation, index) {
  const uuid = conversation.split("/").at(-1) ?? "";
  return `layer:///messages/${uuid.slice(0, -2)}${String(index).padStart(2, "0")}`;
}

/**
 * Sends a message with a given id. A message that exists is a success.
 * @param {StrataClient} client
 * @param {string} conversation
 * @param {string} id
 * @param {string} text
 */
async function post(client, conversation, id, text) {
  const body = { id, parts: [{ mime_type: "text/plain", body: text }] };
  try {
    await client.request("POST", `/conversations/${conversation.split("/").at(-1)}/messages`, { body });
  } catch (error) {
    if (!(error instanceof StrataError) || error.code !== "id_in_use") throw error;
  }
}

/** @param {Record<string, string>} values */
async function start(values) {
  /** @type {Pane[]} */
  const panes = [];
  const clients = users.map((user, index) =>
    makeClient(values.app, user, values[user], () => panes[index]?.showRefusal()));
  for (const [index, user] of users.entries()) {
    panes.push(new Pane({ client: clients[index], userId: user, otherId: users[1 - index] }));
    document.querySelector("#panes")?.append(panes[index].root);
  }
  for (const type of ["pointerdown", "focusin"]) {
    document.addEventListener(type, (event) => {
      const target = /** @type {Node} */ (event.target);
      for (const pane of panes) pane.setActive(pane.root.contains(target));
    });
  }
  await Promise.all(panes.map((pane) => pane.connect()));
  await makeFirstConversation(clients);
}

function showStart() {
  const template = /** @type {HTMLTemplateElement} */ (document.querySelector("#start"));
  document.querySelector("#panes")?.append(template.content.cloneNode(true));
}

addEventListener("hashchange", () => location.reload());
const values = readFragment(location.hash);
if (values) start(values).catch((error) => console.error(error));
else showStart();
