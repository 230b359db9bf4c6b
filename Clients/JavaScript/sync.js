// SPDX-License-Identifier: Apache-2.0
import { backoff } from "./clock.js";
import { StrataError, check } from "./errors.js";
import { Store, conversationOf } from "./store.js";
import { readConversation, uuidOf } from "./wire.js";

/**
 * @typedef {import("./wire.js").JSONObject} JSONObject
 * @typedef {import("./rest.js").Answer} Answer
 * @typedef {"offline" | "baseline" | "replay" | "live"} Phase
 *
 * @typedef {object} SyncHost
 * @property {(body: any) => void} signal - Handles a signal.
 * @property {(packet: JSONObject) => void} applied - Handles an applied packet.
 * @property {() => void} changed - Handles a change of the store or the phase.
 * @property {(since: string | null) => void} live - Handles the end of a replay, or of the first request.
 */

/** The maximum number of concurrent loads of single conversations and their messages. */
const parallelLoads = 4;
/** The maximum number of packets that are kept for the answers of loads. */
const maximumLog = 20_000;
/** The maximum number of consecutive pages without an object. */
const maximumEmptyPages = 50;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * Keeps a store equal to the server's state: first load, packets, and resume, by docs/protocol.md.
 *
 * A gap or a malformed packet leads to a resync on another socket. The connection delays it by a growing back-off, so
 * that a broken server causes no loop.
 */
export class Sync {
  /** @type {Store} The state under construction or, once it is loaded, the current one. */
  store;
  /** @type {Phase} */
  phase = "offline";
  #host;
  #connection;
  #rest;
  #queue;
  #clock;
  #pageSize;
  /** The number of the next packet. */
  #counter = 0;
  /** @type {string | null} The time to replay from. */
  #timestamp = null;
  #failedReplays = 0;
  /**
   * Paths of the next pages of the lists; null: the list is loaded. Without lists, all data have to be loaded anew.
   * @type {Record<string, string | null> | null}
   */
  #lists = null;
  /** Incremented when answers to earlier loads become useless. */
  #generation = 0;
  /** @type {JSONObject[]} Packets since the oldest load in progress began. */
  #log = [];
  /** @type {Map<string, {result: Promise<void>, timer?: any}>} The loads in progress, or waiting for a retry. */
  #loads = new Map();
  /** @type {Map<string, number>} Numbers of failed tries of loads. */
  #failures = new Map();
  /** @type {any} */
  #timer = null;

  /**
   * @param {object} options
   * @param {string} options.me - The user id of the signed-in user.
   * @param {import("./clock.js").Clock} options.clock
   * @param {number} options.pageSize - The number of messages that are loaded with a conversation, 1 to 100.
   * @param {import("./connection.js").Connection} options.connection
   * @param {import("./rest.js").Rest} options.rest
   * @param {import("./queue.js").Queue} options.queue
   * @param {SyncHost} options.host
   */
  constructor({ me, clock, pageSize, connection, rest, queue, host }) {
    this.store = new Store(me);
    this.#clock = clock;
    this.#pageSize = pageSize;
    this.#connection = connection;
    this.#rest = rest;
    this.#queue = queue;
    this.#host = host;
  }

  /** True if all lists are loaded. */
  get isLoaded() {
    return this.#lists !== null && Object.values(this.#lists).every((next) => next === null);
  }

  /** True if the store is complete, and packets keep it up to date. */
  get isLive() {
    return this.phase === "live" && this.isLoaded;
  }

  // The socket

