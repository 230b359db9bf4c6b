// SPDX-License-Identifier: Apache-2.0
import { systemClock } from "./clock.js";
import { Connection } from "./connection.js";
import { StrataError, asError, invalid } from "./errors.js";
import { LiveList, MessageList } from "./lists.js";
import { kinds } from "./changes.js";
import { checkValue, stepsOf, valueAt } from "./metadata.js";
import { Queue, receiptsPerRequest } from "./queue.js";
import { Rest } from "./rest.js";
import { Store, conversationOf } from "./store.js";
import { Sync } from "./sync.js";
import { TypingReceiver, TypingSender } from "./typing.js";
import { View } from "./view.js";
import { identityId, randomUUID, userId } from "./wire.js";

/**
 * @typedef {import("./objects.js").Conversation} Conversation
 * @typedef {import("./objects.js").Message} Message
 * @typedef {import("./objects.js").Identity} Identity
 * @typedef {import("./changes.js").Change} Change
 * @typedef {import("./changes.js").NewChange} NewChange
 * @typedef {import("./wire.js").JSONObject} JSONObject
 * @typedef {import("./metadata.js").MetadataStep} MetadataStep
 *
 * @typedef {"closed" | "connecting" | "syncing" | "live" | "offline"} State
 * - `closed`: not connected, because the app did not connect, or the sign-in was refused.
 * - `connecting`: the first connection is being made.
 * - `syncing`: connected; what was missed is being loaded.
 * - `live`: connected, and up to date.
 * - `offline`: the connection was lost, and is made again automatically.
 *
 * @typedef {object} ClientOptions
 * @property {string} url - The gateway, such as `https://chat.example.org`.
 * @property {string} appId - The app, `layer:///apps/production/…`.
 * @property {(nonce: string) => Promise<string> | string} identityToken - Returns an identity token that contains the
 *   nonce. It comes from the app's own server. Called at the first sign-in, and whenever the session has ended.
 * @property {number} [messages] - The number of messages that are loaded with each conversation, 1 to 100, default 20.
 * @property {boolean} [confirmsDelivery] - True to confirm deliveries automatically. Default: true.
 * @property {{token: string, userId: string} | null} [session] - An earlier `client.session`.
 * @property {import("./queue.js").Storage | null} [storage] - A place for unsent changes that outlives the page, see
 *   indexeddb.js. Default: none.
 * @property {typeof fetch} [fetch] - Default: the global function.
 * @property {typeof globalThis.WebSocket} [WebSocket] - Default: the global class.
 * @property {import("./clock.js").Clock} [clock] - For tests.
 *
 * @typedef {object} NewConversation
 * @property {string[]} participants - User ids. The user is added if missing.
 * @property {boolean} [distinct] - True for the one conversation of these participants. Default: true.
 * @property {import("./metadata.js").Metadata} [metadata]
 * @property {boolean} [deliveryReceipts] - Default: true.
 * @property {boolean} [readReceipts] - Default: true.
 *
 * @typedef {{state: {state: State, error: StrataError | null}, change: Record<string, never>,
 *   failure: {error: StrataError, change: Change}, session: {token: string, userId: string},
 *   typing: {conversationId: string, userId: string, action: import("./typing.js").TypingAction}}} ClientEvents
 */

/**
 * @typedef {object} Core The functions behind the methods of snapshots.
 * @property {() => string} me
 * @property {(change: NewChange) => Promise<void>} change
 * @property {(user: string) => Identity} identity
 * @property {(id: string) => Promise<Conversation>} created
 * @property {(id: string) => Map<string, import("./typing.js").TypingAction>} typists
 * @property {(id: string, action: import("./typing.js").TypingAction) => void} typing
 * @property {(conversation: string, id: string, data: JSONObject) => Promise<Message>} send
 * @property {(id: string) => number} position - Returns the position up to which a conversation is applied.
 * @property {(id: string) => number} newest - Returns the position of the newest message.
 * @property {(id: string, limit: number) => MessageList} messages
 */

/**
 * A client of Strata for one user. It connects, keeps the user's conversations up to date, and sends the user's changes
 * exactly once and in order, also after a loss of the connection.
 */
