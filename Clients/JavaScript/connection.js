// SPDX-License-Identifier: Apache-2.0
import { backoff } from "./clock.js";
import { asError } from "./errors.js";
import { errorOf, parseJSON } from "./rest.js";

/**
 * @typedef {import("./wire.js").JSONObject} JSONObject
 * @typedef {import("./errors.js").StrataError} StrataError
 * @typedef {(error: StrataError | null, data: any, packet: JSONObject) => void} ResponseHandler
 *
 * @typedef {object} ConnectionHost
 * @property {() => void} opened - Handles an open socket, before its first packet.
 * @property {(packet: unknown) => void} packet - Handles a packet of the server; undefined if it is no JSON.
 * @property {(code: number) => void} closed - Handles the loss of the socket.
 * @property {(error: StrataError) => void} failed - Handles a refused sign-in. The connection has stopped.
 */

/** All times are in milliseconds. */
const openTimeout = 20_000;
const silenceLimit = 30_000;
const heartbeatTimeout = 10_000;
/** The time after which a connection counts as stable, so that the next delay begins at 1 s. */
const stableTime = 10_000;

/** The socket, which is opened again after every loss. Delays between tries grow and have a random part. */
export class Connection {
  #rest;
  #WebSocket;
  #clock;
  #host;
  #isRunning = false;
  /** @type {WebSocket | null} */
  #socket = null;
  /** Identifies the current try, so that results of earlier ones are ignored. */
  #attempt = 0;
  #isOpen = false;
  #openedAt = 0;
  #failures = 0;
  /** True if the session has to be checked before the next try. */
  #isSuspect = false;
  /** @type {any} */
  #timer = null;
  /** @type {any} */
  #heartbeat = null;
  /** @type {Map<string, ResponseHandler>} */
  #handlers = new Map();
  #requests = 0;

  /**
   * @param {object} options
   * @param {import("./rest.js").Rest} options.rest
   * @param {typeof globalThis.WebSocket} options.WebSocket
   * @param {import("./clock.js").Clock} options.clock
   * @param {ConnectionHost} options.host
   */
  constructor({ rest, WebSocket, clock, host }) {
    this.#rest = rest;
    this.#WebSocket = WebSocket;
    this.#clock = clock;
    this.#host = host;
  }

  get isOpen() {
    return this.#isOpen;
  }

  start() {
    this.#isRunning = true;
    this.wake();
  }

  stop() {
    this.#isRunning = false;
    this.#lose(1000);
  }

  /** Connects at once if it waits for the next try; otherwise checks the socket. */
  wake() {
    if (!this.#isRunning) return;
    if (this.#isOpen) return this.#beat();
    if (this.#socket) return;
    this.#failures = 0;
    void this.#open();
  }

  /**
   * Closes the socket, and opens another one after a delay.
   * @param {number} [code]
   */
  reconnect(code = 1000) {
    if (this.#isRunning) this.#lose(code);
  }

  async #open() {
    this.#clock.clear(this.#timer);
    const attempt = ++this.#attempt;
    try {
      if (this.#isSuspect) await this.#rest.request("GET", "/");
      const { token } = await this.#rest.signIn();
      if (attempt !== this.#attempt || !this.#isRunning) return;
      this.#isSuspect = false;
      this.#openSocket(this.#rest.socketURL(token), attempt);
    } catch (error) {
      if (attempt === this.#attempt && this.#isRunning) this.#signInFailed(error);
    }
  }

  /** @param {unknown} reason */
  #signInFailed(reason) {
    const error = asError(reason);
    const isCallback = error.code === "sign_in_failed" && this.#openedAt > 0;
    if (error.isTemporary || isCallback) return this.#lose(0, error.retryAfter);
    this.stop();
    this.#host.failed(error);
  }

  /** @param {string} url @param {number} attempt */
  #openSocket(url, attempt) {
    const socket = new this.#WebSocket(url, ["layer-3.0"]);
    this.#socket = socket;
    this.#timer = this.#clock.set(() => this.#ended(attempt, 0), openTimeout);
    socket.onopen = () => {
      if (attempt !== this.#attempt) return;
      this.#clock.clear(this.#timer);
      this.#isOpen = true;
      this.#openedAt = this.#clock.now();
      this.#heard();
      this.#host.opened();
    };
    socket.onmessage = (event) => {
      if (attempt === this.#attempt) this.#received(event.data);
    };
    // Node.js 20 reports a refused handshake as an error alone.
    socket.onerror = () => {
      if (!this.#isOpen) this.#ended(attempt, 0);
    };
    socket.onclose = (event) => this.#ended(attempt, Number(event?.code) || 1006);
  }

  /** @param {number} attempt @param {number} code */
  #ended(attempt, code) {
    if (attempt !== this.#attempt) return;
    // Browsers do not tell why a handshake was refused.
    if (!this.#isOpen || code === 4401) this.#isSuspect = true;
    this.#lose(code);
  }

  /** @param {number} code @param {number} [requested] - The minimum delay, in milliseconds. */
  #lose(code, requested) {
    const [socket, wasOpen] = [this.#socket, this.#isOpen];
    this.#attempt += 1;
    this.#socket = null;
    this.#isOpen = false;
    this.#handlers.clear();
    this.#clock.clear(this.#timer);
    this.#clock.clear(this.#heartbeat);
    try {
      socket?.close();
    } catch {
      // The socket is abandoned in any case.
    }
    if (wasOpen && this.#clock.now() - this.#openedAt >= stableTime) this.#failures = 0;
    if (this.#isRunning) {
      this.#failures += 1;
      const delay = backoff(this.#failures, this.#clock.random(), requested);
      this.#timer = this.#clock.set(() => void this.#open(), delay);
    }
    if (wasOpen) this.#host.closed(code);
  }

  /** @param {any} data */
  #received(data) {
    this.#heard();
    this.#host.packet(parseJSON(data));
  }

  /**
   * Calls the handler of a response. Responses that match no request are ignored.
   * @param {JSONObject} packet
   */
  respond(packet) {
    const { request_id, success, data } = packet.body ?? {};
    const handler = this.#handlers.get(request_id);
    this.#handlers.delete(request_id);
    handler?.(success === true ? null : errorOf(data), data, packet);
  }

  #heard() {
    this.#clock.clear(this.#heartbeat);
    this.#heartbeat = this.#clock.set(() => this.#beat(), silenceLimit);
  }

  /** Asks for the server's packet counter. Without any packet, the socket is abandoned. */
  #beat() {
    this.#clock.clear(this.#heartbeat);
    const attempt = this.#attempt;
    this.#heartbeat = this.#clock.set(() => this.#ended(attempt, 1006), heartbeatTimeout);
    this.request("Counter.read", {}, () => {});
  }

  /**
   * Sends a request. The handler runs in the order of the packets; it does not run if the socket is lost before.
   * @param {string} method
   * @param {JSONObject} body
   * @param {ResponseHandler} handler
   */
  request(method, body, handler) {
    const request_id = `r${++this.#requests}`;
    this.#handlers.set(request_id, handler);
    this.send({ type: "request", body: { request_id, method, ...body } });
  }

  /**
   * Sends a packet if the socket is open.
   * @param {JSONObject} packet
   */
  send(packet) {
    if (!this.#isOpen) return;
    try {
      this.#socket?.send(JSON.stringify(packet));
    } catch {
      this.#ended(this.#attempt, 1006);
    }
  }
}
