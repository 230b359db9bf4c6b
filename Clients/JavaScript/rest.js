// SPDX-License-Identifier: Apache-2.0
import { StrataError, asError } from "./errors.js";

/**
 * @typedef {{token: string, userId: string}} Session
 * @typedef {{status: number, body: any, position: number | null, userPosition: number | null,
 *   next: string | null}} Answer
 * @typedef {{name?: string, body?: any, isPatch?: boolean, headers?: Record<string, string>}} RequestOptions
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
  /** Incremented when the user signs out, so that results of earlier requests bring no session. */
  #era = 0;

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

  /**
   * Ends the session.
   * @returns {Promise<void>}
   */
  async end() {
    const token = this.#session?.token;
    this.#era += 1;
    this.#session = this.#userId = this.#signIn = null;
    try {
      if (token) await this.#fetch("DELETE", `/sessions/${token}`, {}, token);
    } catch (error) {
      // The session has ended before.
      if (asError(error).status !== 401) throw error;
    }
  }

  /**
   * Returns the session; signs in if there is none. Concurrent calls share one sign-in.
   * @param {string} [nonce] - A nonce that the server sent.
   * @returns {Promise<Session>}
   */
  async signIn(nonce) {
    if (this.#session) return this.#session;
    const signIn = (this.#signIn ??= this.#newSession(nonce));
    try {
      return await signIn;
    } catch (error) {
      throw Object.assign(asError(error), { isSignIn: true });
    } finally {
      if (this.#signIn === signIn) this.#signIn = null;
    }
  }

  /** @param {string} [nonce] */
  async #newSession(nonce) {
    const era = this.#era;
    const { appId, identityToken, signedIn } = this.#options;
    nonce ??= String((await this.#fetch("POST", "/nonces")).body?.nonce);
    /** @type {string} */
    let identity_token;
    try {
      identity_token = await identityToken(nonce);
    } catch (cause) {
      throw new StrataError("sign_in_failed", undefined, { cause });
    }
    const { body } = await this.#fetch("POST", "/sessions", { body: { app_id: appId, identity_token } });
    const [token, userId] = [body?.session_token, body?.identity?.user_id];
    if (era !== this.#era) throw new StrataError("closed");
    if (typeof token !== "string" || typeof userId !== "string") throw new StrataError("malformed");
    if (userId !== (this.#userId ?? userId)) throw new StrataError("user_changed");
    this.#userId = userId;
    this.#session = { token, userId };
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
  async request(method, path, options) {
    const era = this.#era;
    const { token } = await this.signIn();
    try {
      return await this.#fetch(method, path, options, token);
    } catch (error) {
      const { status, data } = asError(error);
      if (status !== 401 || era !== this.#era) throw error;
      if (this.#session?.token === token) this.#session = null;
      const renewed = await this.signIn(data?.nonce);
      return this.#fetch(method, path, options, renewed.token);
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
  async #fetch(method, path, { name, body, isPatch, headers } = {}, token) {
    const { fetch, clock } = this.#options;
    const abort = new AbortController();
    const timer = clock.set(() => abort.abort(), requestTimeout);
    try {
      const all = new Headers({ ...headers, Accept: "application/vnd.layer+json; version=3.0" });
      if (token) all.set("Authorization", `Layer session-token="${token}"`);
      // The WebSocket of Node.js takes an idle connection of `fetch`, and the gateway upgrades only a new one.
      if (isNode) all.set("Connection", "close");
      if (name) all.set("Strata-Mutation", name);
      if (body) all.set("Content-Type", isPatch ? "application/vnd.layer-patch+json" : "application/json");
      const response = await fetch(this.#target(path), {
        method, headers: all, body: body && JSON.stringify(body), signal: abort.signal, cache: "no-store",
      });
      return this.#readAnswer(response, parseJSON(await response.text()));
    } catch (error) {
      throw asError(error);
    } finally {
      clock.clear(timer);
    }
  }

  /** @param {Response} response @param {any} body @returns {Answer} */
  #readAnswer({ ok, status, headers }, body) {
    if (!ok) throw errorOf(body, status, Number(headers.get("Retry-After")) * 1000 || undefined);
    /** @param {string} name */
    const position = (name) => {
      const value = parseInt(headers.get(name) ?? "", 10);
      return value >= 0 ? value : null;
    };
    const next = /<([^>]*)>;\s*rel="next"/.exec(headers.get("Link") ?? "");
    return {
      status,
      body,
      position: position("Strata-Position"),
      userPosition: position("Strata-User-Position"),
      next: next && this.#target(next[1]),
    };
  }
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
 * @param {any} body
 * @param {number} [status]
 * @param {number} [retryAfter] - In milliseconds.
 */
export function errorOf(body, status = 0, retryAfter) {
  const { id, message, data } = body ?? {};
  const code = typeof id === "string" ? id : status < 500 ? "invalid_request" : "service_unavailable";
  const property = typeof data?.property === "string" ? data.property : undefined;
  const sentence = typeof message === "string" ? message : undefined;
  return new StrataError(code, sentence, { status, property, data, retryAfter });
}