export class StrataClient {
  #options;
  #clock;
  #rest;
  #connection;
  #queue;
  #view;
  #typing;
  #typists;
  /** @type {Sync | null} */
  #sync = null;
  /** The state that the app sees; the former one while another is loaded. */
  #shown = new Store("");
  /** @type {State} */
  #state = "closed";
  #isStarted = false;
  /** @type {Map<string, Set<(event: any) => void>>} */
  #listeners = new Map();
  /** @type {Map<string, string>} Ids of distinct conversations that the server had under another id. */
  #aliases = new Map();
  /** @type {Map<string, Promise<void>>} */
  #creations = new Map();
  /** @type {Set<string>} Ids of messages whose delivery was confirmed. */
  #delivered = new Set();
  /** @type {Set<string>} Users whose presence was requested on this connection. */
  #presenceAsked = new Set();
  /** @type {Set<string>} Conversations and users that changed since the last {@link #settle}. */
  #arrived = new Set();
  /** @type {Set<string>} */
  #introduced = new Set();
  #presence = "auto";
  #isReporting = false;
  /** @type {any} */
  #timer = null;
  /** @type {{id: string, position: number} | null} The change of the last packet. */
  #open = null;
  /** @type {AbortController | null} Ends the reactions to the events of the page. */
  #page = null;

