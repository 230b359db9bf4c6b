// SPDX-License-Identifier: Apache-2.0
import { element, icon, setChildren, timeText } from "./dom.js";

/** The distance from the end within which the view follows new messages, in pixels. */
const followDistance = 60;
/** The time within which messages of one sender form a group, in milliseconds. */
const groupTime = 5 * 60_000;

const statusTexts = { waiting: "Waiting", sent: "Sent", delivered: "Delivered", read: "Read" };

/** The messages of one conversation. It shows the end, unless the user has scrolled up. */
export class MessagesView {
  #parts;
  #me;
  #nameOf;
  /** @type {import("/client/strata.js").MessageList | null} */
  #list = null;
  /** @type {Map<string, {message: object, follows: boolean, item: Element}>} */
  #items = new Map();
  #isFollowing = true;

  /**
   * @param {{timeline: HTMLElement, messages: HTMLElement, more: HTMLElement, empty: HTMLElement}} parts
   * @param {string} me - The user id of the pane's user.
   * @param {(user: string | null) => string} nameOf
   */
  constructor(parts, me, nameOf) {
    this.#parts = parts;
    this.#me = me;
    this.#nameOf = nameOf;
    parts.more.addEventListener("click", () => this.#loadMore());
    parts.timeline.addEventListener("scroll", () => {
      this.#isFollowing = this.#distance() < followDistance;
    });
    // The view keeps its end in sight when other parts take its space.
    new ResizeObserver(() => this.#isFollowing && this.showEnd()).observe(parts.timeline);
  }

  #distance() {
    const { scrollHeight, scrollTop, clientHeight } = this.#parts.timeline;
    return scrollHeight - scrollTop - clientHeight;
  }

  /** True if the newest message is visible. */
  get isAtEnd() {
    return this.#isFollowing;
  }

  showEnd() {
    this.#isFollowing = true;
    this.#parts.timeline.scrollTop = this.#parts.timeline.scrollHeight;
  }

  /**
   * Shows another conversation.
   * @param {import("/client/strata.js").Conversation | null} conversation
   */
  open(conversation) {
    this.#list = conversation?.messages() ?? null;
    this.#items.clear();
    this.#isFollowing = true;
    this.render(conversation);
  }

  async #loadMore() {
    try {
      await this.#list?.more();
    } catch {
      // Without a connection the button stays, and can be used later.
    }
  }

