// SPDX-License-Identifier: Apache-2.0
import { counted, element, setChildren, setText, shortTimeText } from "./dom.js";
import { MessagesView, QueueView } from "./views.js";

/**
 * @typedef {import("/client/strata.js").StrataClient} StrataClient
 * @typedef {import("/client/strata.js").Conversation} Conversation
 */

/** Colours by the value of the metadata key `theme`. */
const themes = { ocean: "Ocean", forest: "Forest", plum: "Plum", clay: "Clay", rose: "Rose", graphite: "Graphite" };
const firstTheme = "ocean";

const stateTexts = {
  connecting: "Connecting", syncing: "Catching up", live: "Online", offline: "Reconnecting", closed: "Offline",
};
const presenceTexts = { available: "online", busy: "busy", away: "away", offline: "offline", invisible: "offline" };
const sharedText = "Shared: the last writer wins.";

/** The half of the page that belongs to one user: a client, and everything that it shows. */
export class Pane {
  root;
  #client;
  #me;
  #other;
  /** @type {any} */
  #parts = {};
  #messages;
  #queue;
  #list;
  /** @type {string | null} */
  #selected = null;
  #isActive = false;
  /** The number of messages sent by this pane. */
  #sent = 0;
  /** True once the first load has ended, so that further messages are new. */
  #isLoaded = false;
  /** @type {Map<string, HTMLElement>} */
  #rows = new Map();
  /**
   * The newest message by conversation, to announce later ones.
   * @type {Map<string, string>}
   */
  #announced = new Map();
  /** @type {Map<string, {title: string, theme: string}>} */
  #metadata = new Map();
  /** @type {Map<string, {title?: string, theme?: string}>} */
  #ownMetadata = new Map();
  /** @type {Map<string, string>} */
  #notices = new Map();
  /**
   * The newest message that was marked as read, by conversation.
   * @type {Map<string, string>}
   */
  #readUpTo = new Map();
  /**
   * Unsent texts by conversation.
   * @type {Map<string, string>}
   */
  #drafts = new Map();
  #summary = "";
  /** The number of others' messages at the time of going offline. */
  #received = 0;
  #isReturning = false;

  /** @param {{client: StrataClient, userId: string, otherId: string}} options */
  constructor({ client, userId, otherId }) {
    this.#client = client;
    this.#me = userId;
    this.#other = otherId;
    const template = /** @type {HTMLTemplateElement} */ (document.querySelector("#pane"));
    const fragment = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
    this.root = /** @type {HTMLElement} */ (fragment.firstElementChild);
    for (const part of this.root.querySelectorAll("[data-part]")) {
      this.#parts[part.getAttribute("data-part") ?? ""] = part;
    }
    this.#list = client.conversations();
    this.#messages = new MessagesView(this.#parts, userId, (user) => this.#nameOf(user));
    this.#queue = new QueueView(this.#parts, () => this.#renderSummary());
    this.#label();
    this.#listen();
  }

