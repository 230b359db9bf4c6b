// SPDX-License-Identifier: Apache-2.0
import { EventParser } from "./events.js";
import { isIdle } from "./idle.js";

/** The media types of the Server API that the console sends. */
export const types = {
  api: "application/vnd.layer+json; version=3.0",
  webhooks: "application/vnd.layer.webhooks+json; version=3.0",
  patch: "application/vnd.layer-patch+json",
};

/** A refusal, or a request without an answer (`status` 0). */
export class APIError extends Error {
  /** @param {{status?: number, code?: string, message: string, field?: string, retryAfter?: number}} facts */
  constructor({ status = 0, code = "no_answer", message, field, retryAfter }) {
    super(message);
    Object.assign(this, { status, code, field, retryAfter });
  }
}

let csrf = "";
let signedOut = () => {};

/**
 * Sets the CSRF token of all changes, which the session's answers carry.
 * @param {string} token
 */
export const setToken = (token) => {
  csrf = token;
};

/**
 * Sets the function that is called when the console answers that there is no session.
 * @param {() => void} handler
 */
export const onSignedOut = (handler) => {
  signedOut = handler;
};

/**
 * Makes a path, whose values are escaped: path`/api/apps/${id}/keys`.
 * @param {TemplateStringsArray} texts
 * @param {...unknown} values
 */
export const path = (texts, ...values) => String.raw(texts, ...values.map((value) => encodeURIComponent(value)));

/**
 * Appends a query. Values that are undefined, null or empty are left out.
 * @param {string} target
 * @param {Record<string, unknown>} [query]
 */
export function withQuery(target, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return pairs.length ? `${target}?${new URLSearchParams(pairs)}` : target;
}

/** Reads the error of the console (`{error: {…}}`) or of the Server API (`{code, message, data}`). */
export function refusal(response, data) {
  const facts = data?.error ?? data ?? {};
  return new APIError({
    status: response.status,
    code: facts.code ?? String(response.status),
    message: facts.message ?? `The console answered ${response.status} ${response.statusText}`.trim() + ".",
    field: facts.field ?? facts.data?.property,
    retryAfter: Number(response.headers.get("Retry-After")) || undefined,
  });
}

async function send(method, target, { query, body, headers = {}, signal } = {}) {
  const all = { Accept: "application/json", ...headers };
  if (body !== undefined) all["Content-Type"] ??= "application/json";
  if (method !== "GET") all["X-CSRF-Token"] = csrf;
  if (isIdle()) all["X-Idle"] = "true";
  const options = { method, headers: all, body: typeof body === "string" ? body : JSON.stringify(body), signal };
  try {
    return await fetch(withQuery(target, query), { ...options, credentials: "same-origin" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new APIError({ message: "The console does not answer. Check that it runs and that you are connected." });
  }
}

async function parse(response) {
  const text = await response.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return text;
  }
}

/** Reads the token of the session that another tab began. */
async function renewToken(signal) {
  const session = await parse(await send("GET", "/api/session", { signal }));
  if (session?.csrf) setToken(session.csrf);
}

/**
 * Sends a request and returns its whole answer, also a refusal. A missing session calls the `onSignedOut` handler.
 * @param {string} method
 * @param {string} target
 * @param {{query?: object, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal}} [options]
 */
export async function exchange(method, target, options) {
  const started = performance.now();
  let response = await send(method, target, options);
  let data = await parse(response);
  if (response.status === 403 && data?.error?.code === "csrf") {
    await renewToken(options?.signal);
    response = await send(method, target, options);
    data = await parse(response);
  }
  if (response.status === 401 && data?.error && !target.startsWith("/api/session")) signedOut();
  return { response, status: response.status, data, milliseconds: performance.now() - started };
}

/**
 * Sends a request and returns the data of its answer.
 * @throws {APIError} for every status from 400.
 */
export async function request(method, target, options) {
  const { response, data } = await exchange(method, target, options);
  if (!response.ok) throw refusal(response, data);
  return data;
}

export const get = (target, query, signal) => request("GET", target, { query, signal });
export const post = (target, body, options) => request("POST", target, { ...options, body });
export const put = (target, body, options) => request("PUT", target, { ...options, body });
export const remove = (target, options) => request("DELETE", target, options);

/** Reads a report, such as `report("users", {app, limit: 50})`. */
export const report = (name, query, signal) => get(path`/api/reports/${name}`, query, signal);

/**
 * Calls the Server API of an app through the console.
 * @param {string} app
 * @param {string} method
 * @param {string} target the path below `/apps/:app`, escaped; empty for the app itself
 * @param {{query?: object, body?: unknown, accept?: string, type?: string, headers?: object,
 *   signal?: AbortSignal}} [options]
 */
export const server = (app, method, target, { accept = types.api, type, headers = {}, ...options } = {}) =>
  request(method, serverPath(app, target), {
    ...options,
    headers: { Accept: accept, ...(type && { "Content-Type": type }), ...headers },
  });

/** The console's path of a call of the Server API. */
export const serverPath = (app, target) => path`/api/apps/${app}/server` + (target && `/${target.replace(/^\//, "")}`);

/**
 * Sends operations of a patch, such as `[{operation: "set", property: "badge_counts", value: "external"}]`.
 * @param {string} app
 * @param {string} target
 * @param {object[]} operations
 */
export const patch = (app, target, operations) =>
  server(app, "PATCH", target, { body: operations, type: types.patch });

/** The delay before the next attempt to open a stream, in milliseconds. */
export const retryDelay = (attempt) => Math.min(15_000, 500 * 2 ** attempt);

/**
 * Reads a stream of server-sent events until `close` is called. A stream that ends is opened again, unless `isFinite`.
 * @param {string} target
 * @param {Record<string, (data: any) => void>} handlers one a type of event
 * @param {{query?: object, isFinite?: boolean, onState?: (state: "connecting" | "open" | "waiting" | "ended",
 *   error?: APIError) => void}} [options]
 * @returns {() => void} close
 */
export function listen(target, handlers, { query, isFinite = false, onState = () => {} } = {}) {
  const abort = new AbortController();
  let attempt = 0;
  let timer;
  const open = async () => {
    let failure;
    try {
      onState("connecting");
      await readStream(target, handlers, query, abort.signal, () => {
        attempt = 0;
        onState("open");
      });
    } catch (error) {
      failure = error;
    }
    if (abort.signal.aborted) return;
    const isRefused = failure?.status >= 400 && failure.status < 500 && failure.status !== 429;
    if (isRefused || (isFinite && !failure)) return onState("ended", failure);
    timer = setTimeout(open, retryDelay(attempt++));
    onState("waiting", failure);
  };
  open();
  return () => {
    abort.abort();
    clearTimeout(timer);
  };
}

async function readStream(target, handlers, query, signal, opened) {
  const response = await send("GET", target, { query, signal, headers: { Accept: "text/event-stream" } });
  if (response.status === 401) signedOut();
  if (!response.ok) throw refusal(response, await parse(response));
  opened();
  const parser = new EventParser((type, data) => handlers[type]?.(JSON.parse(data)));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.add(value);
  }
}
