// SPDX-License-Identifier: Apache-2.0
import { createSign } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { stepsOf } from "../../metadata.js";
import { StrataClient } from "../../strata.js";
import { TestWebSocket } from "./websocket.js";

/**
 * A running system. The environment names it:
 *
 * - `STRATA_URL`: the gateway, such as `http://127.0.0.1:8080`.
 * - `STRATA_APP`: a file with the output of `strata app create --json`.
 */
export const url = process.env.STRATA_URL;
const app = process.env.STRATA_APP ? JSON.parse(readFileSync(process.env.STRATA_APP, "utf8")) : null;
export const appId = app?.app;
export const skip = url && app ? false : "STRATA_URL and STRATA_APP name no system";

/** Returns an identity token, as the server of an app makes it. `claims` are those of the identity. */
export function identityToken(user, nonce, claims = { display_name: `Name of ${user}` }) {
  const now = Math.floor(Date.now() / 1000);
  const encode = (json) => Buffer.from(JSON.stringify(json)).toString("base64url");
  const header = encode({ typ: "JWT", alg: "RS256", cty: "layer-eit;v=1", kid: app.key });
  const body = encode({ iss: app.provider, prn: user, iat: now, exp: now + 600, nce: nonce, ...claims });
  const sign = createSign("RSA-SHA256").update(`${header}.${body}`);
  return `${header}.${body}.${sign.sign(readFileSync(app.privateKeyFile)).toString("base64url")}`;
}

const run = Date.now().toString(36);
let users = 0;

/** Returns a user id that no other test has. */
export const newUser = (name) => `${name}-${run}-${process.pid}-${++users}`;

const clients = new Set();

/** Returns a client that is not connected. */
export function newClient(user, options = {}) {
  const client = new StrataClient({
    url, appId: app.app, identityToken: (nonce) => identityToken(user, nonce), WebSocket: TestWebSocket, ...options,
  });
  clients.add(client);
  return client;
}

/** Returns a client that is live. */
export async function liveClient(user, options) {
  const client = newClient(user, options);
  await client.connect();
  return client;
}

/** Disconnects all clients of the test. */
export function disconnectAll() {
  for (const client of clients) client.disconnect();
  clients.clear();
}

/** Waits until a condition holds. */
export async function until(condition, what = condition.toString(), limit = 20_000) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timeout: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** A TCP proxy before the gateway or another server. `cut` ends its connections; while it `isDown`, it accepts none. */
export async function openProxy(address = url) {
  const target = new URL(address);
  const pairs = new Set();
  const proxy = { isDown: false, url: "", isSilent: false };
  const server = createServer((client) => {
    if (proxy.isDown) return client.destroy();
    const gateway = connect(Number(target.port), target.hostname);
    const pair = [client, gateway];
    pairs.add(pair);
    client.on("data", (data) => gateway.write(data));
    // A lost answer: the request arrives, and its answer does not.
    gateway.on("data", (data) => proxy.isSilent || client.write(data));
    for (const socket of pair) {
      socket.on("error", () => {});
      socket.on("close", () => {
        for (const one of pair) one.destroy();
        pairs.delete(pair);
      });
    }
  });
  proxy.cut = () => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
  };
  proxy.close = () => {
    proxy.cut();
    server.close();
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  proxy.url = `http://127.0.0.1:${server.address().port}`;
  return proxy;
}

const toSorted = (entries) => Object.fromEntries([...entries].sort());

/**
 * Returns what a client shows, in a form that can be compared: an object for each conversation, and one for each of its
 * messages that the server has. Tests/KitClient/KitComparison.swift makes the same objects.
 */
export function objectsOf(client) {
  const chats = [...client.conversations().items].sort((one, other) => (one.id < other.id ? -1 : 1));
  return chats.flatMap((chat) => [{
    id: chat.id,
    participants: chat.participants.map((one) => one.userId).sort(),
    distinct: chat.distinct,
    metadata: toSorted(stepsOf(chat.metadata).map(({ path, value }) => [path, value])),
    unread: chat.unreadCount,
    total: chat.totalCount,
    last: chat.lastMessage?.id ?? null,
  }, ...chat.messages().items.filter((message) => !message.isPending).map((message) => ({
    id: message.id,
    position: message.position,
    text: message.text,
    sender: message.senderId,
    isUnread: message.isUnread,
    statuses: toSorted(message.statuses),
  }))]);
}