  /** @param {import("/client/strata.js").Conversation | null} conversation */
  render(conversation) {
    const { timeline, messages, more, empty } = this.#parts;
    const shown = this.#list?.items ?? [];
    const height = timeline.scrollHeight;
    const first = messages.firstElementChild;
    const items = shown.map((message, index) => this.#item(message, shown[index - 1] ?? null, conversation));
    setChildren(messages, items);
    const kept = new Set(shown.map((message) => message.id));
    for (const id of this.#items.keys()) if (!kept.has(id)) this.#items.delete(id);
    more.hidden = !this.#list?.hasMore;
    empty.textContent = shown.length > 0 ? "" : conversation ? "No messages yet." : "No conversation yet.";
    if (this.#isFollowing) this.showEnd();
    else if (first && first !== messages.firstElementChild && first.isConnected) {
      timeline.scrollTop += timeline.scrollHeight - height;
    }
  }

  /**
   * Returns the element of a message; the former one if nothing changed.
   * @param {any} message
   * @param {any} previous
   * @param {any} conversation
   */
  #item(message, previous, conversation) {
    const follows = previous?.senderId === message.senderId && message.sentAt - previous.sentAt < groupTime;
    const known = this.#items.get(message.id);
    if (known && known.message === message && known.follows === follows) return known.item;
    const item = known?.item ?? element("li", { "data-id": message.id });
    this.#fill(item, message, conversation);
    item.classList.toggle("follows", follows);
    this.#items.set(message.id, { message, follows, item });
    return item;
  }

  /** @param {Element} item @param {any} message @param {any} conversation */
  #fill(item, message, conversation) {
    const isOwn = message.senderId === this.#me;
    const status = isOwn ? statusOf(message, this.#me, conversation) : "received";
    item.setAttribute("class", isOwn ? "message own" : "message");
    item.setAttribute("data-status", status);
    const sender = element("span", { class: "unseen" }, `${isOwn ? "You" : this.#nameOf(message.senderId)}: `);
    const bubble = element("p", { class: "bubble" }, sender, message.text || "A message without text");
    const meta = element("p", { class: "meta" }, element("time", {}, timeText(message.sentAt)));
    if (isOwn) meta.append(icon(status), element("span", { class: "status" }, statusTexts[status]));
    item.replaceChildren(bubble, meta);
  }
}

/**
 * Returns the lowest status of a message among the other participants.
 * @param {any} message
 * @param {string} me
 * @param {any} conversation
 */
export function statusOf(message, me, conversation) {
  if (message.isPending) return "waiting";
  const others = (conversation?.participants ?? []).filter(({ userId }) => userId !== me);
  const statuses = others.map(({ userId }) => message.statuses.get(userId) ?? "sent");
  return ["sent", "delivered", "read"].find((status) => statuses.includes(status)) ?? "sent";
}

/** The maximum number of changes that the queue shows. */
const maximumChanges = 50;

const changeTexts = { waiting: "Waiting", sent: "Sent", failed: "Refused" };

/** The changes of one user: those that wait for the server, and those that it has made. */
export class QueueView {
  #parts;
  #changed;
  /** @type {{key: string, status: "waiting" | "sent" | "failed", row: Element}[]} */
  #changes = [];

  /**
   * @param {{trayList: HTMLElement, queueCount: HTMLElement, queueButton: HTMLElement}} parts
   * @param {() => void} changed
   */
  constructor(parts, changed) {
    this.#parts = parts;
    this.#changed = changed;
    this.#render();
  }

  /** @param {"waiting" | "sent" | "failed"} status */
  count(status) {
    return this.#changes.filter((change) => change.status === status).length;
  }

  /**
   * Shows a change until it is answered, and its result. Waiting changes with the same key are one change.
   * @param {string} key
   * @param {string} text
   * @param {Promise<unknown>} result
   */
  add(key, text, result) {
    const earlier = this.#changes.find((change) => change.key === key && change.status === "waiting");
    if (earlier) this.#changes = this.#changes.filter((change) => change !== earlier);
    /** @type {{key: string, status: "waiting" | "sent" | "failed", row: Element}} */
    const change = { key, status: "waiting", row: element("li", { class: "change" }) };
    this.#changes.push(change);
    this.#fill(change, text);
    this.#render();
    /** @param {"sent" | "failed"} status */
    const end = (status) => {
      change.status = status;
      this.#fill(change, text);
      this.#render();
      this.#changed();
    };
    result.then(() => end("sent"), () => end("failed"));
  }

  /** @param {{status: "waiting" | "sent" | "failed", row: Element}} change @param {string} text */
  #fill({ status, row }, text) {
    row.setAttribute("data-status", status);
    row.replaceChildren(icon(status), element("span", {}, text), element("span", {}, changeTexts[status]));
  }

  /** Removes the changes that are answered. */
  clear() {
    this.#changes = this.#changes.filter(({ status }) => status === "waiting");
    this.#render();
  }

  #render() {
    const answered = this.#changes.filter(({ status }) => status !== "waiting");
    const excess = new Set(answered.slice(0, Math.max(0, this.#changes.length - maximumChanges)));
    this.#changes = this.#changes.filter((change) => !excess.has(change));
    const waiting = this.count("waiting");
    const { trayList, queueCount, queueButton } = this.#parts;
    queueCount.textContent = String(waiting);
    queueButton.toggleAttribute("data-waits", waiting > 0);
    const rows = this.#changes.map(({ row }) => row);
    setChildren(trayList, rows.length > 0 ? rows : [element("li", { class: "change none" }, "No changes.")]);
    trayList.scrollTop = trayList.scrollHeight;
  }
}