  #label() {
    const name = this.#nameOf(this.#me);
    this.root.id = this.#me;
    this.root.setAttribute("aria-label", name);
    this.#parts.name.textContent = name;
    this.#parts.avatar.textContent = name.slice(0, 1);
    this.#parts.online.setAttribute("aria-label", `${name} is online`);
    this.#parts.navigation.setAttribute("aria-label", `Conversations of ${name}`);
    this.#parts.timeline.setAttribute("aria-label", `Messages, as ${name} sees them`);
    this.#parts.trayList.setAttribute("aria-label", `Changes of ${name}`);
    for (const [theme, text] of Object.entries(themes)) {
      const input = element("input", { type: "radio", name: `theme-${this.#me}`, value: theme });
      const swatch = element("label", { class: "swatch", "data-theme": theme, title: text });
      swatch.append(input, element("span", { class: "unseen" }, text));
      this.#parts.themes.append(swatch);
    }
  }

  /** @param {string | null} user */
  #nameOf(user) {
    if (user === null) return "Server";
    return this.#client.identity(user).displayName ?? user.slice(0, 1).toUpperCase() + user.slice(1);
  }

  #listen() {
    const { online, newButton, newForm, title, themes: choices, composer, text } = this.#parts;
    this.#client.on("change", () => this.#render());
    this.#client.on("typing", () => this.#renderTyping());
    this.#client.on("state", ({ state }) => this.#stateChanged(state));
    online.addEventListener("change", () => (online.checked ? this.#goOnline() : this.#goOffline()));
    newButton.addEventListener("click", () => this.#showForm(newForm.hidden));
    newForm.addEventListener("submit", (event) => this.#create(event));
    newForm.addEventListener("keydown", (event) => event.key === "Escape" && this.#showForm(false));
    title.addEventListener("change", () => this.#setTitle());
    title.addEventListener("blur", () => this.#renderDetails(this.#conversation));
    title.addEventListener("keydown", (event) => this.#titleKey(event));
    choices.addEventListener("change", (event) => this.#set("theme", event.target.value));
    composer.addEventListener("submit", (event) => this.#send(event));
    text.addEventListener("input", () => this.#typed());
    text.addEventListener("keydown", (event) => this.#textKey(event));
    this.#parts.unread.addEventListener("click", () => this.#read());
    this.#parts.queueButton.addEventListener("click", () => this.#showTray(this.#parts.tray.hidden));
    this.#parts.trayClose.addEventListener("click", () => this.#closeTray());
    document.addEventListener("visibilitychange", () => this.#readIfSeen());
  }

  // The connection

  /**
   * Connects.
   * @returns {Promise<void>} Resolves when the pane is up to date for the first time.
   */
  connect() {
    this.#client.setPresence("available");
    this.#client.connect().catch(() => {});
    return new Promise((resolve) => {
      const stop = this.#client.on("state", ({ state }) => {
        if (state !== "live") return;
        stop();
        this.#render();
        this.#isLoaded = true;
        resolve();
      });
    });
  }

  /** Tells that the server does not accept the session. */
  showRefusal() {
    this.root.dataset.state = "refused";
    this.#parts.state.textContent = "Signed out";
    const name = this.#nameOf(this.#me);
    const command = element("code", {}, "make run");
    this.#parts.refused.hidden = false;
    this.#parts.refused.replaceChildren(
      element("p", {}, `The server refused the session of ${name}.`),
      element("p", {}, "Open the address that ", command, " prints."),
    );
    // The client must not try again with the same session.
    queueMicrotask(() => this.#client.disconnect());
  }

  #goOffline() {
    // Without this, others see the user online for 25 s, because most connections come back sooner.
    this.#client.setPresence("offline");
    this.#client.disconnect();
    this.#queue.clear();
    this.#received = this.#othersCount();
    this.#summary = "";
    this.#showTray(true);
    this.#render();
  }

  #goOnline() {
    this.#isReturning = true;
    this.#client.setPresence("available");
    this.#client.connect().catch(() => {});
  }

  /** Returns the number of known messages of other users. */
  #othersCount() {
    const messages = this.#list.items.flatMap((conversation) => conversation.messages().items);
    return messages.filter(({ senderId }) => senderId !== this.#me).length;
  }

  /** @param {string} state */
  #stateChanged(state) {
    if (this.root.dataset.state === "refused") return;
    this.root.dataset.state = state;
    setText(this.#parts.state, stateTexts[state] ?? state);
    if (state === "live" && this.#isReturning) {
      this.#isReturning = false;
      this.#summary = `Back online: ${this.#othersCount() - this.#received} received`;
    }
    this.#render();
  }

  // Input

  /** @param {boolean} isActive - True if the user works in this pane. */
  setActive(isActive) {
    this.#isActive = isActive;
    this.#readIfSeen();
  }

  /** @returns {Conversation | null} */
  get #conversation() {
    return this.#selected === null ? null : this.#client.conversation(this.#selected);
  }

  /** @param {string} key @param {string} text @param {Promise<unknown>} result */
  #track(key, text, result) {
    this.#queue.add(key, text, result);
    this.#renderSummary();
  }

  /** @param {Event} event */
  #send(event) {
    event.preventDefault();
    const text = this.#parts.text.value.trim();
    const conversation = this.#conversation;
    if (text === "" || !conversation) return;
    this.#parts.text.value = "";
    this.#fitText();
    this.#messages.showEnd();
    this.#track(`message ${++this.#sent}`, `Message: ${text}`, conversation.send(text));
    this.#read();
  }

  #typed() {
    this.#fitText();
    this.#conversation?.typing(this.#parts.text.value === "" ? "finished" : "started");
  }

  /** Fits the height of the input to its text. */
  #fitText() {
    const { text } = this.#parts;
    text.rows = Math.min(4, text.value.split("\n").length);
  }

  /** @param {KeyboardEvent} event */
  #textKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.#parts.composer.requestSubmit();
  }

  /** @param {KeyboardEvent} event */
  #titleKey(event) {
    const { title } = this.#parts;
    if (event.key === "Escape") title.value = this.#metadata.get(this.#selected ?? "")?.title ?? "";
    if (event.key === "Escape" || event.key === "Enter") title.blur();
  }

  #setTitle() {
    const value = this.#parts.title.value.trim();
    if (value === "") this.#renderDetails(this.#conversation);
    else this.#set("title", value);
  }

  /** @param {"title" | "theme"} key @param {string} value */
  #set(key, value) {
    const conversation = this.#conversation;
    if (!conversation || conversation.metadata[key] === value) return;
    const own = this.#ownMetadata.get(conversation.id) ?? {};
    this.#ownMetadata.set(conversation.id, { ...own, [key]: value });
    const text = key === "title" ? `Title: ${value}` : `Colour: ${themes[value]}`;
    this.#track(`${key} ${conversation.id}`, text, conversation.setMetadata(key, value));
  }

  /** @param {boolean} isShown */
  #showForm(isShown) {
    const { newForm, newButton, newTitle } = this.#parts;
    const hadFocus = newForm.contains(document.activeElement);
    newForm.hidden = !isShown;
    newButton.setAttribute("aria-expanded", String(isShown));
    newTitle.value = "";
    if (isShown) newTitle.focus();
    else if (hadFocus) newButton.focus();
  }

  /** @param {Event} event */
  #create(event) {
    event.preventDefault();
    const title = this.#parts.newTitle.value.trim();
    if (title === "") return;
    const names = Object.keys(themes);
    const theme = names[this.#list.items.length % names.length];
    const options = { participants: [this.#other], distinct: false, metadata: { title, theme } };
    const conversation = this.#client.createConversation(options);
    this.#showForm(false);
    this.#track(conversation.id, `New conversation: ${title}`, conversation.created);
    this.#select(conversation.id);
    this.#parts.text.focus();
  }

  // Read receipts

  #readIfSeen() {
    if (this.#isActive && document.visibilityState === "visible" && this.#messages.isAtEnd) this.#read();
  }

  #read() {
    const conversation = this.#conversation;
    const newest = conversation?.lastMessage?.id;
    if (!conversation || !newest || conversation.unreadCount === 0) return;
    if (this.#readUpTo.get(conversation.id) === newest) return;
    this.#readUpTo.set(conversation.id, newest);
    const text = `Read receipt: ${counted(conversation.unreadCount, "message")}`;
    this.#track(`read ${conversation.id} ${newest}`, text, conversation.markAllRead());
  }

  // The queue

  /** @param {boolean} isShown */
  #showTray(isShown) {
    this.#parts.tray.hidden = !isShown;
    this.#parts.queueButton.setAttribute("aria-expanded", String(isShown));
    this.#renderSummary();
  }

  #closeTray() {
    this.#showTray(false);
    this.#parts.queueButton.focus();
  }

  #renderSummary() {
    const failed = this.#queue.count("failed");
    const waiting = this.#queue.count("waiting");
    const texts = [this.#summary, waiting > 0 && `${waiting} waiting`, `${this.#queue.count("sent")} sent`];
    if (failed > 0) texts.push(`${failed} refused`);
    setText(this.#parts.traySummary, texts.filter(Boolean).join(", "));
  }

  // Rendering

  /** @param {string} id */
  #select(id) {
    const { text } = this.#parts;
    if (this.#selected !== null) this.#drafts.set(this.#selected, text.value);
    if (text.value !== "") this.#conversation?.typing("finished");
    this.#selected = id;
    text.value = this.#drafts.get(id) ?? "";
    this.#fitText();
    this.#messages.open(this.#conversation);
    this.#render();
  }

  #render() {
    const items = this.#list.items;
    const selected = this.#conversation;
    if (!selected && items.length > 0) return this.#select(items[0].id);
    if (selected) this.#selected = selected.id;
    for (const conversation of items) this.#follow(conversation);
    setChildren(this.#parts.list, items.map((conversation) => this.#row(conversation)));
    this.#renderDetails(selected);
    this.#messages.render(selected);
    this.#renderTyping();
    this.#readIfSeen();
    this.#renderUnread();
    this.#renderSummary();
  }

  /**
   * Notices what others changed in a conversation.
   * @param {Conversation} conversation
   */
  #follow(conversation) {
    const { id, lastMessage } = conversation;
    const isNew = lastMessage && lastMessage.id !== this.#announced.get(id) && lastMessage.senderId !== this.#me;
    this.#announced.set(id, lastMessage?.id ?? "");
    if (isNew && this.#isLoaded) {
      this.#parts.announcement.textContent = `${this.#nameOf(lastMessage.senderId)}: ${lastMessage.text}`;
    }
    const now = { title: titleOf(conversation), theme: themeOf(conversation) };
    const before = this.#metadata.get(id) ?? now;
    this.#metadata.set(id, now);
    if (now.title !== before.title) this.#notices.set(id, this.#notice(conversation, "title", before.title, now.title));
    if (now.theme !== before.theme) this.#notices.set(id, this.#notice(conversation, "theme", before.theme, now.theme));
  }

  /**
   * Returns the sentence about a change of metadata.
   * @param {Conversation} conversation
   * @param {"title" | "theme"} key
   * @param {string} before
   * @param {string} now
   */
  #notice({ id, participants }, key, before, now) {
    const own = this.#ownMetadata.get(id)?.[key];
    if (own !== now) this.#ownMetadata.set(id, { ...this.#ownMetadata.get(id), [key]: undefined });
    const noun = key === "title" ? "title" : "colour";
    const show = (value) => (key === "title" ? `“${value}”` : themes[value]);
    if (own === now) return `You changed the ${noun} to ${show(now)}.`;
    const who = participants.length === 2 ? this.#nameOf(this.#other) : "Somebody";
    if (own !== before) return `${who} changed the ${noun} to ${show(now)}.`;
    return `The last writer wins: ${who}’s ${show(now)}.`;
  }

  /** @param {Conversation} conversation */
  #row(conversation) {
    const { id, lastMessage, unreadCount } = conversation;
    const row = this.#rows.get(id) ?? this.#newRow(id);
    const [button] = row.children;
    const [title, time, last, badge] = /** @type {HTMLCollectionOf<HTMLElement>} */ (button.children);
    if (id === this.#selected) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    setText(title, titleOf(conversation));
    setText(time, shortTimeText(lastMessage?.sentAt ?? conversation.createdAt));
    const sender = lastMessage?.senderId === this.#me ? "You: " : "";
    setText(last, lastMessage ? sender + lastMessage.text : "No messages yet");
    setText(badge.children[0], String(unreadCount));
    badge.hidden = unreadCount === 0;
    row.dataset.theme = themeOf(conversation);
    return row;
  }

  /** @param {string} id */
  #newRow(id) {
    const button = element("button", { type: "button", class: "conversation" });
    for (const part of ["title", "time", "last"]) button.append(element("span", { class: `conversation-${part}` }));
    const unit = element("span", { class: "unseen" }, " unread");
    button.append(element("span", { class: "badge" }, element("span"), unit));
    button.addEventListener("click", () => this.#select(id));
    const row = element("li", {}, button);
    this.#rows.set(id, row);
    return row;
  }

  /** @param {Conversation | null} conversation */
  #renderDetails(conversation) {
    const { title, themes: choices, presence, presenceDot, notice, details, composer } = this.#parts;
    details.inert = composer.inert = conversation === null;
    const theme = conversation ? themeOf(conversation) : firstTheme;
    this.root.dataset.theme = theme;
    for (const input of choices.querySelectorAll("input")) input.checked = input.value === theme;
    const shown = conversation ? titleOf(conversation) : "";
    // A title that is being edited stays.
    if (document.activeElement !== title && title.value !== shown) title.value = shown;
    const status = this.#client.identity(this.#other).presence;
    const name = this.#nameOf(this.#other);
    const isLive = this.#client.state === "live";
    presenceDot.dataset.presence = isLive ? status : "";
    setText(presence, isLive ? `${name} is ${presenceTexts[status]}` : "Presence unknown");
    setText(notice, this.#notices.get(conversation?.id ?? "") ?? sharedText);
    notice.title = notice.textContent;
  }

  #renderTyping() {
    const typists = [...(this.#conversation?.typists ?? [])];
    const { typing } = this.#parts;
    const [user, action] = typists[0] ?? [];
    const text = user ? `${this.#nameOf(user)} ${action === "paused" ? "has paused" : "is typing"}` : "";
    if (typing.textContent === text) return;
    typing.dataset.action = action ?? "";
    const dots = element("span", { class: "typing-dots" }, element("i"), element("i"), element("i"));
    typing.replaceChildren(...(text ? [dots, text] : []));
  }

  #renderUnread() {
    const count = this.#conversation?.unreadCount ?? 0;
    this.#parts.unread.hidden = count === 0;
    setText(this.#parts.unread, `Mark ${counted(count, "message")} as read`);
  }
}

/** @param {Conversation} conversation */
function titleOf({ metadata }) {
  return typeof metadata.title === "string" ? metadata.title : "Conversation";
}

/** @param {Conversation} conversation */
function themeOf({ metadata }) {
  const { theme } = metadata;
  return typeof theme === "string" && Object.hasOwn(themes, theme) ? theme : firstTheme;
}
