// SPDX-License-Identifier: Apache-2.0
import { backoff } from "./clock.js";
import { Malformed, StrataError } from "./errors.js";
import { Store, conversationOf } from "./store.js";
import { isObject, readArray, readConversation, uuidOf } from "./wire.js";

/**
 * @typedef {import("./wire.js").JSONObject} JSONObject
 * @typedef {import("./rest.js").Answer} Answer
 * @typedef {"offline" | "baseline" | "replay" | "live"} Phase
 *
 * @typedef {object} SyncHost
 * @property {(method: string, body: JSONObject, handler: import("./connection.js").ResponseHandler) => void} request
 * @property {(packet: JSONObject) => void} respond - Handles the response to a request.
 * @property {(path: string) => Promise<Answer>} get - Loads from the REST half.
 * @property {() => void} reconnect - Opens another socket after a delay.
 * @property {(body: JSONObject) => void} signal - Handles a signal.
 * @property {(packet: JSONObject) => void} applied - Handles an applied packet.
 * @property {() => void} changed - Handles a change of the store or the phase.
 * @property {(since: string | null) => void} live - Handles the end of a replay, or of the first request.
 * @property {(event: "began" | "ended") => void} reached - Handles the begin or the end of a replay or a first load.
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
  #clock;
  #pageSize;
  /** The number of the next packet. */
  #counter = 0;
  /** @type {string | null} The time to replay from. */
  #timestamp = null;
  #failedReplays = 0;
  /** @type {Record<string, string | null>} Paths of the next pages of the lists; null: the list is loaded. */
  #lists = {};
  /** True if the lists have been requested since the last reset. */
  #hasListed = false;
  /** Incremented when answers to earlier loads become useless. */
  #generation = 0;
  /** @type {JSONObject[]} Packets since the oldest load in progress began. */
  #log = [];
  /** @type {Map<string, Promise<void>>} Keys of the loads in progress, or waiting for a retry. */
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
   * @param {SyncHost} options.host
   */
  constructor({ me, clock, pageSize, host }) {
    this.store = new Store(me);
    this.#clock = clock;
    this.#pageSize = pageSize;
    this.#host = host;
  }

  /** True if all lists are loaded. */
  get isLoaded() {
    return this.#hasListed && Object.values(this.#lists).every((next) => next === null);
  }

  /** True if the store is complete, and packets keep it up to date. */
  get isLive() {
    return this.phase === "live" && this.isLoaded;
  }

  // The socket

  /** Handles an open socket. */
  opened() {
    this.#counter = 0;
    if (this.#timestamp !== null && this.#hasListed) return this.#replay();
    this.phase = "baseline";
    this.#host.request("Counter.read", {}, (error) => {
      if (error) return this.#host.reconnect();
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
    if (code === 1013 && this.phase === "replay") this.#hasListed = false;
    this.phase = "offline";
    this.#clock.clear(this.#timer);
    this.#abandonLoads();
    this.#host.changed();
  }

  #replay() {
    this.phase = "replay";
    const since = this.#timestamp;
    this.#host.reached("began");
    this.#host.request("Event.replay", { data: { from_timestamp: since } }, (error, data, packet) => {
      if (error) return this.#retryReplay();
      this.#failedReplays = 0;
        this.phase = "live";
      const epoch = isObject(data) && typeof data.epoch === "string" ? data.epoch : null;
      if (!isObject(data) || data.complete === false) return this.#reset();
      if (epoch !== null && this.store.epoch !== null && epoch !== this.store.epoch) return this.#reset();
      this.#keepTime(packet);
      if (epoch === null) this.#load("epoch", () => this.#checkEpoch());
      this.#host.reached("ended");
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

  /** Compares the epoch with that of a conversation, because the response to a replay had none. */
  async #checkEpoch() {
    const generation = this.#generation;
    const { body } = await this.#host.get("/conversations?page_size=1");
    if (generation !== this.#generation) return;
    const epoch = readArray(body).map((json) => json?.epoch)[0];
    if (typeof epoch === "string" && this.store.epoch !== null && epoch !== this.store.epoch) this.#reset();
  }

  // Packets

  /**
   * Handles a packet.
   * @param {unknown} packet
   */
  packet(packet) {
    if (!isObject(packet) || typeof packet.type !== "string" || packet.counter !== this.#counter) {
      return this.#recover(false);
    }
    this.#counter += 1;
    const isLive = this.phase === "live";
    if (packet.type === "response") this.#host.respond(packet);
    else if (packet.type === "signal") this.#host.signal(isObject(packet.body) ? packet.body : {});
    else this.#apply(packet);
    // A replay's packets have the times of old changes, and the counts follow at its end.
    if (isLive && this.phase === "live") this.#keepTime(packet);
  }

  /** @param {JSONObject} packet */
  #apply(packet) {
    if (this.#loads.size > 0) this.#log.push(packet);
    if (!this.store.apply(packet) || this.#log.length > maximumLog) return this.#recover(true);
    this.#host.applied(packet);
    this.#proceed();
    this.#host.changed();
  }

  /** @param {JSONObject} packet */
  #keepTime({ timestamp }) {
    if (typeof timestamp === "string" && timePattern.test(timestamp)) this.#timestamp = timestamp;
  }

  /**
   * Continues on another socket, after the connection's delay.
   * @param {boolean} isBroken - True to load everything again, because a packet cannot be understood.
   */
  #recover(isBroken) {
    if (isBroken) this.#hasListed = false;
    this.#host.reconnect();
  }

  // Loads

  /** Discards the state, and loads the lists. */
  #reset() {
    this.#abandonLoads();
    this.store = new Store(this.store.me);
    this.#hasListed = true;
    this.#lists = this.#firstPages();
    this.#host.reached("began");
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
    this.#loads.clear();
    this.#failures.clear();
    this.#log = [];
  }

  /** Begins the loads that are needed. */
  #proceed() {
    if (this.phase !== "live") return;
    if (this.store.hasOtherEpoch) return this.#recover(true);
    for (const [list, next] of Object.entries(this.#lists)) {
      if (next !== null) this.#load(list, (since) => this.#loadList(list, since));
    }
    if (this.#lists.conversations !== null) return;
    for (const id of this.store.unknown) {
      if (this.#loads.size >= parallelLoads) return;
      this.#load(`conversation ${id}`, (since) => this.#loadConversation(id, since));
    }
    for (const id of this.store.incomplete) {
      if (this.#loads.size >= parallelLoads) return;
      this.#load(`messages ${id}`, (since) => this.#loadNewest(id, since));
    }
  }

  /**
   * Runs a load, and repeats it after temporary failures.
   * @param {string} key
   * @param {(since: number) => Promise<void>} run - Receives the number of packets before the load.
   */
  #load(key, run) {
    if (this.#loads.has(key)) return;
    const generation = this.#generation;
    const load = run(this.#log.length).then(
      () => 0,
      (error) => this.#loadFailed(key, error),
    );
    this.#loads.set(key, load.then((delay) => {
      if (generation !== this.#generation) return;
      if (delay === 0) return this.#loadEnded(key);
      this.#clock.set(() => generation === this.#generation && this.#loadEnded(key), delay);
    }));
  }

  /** @param {string} key */
  #loadEnded(key) {
    this.#loads.delete(key);
    if (this.#loads.size === 0) this.#log = [];
    this.#proceed();
    this.#host.changed();
  }

  /**
   * Handles the failure of a load.
   * @param {string} key
   * @param {unknown} error
   * @returns {number} The delay before the load is repeated, in milliseconds.
   */
  #loadFailed(key, error) {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const [kind, id] = key.split(" ");
    const isPermanent = !(error instanceof StrataError && error.isTemporary);
    // The object before the page may have been deleted.
    if (key in this.#lists && isPermanent) this.#lists[key] = this.#firstPages()[key];
    if (id && isPermanent) {
      this.store.unknown.delete(id);
      this.store.incomplete.delete(id);
      if (kind === "conversation" && error instanceof StrataError && error.status === 404) this.#notFound(id);
    }
    return backoff(failures, this.#clock.random(), error instanceof StrataError ? error.retryAfter : 0);
  }

  /** @param {string} id */
  #notFound(id) {
    // The conversation may have been created during the load.
    const isBack = this.#log.some(({ body }) => body?.operation === "create" && body?.object?.id === id);
    if (!isBack) this.store.forgetConversation(id);
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
    const generation = this.#generation;
    let empty = 0;
    const seen = new Set();
    while (this.#lists[list] !== null) {
      const path = String(this.#lists[list]);
      seen.add(path);
      const { body, next } = await this.#host.get(path);
      if (generation !== this.#generation) return;
      this.#storePage(list, body, since);
      empty = Array.isArray(body) && body.length > 0 ? 0 : empty + 1;
      this.#lists[list] = seen.has(next) || empty > maximumEmptyPages ? null : next;
      this.#host.changed();
    }
    if (this.isLoaded) this.#host.reached("ended");
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
    const generation = this.#generation;
    const { body } = await this.#host.get(`/conversations/${uuidOf(id)}`);
    if (generation !== this.#generation) return;
    const shown = readConversation(body);
    if (shown.record.id !== id) throw new Malformed("another conversation");
    this.store.putConversation(shown, null);
    this.#reapply(since, (packet) => conversationOf(packet) === id);
    this.store.unknown.delete(id);
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
    const generation = this.#generation;
    /** @type {string | null} */
    let path = `/conversations/${uuidOf(id)}/messages${query}`;
    for (let pages = 0; path !== null && pages < maximumEmptyPages; pages += 1) {
      /** @type {Answer} */
      const { body, next } = await this.#host.get(path);
      if (generation !== this.#generation) throw new StrataError("network", "The connection was lost.");
      const isStored = this.store.putMessages(id, body, below, next !== null);
      this.#reapply(since, (packet) => conversationOf(packet) === id);
      if (isStored) return;
      path = next;
    }
  }

  /**
   * Loads older messages of a conversation. Concurrent calls share one load.
   * @param {string} id
   * @param {number} count - 1 to 100.
   * @returns {Promise<void>} Rejects without a connection.
   */
  async loadOlder(id, count) {
    const record = this.store.conversations.get(id);
    if (!record || record.oldest === 0) return;
    if (this.phase !== "live" || this.#lists.conversations !== null) {
      throw new StrataError("network", "There is no connection.");
    }
    const oldest = record.oldest;
    const known = [...this.store.messagesIn(id).values()].filter((message) => (message.position ?? 0) >= (oldest ?? 0));
    const last = known.sort((one, other) => (one.position ?? 0) - (other.position ?? 0))[0];
    const from = oldest !== null && last ? `&from_id=${encodeURIComponent(last.id)}` : "";
    /** @type {unknown} */
    let failure;
    const key = `older ${id}`;
    this.#load(key, (since) =>
      this.#loadPage(id, since, `?page_size=${count}${from}`, from ? oldest : null).catch((error) => {
        failure = error;
      }),
    );
    await this.#loads.get(key);
    if (failure) throw failure;
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
