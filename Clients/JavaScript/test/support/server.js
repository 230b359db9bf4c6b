// SPDX-License-Identifier: Apache-2.0
import * as modules from "../../strata.js";
import { TestClock, microtasks } from "./clock.js";
import { identity } from "./wire.js";

/** A scripted server of one user, and a client beside it. Time moves only when the test says so. */
export class TestServer {
  clock = new TestClock();
  /** Answers by method and path without its query: a value, or a function of the request. */
  answers = {
    "POST /nonces": { body: { nonce: "nonce-0123456789" } },
    "POST /sessions": () => ({ status: 201, body: { session_token: `token-${++this.sessions}`,
      identity: identity("me") } }),
    "GET /": { body: {} },
    "GET /conversations": { body: [] },
    "GET /identities": { body: [] },
    "GET /blocks": { body: [] },
  };
  sessions = 0;
  requests = [];
  /** The packets of the client. */
  packets = [];
  /** The sockets, the present one last. */
  sockets = [];
  /** False to leave a request of the socket without a response. */
  responds = () => true;
  responses = { "Event.replay": { complete: true, epoch: "e1" } };

  /** @param {object} [options] - Of the client. @param {object} [library] - The module with the client. */
  constructor(options = {}, library = modules) {
    const server = this;
    class TestSocket {
      constructor(url, protocols) {
        Object.assign(this, { url, protocols, counter: 0, isClosed: false });
        server.sockets.push(this);
      }

      send = (text) => server.#received(this, JSON.parse(text));
      close = () => (this.isClosed = true);
    }
    this.client = new library.StrataClient({
      url: "https://test", appId: "app", identityToken: (nonce) => `token of ${nonce}`, WebSocket: TestSocket,
      fetch: (url, init) => this.#fetch(url, init), clock: this.clock, ...options,
    });
  }

  get socket() {
    return this.sockets.at(-1);
  }

  async #fetch(url, init) {
    const { pathname, search } = new URL(url);
    const request = { method: init.method, path: pathname, search, headers: init.headers,
      body: init.body && JSON.parse(init.body) };
    this.requests.push(request);
    let answer = this.answers[`${init.method} ${pathname}`] ?? { status: 404, body: { id: "not_found" } };
    if (typeof answer === "function") answer = await answer(request);
    if (answer instanceof Error) throw answer;
    const { status = 200, body = null, headers = {} } = answer;
    return new Response(status === 204 ? null : JSON.stringify(body), { status, headers });
  }

  #received(socket, packet) {
    this.packets.push(packet);
    if (packet.type !== "request" || !this.responds(packet)) return;
    const { request_id, method } = packet.body;
    const { success = true, ...data } = this.responses[method] ?? {};
    this.push({ type: "response", body: { request_id, method, success, data } }, socket);
  }

  /** Sends a packet with the next counter. */
  push(packet, socket = this.socket) {
    const whole = { counter: socket.counter++, timestamp: "2026-01-01T00:00:00.000Z", ...packet };
    this.raw(JSON.stringify(whole), socket);
  }

  /** Sends text. */
  raw(text, socket = this.socket) {
    if (!socket.isClosed) socket.onmessage({ data: text });
  }

  /** Opens the socket that the client waits for. */
  async open() {
    await microtasks();
    this.socket.onopen();
    await this.settle();
  }

  /** Closes the socket as the server. */
  close(code = 1006) {
    const socket = this.socket;
    socket.isClosed = true;
    socket.onclose({ code });
  }

  async settle() {
    for (let turn = 0; turn < 4; turn += 1) {
      await microtasks();
      this.clock.advance(0);
    }
  }

  /** Lets the client connect until it is live. */
  async start() {
    const connected = this.client.connect();
    await this.open();
    await connected;
  }

  /** Closes the socket, and lets the client come back. */
  async restart(code) {
    this.close(code);
    this.clock.advance(60_000);
    await this.open();
  }

  /** The methods of the client's requests on the present socket since a number of packets. */
  methods(since = 0) {
    return this.packets.slice(since).map((packet) => packet.body.method ?? packet.type);
  }

  replays() {
    return this.packets.filter((packet) => packet.body.method === "Event.replay").map((packet) =>
      packet.body.data.from_timestamp);
  }

  loads() {
    return this.requests.filter((request) => request.method === "GET").map((request) => request.path + request.search);
  }
}