  /** Handles an open socket. */
  opened() {
    this.#counter = 0;
    if (this.#timestamp && this.#lists) return this.#replay();
    this.phase = "baseline";
    this.#connection.request("Counter.read", {}, (error) => {
      if (error) return this.#connection.reconnect();
      this.phase = "live";
      this.#host.live(null);
      this.#reset();
    });
  }

  /**
   * Handles the loss of the socket.
   * @param {number} code - The close code.
   */
  closed(code) {
    // A replay that is too long for one socket brings no counts.
    if (code === 1013 && this.phase === "replay") this.#lists = null;
    this.phase = "offline";
    this.#clock.clear(this.#timer);
    this.#abandonLoads();
    this.#host.changed();
  }

  #replay() {
    this.phase = "replay";
    const since = this.#timestamp;
    this.#queue.syncBegan();
    this.#connection.request("Event.replay", { data: { from_timestamp: since } }, (error, data, packet) => {
      if (error) return this.#retryReplay();
      this.#failedReplays = 0;
      this.phase = "live";
      if (!data || data.complete === false || this.#isOther(data.epoch)) return this.#reset();
      this.#keepTime(packet);
      if (!data.epoch) this.#load("epoch", () => this.#checkEpoch());
      this.#queue.syncEnded();
      this.#host.live(since);
      this.#proceed();
      this.#host.changed();
    });
  }

  #retryReplay() {
    this.#failedReplays += 1;
    // The server closes a socket whose client does not ask again within 30 s.
    const delay = Math.min(20_000, backoff(this.#failedReplays, this.#clock.random()));
    this.#timer = this.#clock.set(() => this.#replay(), delay);
  }

  /** @param {unknown} epoch */
  #isOther(epoch) {
    return epoch && this.store.epoch && epoch !== this.store.epoch;
  }

  /** Compares the epoch with that of a conversation, because the response to a replay had none. */
  async #checkEpoch() {
    const { body } = await this.#get("/conversations?page_size=1");
    if (this.#isOther(body[0]?.epoch)) this.#reset();
  }

  // Packets

  /**
   * Handles a packet.
   * @param {any} packet
   */
  packet(packet) {
    if (typeof packet?.type !== "string" || packet.counter !== this.#counter) return this.#connection.reconnect();
    this.#counter += 1;
    const isLive = this.phase === "live";
    if (packet.type === "response") this.#connection.respond(packet);
    else if (packet.type === "signal") this.#host.signal(packet.body ?? {});
    else this.#apply(packet);
    // A replay's packets have the times of old changes, and the counts follow at its end.
    if (isLive && this.phase === "live") this.#keepTime(packet);
  }

  /** @param {JSONObject} packet */
  #apply(packet) {
    if (this.#loads.size > 0) this.#log.push(packet);
    if (!this.store.apply(packet) || this.#log.length > maximumLog) return this.#startAnew();
    this.#host.applied(packet);
    this.#proceed();
    this.#host.changed();
  }

  /** @param {JSONObject} packet */
  #keepTime({ timestamp }) {
    if (timePattern.test(timestamp)) this.#timestamp = timestamp;
  }

  /** Loads everything again on another socket, after the connection's delay. */
  #startAnew() {
    this.#lists = null;
    this.#connection.reconnect();
  }

  // Loads

  /** Discards the state, and loads the lists. */
  #reset() {
    this.#abandonLoads();
    this.store = new Store(this.store.me);
    this.#lists = this.#firstPages();
    this.#queue.syncBegan();
    this.#proceed();
    this.#host.changed();
  }

  /** @returns {Record<string, string | null>} */
  #firstPages() {
    return {
      conversations: `/conversations?sort_by=created_at&messages=${this.#pageSize}`,
      identities: "/identities?page_size=500",
      blocks: "/blocks?page_size=500",
    };
  }

  #abandonLoads() {
    this.#generation += 1;
    for (const { timer } of this.#loads.values()) this.#clock.clear(timer);
    this.#loads.clear();
    this.#failures.clear();
    this.#log = [];
  }

  /**
   * Loads from the REST half. Rejects if the state was abandoned in between.
   * @param {string} path
   */
  async #get(path) {
    const generation = this.#generation;
    const answer = await this.#rest.request("GET", path);
    if (generation !== this.#generation) throw new StrataError("network");
    return answer;
  }

  /** Begins the loads that are needed. */
  #proceed() {
    if (this.phase !== "live" || !this.#lists) return;
    if (this.store.hasOtherEpoch) return this.#startAnew();
    for (const [list, next] of Object.entries(this.#lists)) {
      if (next !== null) this.#load(list, (since) => this.#loadList(list, since));
    }
    if (this.#lists.conversations !== null) return;
    for (const [ids, kind, run] of /** @type {const} */ ([
      [this.store.unknown, "conversation", this.#loadConversation],
      [this.store.incomplete, "messages", this.#loadNewest],
    ])) {
      for (const id of ids) {
        if (this.#loads.size >= parallelLoads) return;
        this.#load(`${kind} ${id}`, (since) => run.call(this, id, since));
      }
    }
  }

  /**
   * Runs a load, and repeats it after temporary failures.
   * @param {string} key
   * @param {(since: number) => Promise<void>} run - Receives the number of packets before the load.
   * @returns {Promise<void>} The result of the load under way.
   */
  #load(key, run) {
    const known = this.#loads.get(key);
    if (known) return known.result;
    const generation = this.#generation;
    /** @type {{result: Promise<void>, timer?: any}} */
    const load = { result: run(this.#log.length) };
    const end = () => {
      this.#loads.delete(key);
      if (this.#loads.size === 0) this.#log = [];
      this.#proceed();
      this.#host.changed();
    };
    load.result.then(
      () => generation === this.#generation && end(),
      (error) => {
        if (generation !== this.#generation) return;
        // The app repeats a load of older messages.
        if (key.startsWith("older")) return end();
        load.timer = this.#clock.set(end, this.#loadFailed(key, error));
      },
    );
    this.#loads.set(key, load);
    return load.result;
  }

  /**
   * Handles the failure of a load.
   * @param {string} key
   * @param {any} error - An error of any kind. Only a {@link StrataError} can be temporary.
   * @returns {number} The delay before the load is repeated, in milliseconds.
   */
  #loadFailed(key, error) {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const [kind, id] = key.split(" ");
    if (!error.isTemporary) {
      // The object before the page may have been deleted.
      if (this.#lists && key in this.#lists) this.#lists[key] = this.#firstPages()[key];
      this.store.unknown.delete(id);
      this.store.incomplete.delete(id);
      // The conversation may have been created during the load.
      const isBack = this.#log.some(({ body }) => body?.operation === "create" && body?.object?.id === id);
      if (kind === "conversation" && error.status === 404 && !isBack) this.store.forgetConversation(id);
    }
    return backoff(failures, this.#clock.random(), error.retryAfter);
  }

  /**
   * Applies the packets since a load began again.
   * @param {number} since
   * @param {(packet: JSONObject) => boolean} isAbout
   */
  #reapply(since, isAbout) {
    for (const packet of this.#log.slice(since)) if (isAbout(packet)) this.store.apply(packet, true);
  }

  /**
   * Loads a list to its end.
   * @param {string} list
   * @param {number} since
   */
  async #loadList(list, since) {
    const lists = /** @type {Record<string, string | null>} */ (this.#lists);
    const seen = new Set();
    for (let empty = 0; lists[list] !== null; ) {
      const path = String(lists[list]);
      seen.add(path);
      const { body, next } = await this.#get(path);
      this.#storePage(list, body, since);
      empty = body.length > 0 ? 0 : empty + 1;
      lists[list] = seen.has(next) || empty > maximumEmptyPages ? null : next;
      this.#host.changed();
    }
    if (this.isLoaded) this.#queue.syncEnded();
  }

  /** @param {string} list @param {unknown} page @param {number} since */
  #storePage(list, page, since) {
    if (list === "conversations") {
      const ids = this.store.putConversationPage(page, this.#pageSize);
      return this.#reapply(since, (packet) => ids.has(conversationOf(packet) ?? ""));
    }
    this.store.putUsers(page, list);
    this.#reapply(since, (packet) => packet.body?.object?.type === "Identity");
  }

  /** @param {string} id @param {number} since */
  async #loadConversation(id, since) {
    const { body } = await this.#get(`/conversations/${uuidOf(id)}`);
    const shown = readConversation(body);
    check(shown.record.id === id);
    this.store.putConversation(shown, null);
    this.#reapply(since, (packet) => conversationOf(packet) === id);
    if (this.store.conversations.get(id)?.oldest === null) this.store.incomplete.add(id);
  }

  /** @param {string} id @param {number} since */
  async #loadNewest(id, since) {
    await this.#loadPage(id, since, `?page_size=${this.#pageSize}`, null);
    this.store.incomplete.delete(id);
  }

  /**
   * Loads a page of messages. Follows the link of an empty page.
   * @param {string} id
   * @param {number} since
   * @param {string} query
   * @param {number | null} below - The position below which the page begins; null: at the newest message.
   */
  async #loadPage(id, since, query, below) {
    /** @type {string | null} */
    let path = `/conversations/${uuidOf(id)}/messages${query}`;
    for (let pages = 0; path && pages < maximumEmptyPages; pages += 1) {
      /** @type {Answer} */
      const { body, next } = await this.#get(path);
      const isStored = this.store.putMessages(id, body, below, next !== null);
      this.#reapply(since, (packet) => conversationOf(packet) === id);
      path = isStored ? null : next;
    }
  }

  /**
   * Loads older messages of a conversation. Concurrent calls share one load.
   * @param {string} id
   * @param {number} count - 1 to 100.
   * @returns {Promise<void>} Rejects without a connection.
   */
  async loadOlder(id, count) {
    const oldest = this.store.conversations.get(id)?.oldest;
    if (oldest === undefined || oldest === 0) return;
    if (this.phase !== "live" || this.#lists?.conversations !== null) throw new StrataError("network");
    /** @type {import("./wire.js").MessageRecord | undefined} */
    let last;
    for (const message of this.store.messagesIn(id).values()) {
      const { position } = message;
      if (position >= (oldest ?? Infinity) && position < (last?.position ?? Infinity)) last = message;
    }
    const from = last ? `&from_id=${encodeURIComponent(last.id)}` : "";
    return this.#load(`older ${id}`, (since) =>
      this.#loadPage(id, since, `?page_size=${count}${from}`, last ? oldest : null));
  }

  /**
   * Loads a conversation that an answer named.
   * @param {string} id
   */
  want(id) {
    if (!this.store.conversations.has(id)) this.store.unknown.add(id);
    this.#proceed();
  }
}