  /** @param {ClientOptions} options */
  constructor(options) {
    const { clock = systemClock, WebSocket = globalThis.WebSocket, storage } = options;
    if (!WebSocket) throw invalid("WebSocket", "There is no WebSocket.");
    if (!/^https?:/.test(options.url)) throw invalid("url", "The URL of a gateway begins with https: or http:.");
    this.#options = options;
    this.#clock = clock;
    const signedIn = (/** @type {import("./rest.js").Session} */ session) => this.#emit("session", session);
    this.#rest = new Rest({ ...options, fetch: this.fetch, clock, signedIn });
    this.#connection = new Connection({
      rest: this.#rest, WebSocket, clock,
      host: {
        opened: () => this.#opened(),
        packet: (packet) => this.#sync?.packet(packet),
        closed: (code) => this.#closed(code),
        failed: (error) => this.#stop(error),
      },
    });
    this.#queue = new Queue({
      clock, storage,
      host: {
        send: (operation) => this.#send(operation),
        answered: (operation, { body }) => this.#answered(operation, body ?? {}),
        failed: (error, change) => this.#emit("failure", { error, change }),
        changed: (change) => {
          this.#view.touchChange(change);
          this.#schedule();
        },
      },
    });
    this.#view = new View(this.#queue, this.#core());
    this.#typing = new TypingSender(clock, (id, action) => {
      const body = { type: "typing_indicator", object: { id }, data: { action } };
      this.#connection.send({ type: "signal", body });
    });
    this.#typists = new TypingReceiver(clock, (conversationId, user, action) => {
      this.#emit("typing", { conversationId, userId: user, action });
      this.#schedule();
    });
  }

  // The connection

  /**
   * The present state.
   * @returns {State}
   */
  get state() {
    return this.#state;
  }

  /** The session, to be stored by apps that want to skip the next sign-in; null without one. */
  get session() {
    return this.#rest.session;
  }

  /**
   * The user id of the signed-in user; an empty string before the first sign-in.
   * @returns {string}
   */
  get userId() {
    return this.#sync?.store.me ?? this.#rest.session?.userId ?? "";
  }

  /**
   * The number of changes that the server has not answered yet.
   * @returns {number}
   */
  get pendingChanges() {
    return this.#queue.size;
  }

  /**
   * Signs in, connects, and stays connected.
   * @returns {Promise<void>} Resolves when the client is live for the first time. Rejects if the sign-in is refused, or
   *   with `closed` if the client is closed before.
   */
  async connect() {
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#watchPage();
      this.#connection.start();
      this.#setState("connecting");
    }
    if (this.#state === "live") return;
    // A listener may have disconnected the client.
    if (!this.#isStarted) throw new StrataError("closed");
    await new Promise((resolve, reject) => {
      const stop = this.on("state", ({ state, error }) => {
        if (state !== "live" && state !== "closed") return;
        stop();
        if (state === "live") resolve(undefined);
        else reject(error ?? new StrataError("closed"));
      });
    });
  }

  /** Disconnects. Changes are kept, and sent after the next {@link connect}. */
  disconnect() {
    this.#stop(null);
  }

  /**
   * Ends the session, and discards all data and unsent changes.
   * @returns {Promise<void>} Rejects if the server was not reached; then the session ends after 30 days.
   */
  async signOut() {
    this.#stop(null);
    this.#queue.clear(new StrataError("closed"));
    this.#sync = null;
    this.#show(new Store(""));
    await this.#rest.end();
  }

  /** @param {StrataError | null} error */
  #stop(error) {
    this.#isStarted = false;
    this.#page?.abort();
    this.#connection.stop();
    this.#typing.stop();
    this.#setState("closed", error);
  }

  /** @param {State} state @param {StrataError | null} [error] */
  #setState(state, error = null) {
    if (state === this.#state) return;
    this.#state = state;
    this.#emit("state", { state, error });
  }

  /** Reacts to the events of a page, where they exist. */
  #watchPage() {
    const { document, addEventListener } = /** @type {any} */ (globalThis);
    this.#page = new AbortController();
    const { signal } = this.#page;
    addEventListener?.("online", () => this.#connection.wake(), { signal });
    addEventListener?.("offline", () => this.#connection.reconnect(), { signal });
    const visible = () => document.hidden || this.#connection.wake();
    document?.addEventListener("visibilitychange", visible, { signal });
  }

  // Events

  /**
   * Calls a listener for each event of a type.
   *
   * - `state`: the state changed. `error` is the reason for `closed`.
   * - `change`: an object changed. Read it again, or use a list.
   * - `failure`: a change was refused, or failed too often. It was dropped, and its effect reverted.
   * - `session`: a session was made.
   * - `typing`: another user types, pauses or finishes.
   * @template {keyof ClientEvents} T
   * @param {T} type
   * @param {(event: ClientEvents[T]) => void} listener
   * @returns {() => void} A function that ends the calls.
   */
  on(type, listener) {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** @template {keyof ClientEvents} T @param {T} type @param {ClientEvents[T]} event */
  #emit(type, event) {
    for (const listener of [...(this.#listeners.get(type) ?? [])]) {
      try {
        listener(event);
      } catch (error) {
        // A failing listener must not stop the client. The error is reported as uncaught.
        this.#clock.set(() => {
          throw error;
        }, 0);
      }
    }
  }

  /** Emits `change` soon: with the next microtask or, while much is loaded, at most every 50 ms. */
  #schedule() {
    if (this.#state !== "live") this.#timer ??= this.#clock.set(() => this.#report(), 50);
    else if (!this.#isReporting) {
      this.#isReporting = true;
      queueMicrotask(() => this.#report());
    }
  }

  #report() {
    this.#clock.clear(this.#timer);
    this.#timer = null;
    this.#isReporting = false;
    this.#settle();
    this.#emit("change", {});
  }

  // Synchronization

  #opened() {
    const me = this.#rest.session?.userId ?? "";
    if (this.#sync?.store.me !== me) {
      this.#sync = new Sync({
        me, clock: this.#clock, connection: this.#connection, rest: this.#rest, queue: this.#queue,
        pageSize: pageSizeOf(this.#options.messages ?? 20),
        host: {
          signal: (body) => this.#typingReceived(body),
          applied: (packet) => this.#applied(packet),
          changed: () => this.#changed(),
          live: (since) => this.#announcePresence(since),
        },
      });
      this.#show(this.#sync.store);
      void this.#queue.restore(me);
    }
    this.#setState("syncing");
    if (!this.#isStarted) return;
    this.#sync.opened();
    this.#queue.setConnected(true);
  }

  /** @param {number} code */
  #closed(code) {
    this.#queue.setConnected(false);
    this.#typing.setConnected(false);
    this.#typists.finishAll();
    this.#sync?.closed(code);
    if (this.#isStarted) this.#setState("offline");
  }

  /** @param {JSONObject} packet */
  #applied(packet) {
    const { object, operation, data, position } = packet.body;
    const id = conversationOf(packet);
    this.#open = id && position ? { id, position } : null;
    if (id && object?.type === "Message" && operation === "create") this.#typists.finish(id, data.sender.user_id);
  }

  #changed() {
    const sync = this.#sync;
    if (!sync) return;
    // While the state is loaded anew, the former one stays visible.
    if (sync.store !== this.#shown && (sync.isLoaded || this.#shown.conversations.size === 0)) this.#show(sync.store);
    if (sync.isLive && this.#state === "syncing") {
      this.#typing.setConnected(true);
      this.#setState("live");
    }
    this.#schedule();
  }

  /** @param {Store} store */
  #show(store) {
    this.#shown = store;
    this.#view.show(store);
    this.#delivered.clear();
    this.#schedule();
  }

  /** Ends the changes that the state contains, and updates the snapshots. */
  #settle() {
    const sync = this.#sync;
    if (!sync) return;
    const open = this.#open;
    this.#queue.settle(sync.store, sync.isLoaded, open);
    if (open && this.#queue.operations.some((operation) => operation.state === "answered")) {
      this.#clock.set(() => {
        if (this.#open === open) this.#open = null;
        this.#schedule();
      }, 100);
    }
    this.#current();
    if (!sync.isLive) return;
    this.#confirmDelivery(this.#arrived);
    this.#askPresence(this.#introduced);
    this.#arrived.clear();
    this.#introduced.clear();
  }

  /**
   * Ends the typing of users who left.
   * @param {string} id
   */
  #endTyping(id) {
    const participants = this.#shown.conversations.get(id)?.participants ?? [];
    for (const user of this.#typists.in(id).keys()) if (!participants.includes(user)) this.#typists.finish(id, user);
    if (!participants.includes(this.userId) && !this.#view.conversation(id)) this.#typing.end(id);
  }

  /**
   * Confirms the delivery of messages that are neither delivered nor read.
   * @param {Iterable<string>} conversations
   */
  #confirmDelivery(conversations) {
    if (this.#options.confirmsDelivery === false) return;
    for (const id of conversations) {
      const conversation = this.#shown.conversations.get(id);
      if (!conversation?.deliveryReceipts || !conversation.participants.length) continue;
      const ids = this.#messagesIn(id)
        .filter((one) => one.isUnread && one.statuses.get(this.userId) === 0 && !this.#delivered.has(one.id))
        .map((message) => message.id)
        .slice(0, receiptsPerRequest);
      for (const message of ids) this.#delivered.add(message);
      if (ids.length > 0) void this.#change({ kind: "deliver", conversation: id, ids });
    }
  }

  // Presence and typing

  /** @param {string | null} since */
  #announcePresence(since) {
    this.#presenceAsked.clear();
    this.#connection.request("Presence.subscribe", {}, () => {});
    this.#sendPresence();
    const known = [...this.#shown.identities.keys()];
    if (since === null) return this.#askPresence([this.userId, ...known]);
    for (const user of known) this.#presenceAsked.add(user);
    this.#syncPresence({ since });
  }

  #sendPresence() {
    const data = [{ operation: "set", property: "status", value: this.#presence }];
    this.#connection.request("Presence.update", { data }, () => {});
  }

  /**
   * Requests the presence of users once per connection.
   * @param {Iterable<string>} users
   */
  #askPresence(users) {
    const ids = [...users].filter((user) => !this.#presenceAsked.has(user));
    for (const user of ids) this.#presenceAsked.add(user);
    for (let start = 0; start < ids.length; start += 1000) {
      this.#syncPresence({ ids: ids.slice(start, start + 1000).map(identityId) });
    }
  }

  /** @param {JSONObject} data */
  #syncPresence(data) {
    this.#connection.request("Presence.sync", { data }, (error, answer) => {
      if (error || !Array.isArray(answer?.changes)) return;
      for (const body of answer.changes) this.#sync?.store.apply({ type: "change", body });
      this.#changed();
    });
  }

  /**
   * Sets the user's presence on this connection, and on later ones.
   * @param {"available" | "busy" | "away" | "offline" | "invisible" | "auto"} status - `auto`: the last one chosen.
   */
  setPresence(status) {
    this.#presence = status;
    this.#sendPresence();
  }

  /** @param {JSONObject} body */
  #typingReceived({ type, object, data }) {
    const [id, user, action] = [object?.id, data?.sender?.user_id, data?.action];
    if (type !== "typing_indicator" || typeof user !== "string" || user === this.userId) return;
    if (!["started", "paused", "finished"].includes(action) || !this.#shown.conversations.has(id)) return;
    this.#typists.received(id, user, action);
  }

  // Objects

  /**
   * Returns the live list of conversations.
   * @param {{sort?: "last_message" | "created_at", where?: (conversation: Conversation) => boolean}} options -
   *   `sort`: newest first, default `last_message`. `where`: returns true for conversations on the list.
   * @returns {LiveList<Conversation>}
   */
  conversations({ sort = "last_message", where = () => true } = {}) {
    /** @param {Conversation} one */
    const time = (one) => +((sort === "last_message" && one.lastMessage?.sentAt) || one.createdAt);
    return this.#list(
      () => this.#current().conversations().filter(where),
      (one, other) => time(other) - time(one) || (one.id < other.id ? 1 : -1),
    );
  }

  /**
   * Returns a conversation; null if there is none with this id.
   * @param {string} id
   * @returns {Conversation | null}
   */
  conversation(id) {
    return this.#current().conversation(this.#resolve(id));
  }

  /**
   * Returns the live list of known users, by name.
   * @param {{where?: (identity: Identity) => boolean}} options - `where`: returns true for users on the list.
   * @returns {LiveList<Identity>}
   */
  identities({ where = () => true } = {}) {
    return this.#list(
      () => this.#current().identities().filter(where),
      (one, other) => one.name.localeCompare(other.name) || (one.userId < other.userId ? -1 : 1),
    );
  }

  /** @template T @param {() => T[]} read @param {(one: T, other: T) => number} compare @returns {LiveList<T>} */
  #list(read, compare) {
    return new LiveList(() => read().sort(compare), (listener) => this.on("change", listener));
  }

  /**
   * Returns a user. Without details if nothing is known.
   * @param {string} user
   * @returns {Identity}
   */
  identity(user) {
    return this.#current().identity(userId(user));
  }

  /**
   * Loads users, followed or not.
   * @param {string[]} users - User ids, at most 100.
   * @returns {Promise<Identity[]>}
   */
  async fetchIdentities(users) {
    const ids = users.map((user) => encodeURIComponent(identityId(userId(user)))).join(",");
    const { body } = await this.#rest.request("GET", `/identities?ids=${encodeURIComponent(ids)}`);
    this.#sync?.store.putUsers(Array.isArray(body) ? body : [], "");
    this.#changed();
    return users.map((user) => this.identity(user));
  }

  /**
   * Sends a request to the REST half with the session. For modules beside the core.
   * @param {string} method
   * @param {string} path
   * @param {import("./rest.js").RequestOptions} [options]
   */
  request(method, path, options) {
    return this.#rest.request(method, path, options);
  }

  /**
   * The function for requests.
   * @returns {typeof fetch}
   */
  get fetch() {
    return this.#options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /** @param {string} id */
  #resolve(id) {
    return this.#aliases.get(id) ?? id;
  }

  // Changes

  /** @param {NewChange} change @returns {Promise<void>} */
  #change(change) {
    if (!this.userId) throw new StrataError("closed", "Connect before the first change.");
    const conversation = change.conversation && this.#resolve(change.conversation);
    return this.#queue.add({ ...change, conversation, at: new Date(this.#clock.now()).toISOString() }, this.userId);
  }

  /**
   * Creates a conversation. It is shown at once, and can be used before the server has it.
   *
   * If the distinct conversation exists, it is the result; metadata that differ are set in it.
   * @param {NewConversation} options
   * @returns {Conversation} See its promise `created`.
   */
  createConversation({ participants, distinct = true, metadata = {}, deliveryReceipts = true, readReceipts = true }) {
    if (!Array.isArray(participants)) throw invalid("participants", "Participants are an array of user ids.");
    const users = participants.map(userId);
    const tree = /** @type {any} */ (checkValue(metadata));
    const known = distinct ? this.#findDistinct(users) : undefined;
    if (known) {
      this.#setDifferent(known.id, tree, known.metadata);
      return known;
    }
    const id = `layer:///conversations/${randomUUID()}`;
    const data = {
      participants: users.map(identityId), distinct, metadata: tree, delivery_receipts: deliveryReceipts,
      read_receipts: readReceipts,
    };
    const created = this.#change({ kind: "createConversation", conversation: id, users, data });
    this.#creations.set(id, created);
    created.then(() => this.#creations.delete(id), () => {});
    return /** @type {Conversation} */ (this.conversation(id));
  }

  /** @param {string[]} users */
  #findDistinct(users) {
    const wanted = new Set([this.userId, ...users]);
    return this.conversations().items.find(({ distinct, participants }) =>
      distinct && participants.length === wanted.size && participants.every((one) => wanted.has(one.userId)));
  }

  /**
   * @param {string} id
   * @param {import("./metadata.js").Metadata} wanted
   * @param {import("./metadata.js").Metadata} known
   */
  #setDifferent(id, wanted, known) {
    const steps = stepsOf(wanted).filter(({ path, value }) => valueAt(known, path) !== value);
    if (steps.length > 0) void this.#change({ kind: "setMetadata", conversation: id, steps });
  }

  /** @param {import("./queue.js").Operation} operation @returns {Promise<import("./rest.js").Answer>} */
  async #send({ name, change }) {
    const { method, path, body, isPatch } = kinds[change.kind].request(change);
    try {
      return await this.#rest.request(method, path, { name, body, isPatch });
    } catch (error) {
      if (!isDone(asError(error), change)) throw error;
      return { status: 200, body: asError(error).data, position: null, userPosition: null, next: null };
    }
  }

  /** @param {import("./queue.js").Operation} operation @param {JSONObject} body */
  #answered(operation, { id, position, sent_at, metadata }) {
    const { kind, conversation, data, ids } = operation.change;
    if (id === (kind === "send" ? ids[0] : conversation) && Number.isSafeInteger(position)) {
      operation.change = { ...operation.change, stored: { position, sentAt: String(sent_at) } };
      this.#view.touchChange(operation.change);
    }
    if (kind === "createConversation" && typeof id === "string" && id !== conversation) {
      this.#aliases.set(conversation, id);
      this.#queue.move(conversation, id);
      this.#sync?.want(id);
      this.#view.show(this.#shown);
      this.#setDifferent(id, data.metadata, metadata ?? {});
    }
    this.#schedule();
  }

  /** @param {string} id */
  #messagesIn(id) {
    return [...this.#shown.messagesIn(this.#resolve(id)).values()];
  }

  /** Returns the view after the changes so far, so that a call sees the effect of the call before it. */
  #current() {
    const touched = this.#shown.takeTouched();
    this.#view.touch(touched);
    for (const id of touched.messages.values()) this.#arrived.add(id);
    for (const user of touched.identities) this.#introduced.add(user);
    for (const id of touched.conversations) this.#endTyping(id);
    return this.#view;
  }

  /** @returns {Core} */
  #core() {
    /** @param {string} id */
    const record = (id) => this.#shown.conversations.get(this.#resolve(id));
    return {
      me: () => this.userId,
      change: (change) => this.#change(change),
      identity: (user) => this.identity(user),
      created: (id) => this.#created(id),
      typists: (id) => this.#typists.in(this.#resolve(id)),
      typing: (id, action) => this.#typing.call(this.#resolve(id), action),
      send: (conversation, id, data) => this.#sendMessage(conversation, id, data),
      position: (id) => record(id)?.position ?? 0,
      newest: (id) => Math.max(0, ...this.#messagesIn(id).map((message) => message.position)),
      messages: (id, limit) => new MessageList({
        read: () => this.#current().messages(this.#resolve(id)),
        watch: (listener) => this.on("change", listener),
        hasMore: () => (record(id)?.oldest ?? 0) !== 0,
        more: async () => this.#sync?.loadOlder(this.#resolve(id), pageSizeOf(limit)),
      }),
    };
  }

  /** @param {string} id @returns {Promise<Conversation>} */
  async #created(id) {
    await this.#creations.get(id);
    const conversation = this.conversation(id);
    if (!conversation) throw new StrataError("not_found");
    return conversation;
  }

  /** @param {string} conversation @param {string} id @param {JSONObject} data @returns {Promise<Message>} */
  #sendMessage(conversation, id, data) {
    this.#typing.end(this.#resolve(conversation));
    const sent = this.#change({ kind: "send", conversation, ids: [id], data });
    const find = () => this.#current().message(this.#resolve(conversation), id);
    const pending = /** @type {Message} */ (find());
    const message = sent.then(() => find() ?? pending);
    message.catch(() => {});
    return message;
  }
}

/**
 * Returns a valid size of a page of messages.
 * @param {number} size
 */
const pageSizeOf = (size) => Math.min(100, Math.max(1, size));

/**
 * Returns true if a refusal means that the change was made before.
 * @param {StrataError} error
 * @param {Change} change
 */
const isDone = ({ code, data }, { kind }) =>
  code === "id_in_use" || (code === "conflict" && typeof data?.id === "string") ||
  (code === "not_found" && (kind === "deleteMessage" || kind === "deleteConversation"));
