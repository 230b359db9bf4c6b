// SPDX-License-Identifier: Apache-2.0
// An app that fault tests start, control by lines on its standard input, and kill. It is what Tests/KitClient is for
// StrataKit: its environment contains the settings, and its commands and reports are those of KitCommand.swift.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { applyStep, emptyTree } from "../../metadata.js";
import { StrataClient } from "../../strata.js";
import { FileStorage, replaceFile } from "./file-storage.js";
import { objectsOf } from "./system.js";
import { TestWebSocket } from "./websocket.js";

/** The names of changes in reports. */
const operations = {
  createConversation: "createConversation", send: "sendMessage", edit: "changeParts", setMetadata: "setMetadata",
  setParticipants: "changeParticipants", deleteMessage: "deleteMessage", deleteConversation: "deleteConversation",
  read: "markAsRead", readAll: "markAsRead",
};

const settings = JSON.parse(process.env.STRATA_KIT_CLIENT);
const sessionFile = join(settings.folder, "session.json");
let boundaries = settings.lastBoundary ?? Infinity;
let token = null;

/** Ends the process at the last of the boundaries. */
function boundary() {
  boundaries -= 1;
  if (boundaries === 0) process.kill(process.pid, "SIGKILL");
}

/** Writes a report with as few system calls as possible, so that a killed process has delivered its earlier reports. */
function report(report) {
  let rest = Buffer.from(`${JSON.stringify(report)}\n`);
  while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
}

function storedSession() {
  try {
    return JSON.parse(readFileSync(sessionFile, "utf8"));
  } catch {
    return null;
  }
}

// A crash must not look like a refused start.
process.on("uncaughtException", (error) => {
  console.error(error.stack);
  process.abort();
});

mkdirSync(settings.folder, { recursive: true });
const storage = new FileStorage(join(settings.folder, "changes"), boundary);
const session = storedSession();
const client = new StrataClient({
  url: settings.server, appId: settings.app, session, storage, WebSocket: TestWebSocket,
  identityToken: () => {
    if (!token) throw new Error("There is no token.");
    return token;
  },
});
client.on("session", (session) => {
  // Without its file the next process signs in again.
  replaceFile(sessionFile, JSON.stringify(session), boundary).catch(() => {});
});
client.on("failure", ({ error, change: { kind, conversation, ids = [] } }) => {
  report({ failed: { operation: operations[kind], conversation, messages: ids, error: error.code } });
});

function find(id) {
  const conversation = client.conversation(id);
  if (!conversation) throw new Error(`${id} is not on this device`);
  return conversation;
}

const messagesOf = (id) => find(id).messages().items;
/** Returns the message at an index that may exceed their number; nothing if there are none. */
const select = (messages, index) => (messages.length > 0 ? [messages[index % messages.length]] : []);
const isOwn = (message) => message.senderId === client.userId;
const treeOf = (texts) => Object.entries(texts).reduce((tree, [path, value]) =>
  applyStep(tree, { path, value }), emptyTree());

/** Makes a call for each message. */
const forEach = (messages, call) => ({ objects: messages.map(({ id }) => id), calls: messages.map(call) });

function send(chat, text) {
  const sent = chat.send(text);
  return { objects: [chat.messages().items.at(-1).id], calls: [sent] };
}

/** The actions that change something. Each returns the ids of the objects concerned, and the results of its calls. */
const changes = {
  create({ others, isDistinct, metadata, text }) {
    const chat = client.createConversation({ participants: others, distinct: isDistinct, metadata: treeOf(metadata) });
    const { objects, calls } = send(chat, text);
    return { objects: [chat.id, ...objects], calls };
  },
  send: ({ conversation, text }) => send(find(conversation), text),
  edit: ({ conversation, index, text }) =>
    forEach(select(messagesOf(conversation).filter(isOwn), index), (message) => message.edit(text)),
  set: ({ conversation, path, value }) => ({ calls: [find(conversation).setMetadata(path, value)] }),
  unset: ({ conversation, path }) => ({ calls: [find(conversation).deleteMetadata(path)] }),
  merge: ({ conversation, metadata }) => ({ calls: [find(conversation).mergeMetadata(treeOf(metadata))] }),
  replace: ({ conversation, metadata }) => ({
    calls: Object.entries(treeOf(metadata)).map(([key, value]) => find(conversation).setMetadata(key, value)),
  }),
  add: ({ conversation, user }) => ({ calls: [find(conversation).add(user)] }),
  remove: ({ conversation, user }) => ({ calls: [find(conversation).remove(user)] }),
  toggle({ conversation, user, leaves }) {
    const chat = find(conversation);
    if (!chat.participants.some((one) => one.userId === user)) return { calls: [chat.add(user)] };
    return { calls: user !== client.userId || leaves ? [chat.remove(user)] : [] };
  },
  read: ({ conversation }) =>
    forEach(messagesOf(conversation).filter((one) => one.isUnread).slice(0, 3), (message) => message.markRead()),
  readOne: ({ conversation, index }) => forEach(select(messagesOf(conversation), index), (message) =>
    message.markRead()),
  readAll: ({ conversation }) => ({ calls: [find(conversation).markAllRead()] }),
  delete: ({ conversation }) =>
    forEach(messagesOf(conversation).filter(isOwn).slice(-1), (message) => message.delete("all_participants")),
  deleteOne: ({ conversation, index, mode }) =>
    forEach(select(messagesOf(conversation), index), (message) => message.delete(mode)),
  deleteConversation: ({ conversation, mode }) => ({ calls: [find(conversation).delete(mode)] }),
  leave: ({ conversation }) => ({ calls: [find(conversation).delete("my_devices", { leave: true })] }),
};

/** The actions that change nothing. */
const controls = {
  signIn(action) {
    token = action.token;
    return client.connect();
  },
  connect() {
    client.connect().catch(() => {});
  },
  disconnect: () => client.disconnect(),
  // A change is a small file of its own: with a part of the room, about half of them can be stored.
  limitFiles({ room }) {
    const limit = room === undefined ? "unlimited" : Math.floor(room / 32);
    execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${limit}:`]);
  },
};

/** Loads the older messages of all conversations, page by page. Without a connection, the next command continues. */
async function loadAll() {
  for (const chat of client.conversations().items) {
    const list = chat.messages();
    for (let count = -1; list.hasMore && list.items.length > count; await list.more().catch(() => {})) {
      count = list.items.length;
    }
  }
}

/** Waits until a change is stored. One that cannot be stored counts when the server has it. */
async function accept(number, { objects = [], calls }, failures) {
  if (objects.length > 0) report({ begins: { number, objects } });
  await storage.idle();
  if (storage.failures > failures) await Promise.allSettled(calls);
  report({ accepted: { number, objects } });
}

async function execute({ number, action }) {
  const [[name, values]] = Object.entries(action);
  try {
    if (name === "state") {
      await loadAll();
      const pending = Math.max(client.pendingChanges, storage.size);
      report({ state: { number, pending, objects: objectsOf(client) } });
    } else if (name in changes) {
      const { failures } = storage;
      await accept(number, changes[name](values), failures);
    } else {
      await controls[name](values);
      report({ accepted: { number, objects: [] } });
    }
  } catch (error) {
    report({ thrown: { number, error: String(error.stack ?? error) } });
  }
}

report({ started: { user: session?.userId } });
if (session && settings.connects) controls.connect();
for await (const line of createInterface({ input: process.stdin })) await execute(JSON.parse(line));
process.exit();
