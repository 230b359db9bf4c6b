// SPDX-License-Identifier: Apache-2.0
import { StrataError } from "./errors.js";
import { isObject } from "./wire.js";

/**
 * @typedef {{token: string, userId: string}} Session
 * @typedef {{status: number, body: any, position: number | null, userPosition: number | null,
 *   next: string | null}} Answer
 * @typedef {{name?: string, body?: unknown, isPatch?: boolean, headers?: Record<string, string>}} RequestOptions
 */

/** True under Node.js. Browsers do not let a page set the header `Connection`. */
const isNode = /** @type {any} */ (globalThis).process?.versions?.node !== undefined;

/** The time after which a request without an answer fails, in milliseconds. */
const requestTimeout = 30_000;

/** The REST half of the API, and the session. Requests sign in when they need a session. */
export class Rest {
  #url;
  #options;
  /** @type {Session | null} */
  #session;
  /** @type {string | null} */
  #userId;
  /** @type {Promise<Session> | null} The sign-in under way. */
  #signIn = null;

  /**
   * @param {object} options
   * @param {string} options.url - The gateway, such as `https://chat.example.org`.
   * @param {string} options.appId
   * @param {(nonce: string) => Promise<string> | string} options.identityToken
   * @param {typeof fetch} options.fetch
   * @param {import("./clock.js").Clock} options.clock
   * @param {Session | null} [options.session]
   * @param {(session: Session) => void} options.signedIn
   */
  constructor(options) {
    this.#url = new URL(options.url);
    this.#options = options;
    this.#session = options.session ?? null;
    this.#userId = this.#session?.userId ?? null;
  }

  get session() {
    return this.#session;
  }

  /** Ends the use of the session. */
  forget() {
    this.#session = null;
    this.#userId = null;
  }

  /**
   * Returns the session; signs in if there is none. Concurrent calls share one sign-in.
   * @param {string} [nonce] - A nonce that the server sent.
   * @returns {Promise<Session>}
   */
  async signIn(nonce) {
    if (this.#session) return this.#session;
    this.#signIn ??= this.#newSession(nonce).finally(() => {
      this.#signIn = null;
    });
    return this.#signIn;
  }

  /** @param {string} [nonce] */
  async #newSession(nonce) {
    const { appId, identityToken, signedIn } = this.#options;
    nonce ??= String((await this.#fetchJSON("POST", "/nonces", {})).body?.nonce);
    let token;
    try {
      token = await identityToken(nonce);
    } catch (cause) {
      throw new StrataError("sign_in_failed", "The callback for identity tokens failed.", { cause });
    }
    const body = { app_id: appId, identity_token: token };
    const answer = await this.#fetchJSON("POST", "/sessions", { body });
    const userId = answer.body?.identity?.user_id;
    if (typeof answer.body?.session_token !== "string" || typeof userId !== "string") {
      throw new StrataError("malformed", "The answer to the sign-in has no session.");
    }
    if (this.#userId !== null && this.#userId !== userId) {
      throw new StrataError("user_changed", "The identity token names another user.");
    }
    this.#userId = userId;
    this.#session = { token: answer.body.session_token, userId };
    signedIn(this.#session);
    return this.#session;
  }

  /**
   * Sends a request. If the session has ended, signs in and sends it again.
   * @param {string} method
   * @param {string} path - The path and query; of a whole URL, they are used alone.
   * @param {RequestOptions} [options]
   * @returns {Promise<Answer>}
   */
  async request(method, path, options = {}) {
    const { token } = await this.signIn();
    try {
      return await this.#fetchJSON(method, path, options, token);
    } catch (error) {
      if (!(error instanceof StrataError) || error.status !== 401) throw error;
      if (this.#session?.token === token) this.#session = null;
      const renewed = await this.signIn(isObject(error.data) ? error.data.nonce : undefined);
      return this.#fetchJSON(method, path, options, renewed.token);
    }
  }

  /**
   * Returns the URL of the socket.
   * @param {string} token
   */
  socketURL(token) {
    const url = new URL(this.#url);
    url.protocol = url.protocol.replace("http", "ws");
    url.searchParams.set("session_token", token);
    return url.href;
  }

  /** @param {string} path */
  #target(path) {
    // Another host must not receive the session, so only the path of a URL in an answer is used.
    const { pathname, search } = new URL(path, this.#url);
    const prefix = this.#url.pathname.replace(/\/$/, "");
    return this.#url.origin + (pathname.startsWith(`${prefix}/`) ? "" : prefix) + pathname + search;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {RequestOptions} options
   * @param {string} [token]
   * @returns {Promise<Answer>}
   */
  async #fetchJSON(method, path, { name, body, isPatch, headers }, token) {
    const { fetch, clock } = this.#options;
    const all = new Headers({ ...headers, Accept: "application/vnd.layer+json; version=3.0" });
    if (token) all.set("Authorization", `Layer session-token="${token}"`);
    // The WebSocket of Node.js takes an idle connection of `fetch`, and the gateway upgrades only a new one.
    if (isNode) all.set("Connection", "close");
    if (name) all.set("Strata-Mutation", name);
    if (body !== undefined) all.set("Content-Type", isPatch ? "application/vnd.layer-patch+json" : "application/json");
    const abort = new AbortController();
    const timer = clock.set(() => abort.abort(), requestTimeout);
    try {
      const init = { method, headers: all, body: body === undefined ? undefined : JSON.stringify(body) };
      const response = await fetch(this.#target(path), { ...init, signal: abort.signal, cache: "no-store" });
      const text = await response.text();
      return readAnswer(response, text);
    } catch (error) {
      if (error instanceof StrataError) throw error;
      throw new StrataError("network", "The server was not reached.", { cause: error });
    } finally {
      clock.clear(timer);
    }
  }
}

/** @param {Response} response @param {string} text @returns {Answer} */
function readAnswer(response, text) {
  const body = parseJSON(text);
  if (!response.ok) throw errorOf(body, response.status, Number(response.headers.get("Retry-After")) * 1000);
  /** @param {string} name */
  const position = (name) => {
    const value = Number(response.headers.get(name) ?? NaN);
    return Number.isSafeInteger(value) && value >= 0 ? value : null;
  };
  const next = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get("Link") ?? "");
  return {
    status: response.status,
    body,
    position: position("Strata-Position"),
    userPosition: position("Strata-User-Position"),
    next: next?.[1] ?? null,
  };
}

/**
 * Returns the value of JSON text; undefined if the text is no JSON.
 * @param {string} text
 * @returns {any}
 */
export function parseJSON(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns the error for a server's error object.
 * @param {unknown} body
 * @param {number} [status]
 * @param {number} [retryAfter] - In milliseconds.
 */
export function errorOf(body, status = 0, retryAfter = 0) {
  const json = isObject(body) ? body : {};
  const code = typeof json.id === "string" ? json.id : status >= 500 ? "service_unavailable" : "invalid_request";
  const property = isObject(json.data) && typeof json.data.property === "string" ? json.data.property : undefined;
  const message = typeof json.message === "string" ? json.message : `The server answered ${status}.`;
  return new StrataError(code, message, { status, property, data: json.data, retryAfter: retryAfter || undefined });
}
