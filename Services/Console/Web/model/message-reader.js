// SPDX-License-Identifier: Apache-2.0
import {
  emptyWindow, isAtNewest, newerPart, newerStart, newestWindow, olderStart, shownStarts, windowAt, withChanged,
  withDeleted, withNewer, withNewest, withOlder,
} from "./messages.js";

/** Pages that are read to get from the newest message down to the window; beyond that, the newest page is shown. */
const bridgedPages = 6;

/**
 * Moves a window over a conversation's messages: reads one page at a time, and keeps what came of it in `state`.
 * `unseen` counts the messages that came while the newest one was not shown.
 */
export class MessageReader {
  state = { window: emptyWindow(), isLoading: true, error: undefined, unseen: 0, target: undefined };
  isBusy = false;
  #page;
  #message;
  #show;
  #warn;

  /**
   * @param {{page: (from?: string) => Promise<object>, message: (id: string) => Promise<object | null>,
   *   show: (state: object) => void, warn: (text: string) => void}} effects `page`: reads the messages after an id;
   *   `message`: reads one, null if there is none
   */
  constructor({ page, message, show, warn }) {
    this.#page = page;
    this.#message = message;
    this.#show = show;
    this.#warn = warn;
  }

  get isAtNewest() {
    return isAtNewest(this.state.window);
  }

  newest = () => this.#run(async () => this.#set({ window: newestWindow(await this.#page()), unseen: 0 }));

  older = () => this.state.window.hasOlder && this.#run(async () => {
    const page = await this.#page(olderStart(this.state.window) ?? undefined);
    this.#set({ window: withOlder(this.state.window, page) });
  });

  newer = () => newerStart(this.state.window) !== undefined && this.#run(async () => {
    const part = await this.#bridge(this.state.window);
    this.#set({ window: part ? withNewer(this.state.window, part) : newestWindow(await this.#page()) });
    if (this.isAtNewest) this.#set({ unseen: 0 });
  });

  /** Shows a message, and what was sent before it. */
  show = (id) => this.#run(async () => {
    const message = await this.#message(id);
    if (!message) return this.#warn("This message does not exist any more.");
    this.#set({ window: windowAt(message, await this.#page(message.id)), target: message.id });
  });

  /** Reads the newest messages again, if they are shown. */
  refresh = () => this.#run(async () => {
    const page = await this.#page();
    if (this.isAtNewest) this.#set({ window: withNewest(this.state.window, page) });
  }, true);

  /** Reads the shown messages again, because their receipts or parts changed. */
  reread = async () => {
    const starts = shownStarts(this.state.window).map((start) => this.#page(start ?? undefined));
    const pages = await Promise.allSettled(starts);
    this.#set({ window: withChanged(this.state.window, pages.flatMap(({ value }) => value?.items ?? [])) });
  };

  deleted({ message_id: id, actor, at }) {
    this.#set({ window: withDeleted(this.state.window, id, { actor, at }) });
  }

  missed(count) {
    this.#set({ unseen: this.state.unseen + count });
  }

  #set(change) {
    this.state = { ...this.state, ...change };
    this.#show(this.state);
  }

  /** Runs one reading at a time. A message that a page begins after may be deleted: then all begins at the newest. */
  async #run(work, isQuiet = false) {
    if (this.isBusy) return;
    this.isBusy = true;
    this.#set({ isLoading: !isQuiet });
    try {
      await work();
      this.#set({ isLoading: false, error: undefined });
    } catch (error) {
      await this.#recover(error);
    } finally {
      this.isBusy = false;
    }
  }

  async #recover(error) {
    const canBegin = error.status === 404 && this.state.window.pages.length > 0;
    const page = canBegin ? await this.#page().catch(() => null) : null;
    if (!page) return this.#set({ error, isLoading: false });
    this.#set({ window: newestWindow(page), isLoading: false, unseen: 0 });
    this.#warn("The list begins again at the newest message, because messages were deleted meanwhile.");
  }

  /** Reads from the start of the next newer page down to the window. Null: it is too far. */
  async #bridge(window) {
    const messages = [];
    let start = newerStart(window);
    for (let count = 0; count < bridgedPages; count += 1) {
      const { items, hasMore } = await this.#page(start ?? undefined);
      messages.push(...items);
      const part = newerPart(window, messages);
      if (part) return part;
      if (!hasMore) return null;
      start = items.at(-1).id;
    }
    return null;
  }
}
