// SPDX-License-Identifier: Apache-2.0
import { exchange, post, serverPath } from "../api.js";

/** Headers of an answer that say something about the call; the others are of the console. */
const shown = ["content-type", "layer-count", "link", "location", "strata-position", "strata-user-position", "etag",
  "retry-after"];

/**
 * Calls the Server API with the console's token.
 * @param {string} app
 * @param {{method: string, path: string, headers: Record<string, string>, body?: string}} request
 */
async function callServer(app, { method, path, headers, body }) {
  const { response, status, data, milliseconds } = await exchange(method, serverPath(app, path), { headers, body });
  return {
    status, milliseconds,
    headers: Object.fromEntries([...response.headers].filter(([name]) => shown.includes(name))),
    body: data === null ? "" : typeof data === "string" ? data : JSON.stringify(data),
  };
}

/**
 * Makes a call and returns its outcome, also a refusal.
 * @param {{api: "client" | "server", app?: string, session?: string, request: object}} call
 */
export async function send({ api, app, session, request }) {
  try {
    if (api === "server") return await callServer(app, request);
    return await post("/api/try", { api: "client", ...request, ...(session && { session }) });
  } catch (error) {
    return { error };
  }
}

/** Opens a socket, sends frames, and returns what came. */
export async function sendFrames({ session, frames, seconds }) {
  try {
    return await post("/api/try/socket", { session, frames, seconds });
  } catch (error) {
    return { error };
  }
}
