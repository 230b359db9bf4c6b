// SPDX-License-Identifier: Apache-2.0

/** The number of messages of a page. */
export const pageSize = 50;
/** The largest number of messages in the document, unless a single page has more. */
export const shownLimit = 150;

/**
 * A window over a conversation's messages, which the Server API lists newest first. It moves up page by page and drops
 * what it leaves behind; of that it keeps the id after which each page begins, to move down again. A value: every
 * function returns a new one.
 *
 * - `pages`: the shown pages, the newest first, each with its newest message first
 * - `starts[n]`: the id after which page n begins; null: page n is the newest
 * - `first`: the index of the first shown page
 * - `isDetached`: true if the window was opened at a message, and what is newer is not known
 * @typedef {{pages: object[][], starts: (string | null)[], first: number, hasOlder: boolean,
 *   isDetached: boolean}} Window
 */

/**
 * A page of a list: its items and whether the list goes on. A page may be short before the list ends.
 * @typedef {{items: object[], hasMore: boolean}} Page
 */

/** @returns {Window} */
export const emptyWindow = () => ({ pages: [], starts: [null], first: 0, hasOlder: true, isDetached: false });

/** A window of one page, the newest. */
export const newestWindow = (page) => withOlder(emptyWindow(), page);

/** A window at a message that was searched for, with the page before it. */
export const windowAt = (message, { items, hasMore }) => ({
  ...emptyWindow(), pages: [[message, ...items]], starts: [message.id], hasOlder: hasMore, isDetached: true,
});

/** True if the newest message is shown, so that new ones are added to the window. */
export const isAtNewest = (window) => window.first === 0 && !window.isDetached;

/** Returns the shown messages in the order of the conversation, the oldest first. */
export const shownMessages = (window) => window.pages.flat().reverse();

/** A list cannot be read on from a message that was deleted since. */
const lastExisting = (messages) => messages.findLast((message) => !message.deleted)?.id ?? null;

/** Returns the id after which the next page upwards begins; null: no message is shown. */
export const olderStart = (window) => lastExisting(window.pages.flat());

/** Adds the page that was read after `olderStart`, and drops the newest pages beyond the limit. */
export function withOlder(window, { items, hasMore: hasOlder }) {
  if (!items.length) return { ...window, hasOlder };
  const starts = [...window.starts];
  if (window.pages.length) starts[window.first + window.pages.length] = olderStart(window);
  const pages = [...window.pages, items];
  let { first } = window;
  while (pages.length > 1 && pages.flat().length > shownLimit) {
    pages.shift();
    first += 1;
  }
  return { ...window, pages, starts, first, hasOlder };
}

/** Returns the ids after which the shown pages begin; null: the newest page. */
export const shownStarts = ({ pages, starts, first }) => pages.map((_, index) => starts[first + index] ?? null);

/** Returns the id after which the next page downwards begins; undefined: there is none. */
export const newerStart = (window) => (window.first > 0 ? window.starts[window.first - 1] : undefined);

/** Returns the messages that are newer than the window; null: what was read does not reach down to the window. */
export function newerPart(window, messages) {
  const end = messages.findIndex((message) => message.id === window.pages[0]?.[0]?.id);
  if (end >= 0) return messages.slice(0, end);
  const start = messages.findIndex((message) => message.id === window.starts[window.first]);
  return start >= 0 ? messages.slice(0, start + 1) : null;
}

/** Adds the next page downwards, as `newerPart` returns it, and drops the oldest pages beyond the limit. */
export function withNewer(window, part) {
  const pages = part.length ? [part, ...window.pages] : [...window.pages];
  const count = pages.length;
  while (pages.length > 1 && pages.flat().length > shownLimit) pages.pop();
  return { ...window, pages, first: window.first - 1, hasOlder: window.hasOlder || pages.length < count };
}

/**
 * Puts the newest page that was just read in the place of what is known of it. If there may be messages between it and
 * the shown ones, only the page is shown. Call it only if `isAtNewest`.
 */
export function withNewest(window, page) {
  const { items, hasMore } = page;
  const old = window.pages.flat();
  const ids = new Set(items.map((message) => message.id));
  const oldest = items.at(-1);
  if (hasMore && !old.some((message) => ids.has(message.id))) return newestWindow(page);
  const isInside = (message) => !hasMore || message.position > oldest.position;
  const deleted = old.filter((message) => message.deleted && isInside(message));
  // The page may have been read before the deletion.
  const gone = new Set(deleted.map((message) => message.id));
  const merged = [...items.filter((message) => !gone.has(message.id)), ...deleted];
  merged.sort((a, b) => b.position - a.position);
  const rest = hasMore ? old.filter((message) => message.position < oldest.position) : [];
  return arranged([...merged, ...rest], rest.length ? window.hasOlder : hasMore);
}

/** Cuts messages, from the newest one on, into pages. */
function arranged(messages, hasOlder) {
  const kept = messages.slice(0, shownLimit);
  const pages = [];
  for (let start = 0; start < kept.length; start += pageSize) pages.push(kept.slice(start, start + pageSize));
  const starts = pages.map((_, index) => (index ? lastExisting(pages.slice(0, index).flat()) : null));
  return {
    ...emptyWindow(), pages, starts: starts.length ? starts : [null],
    hasOlder: hasOlder || kept.length < messages.length,
  };
}

/** Puts messages that were read again in the place of the shown ones. A deleted one stays deleted. */
export function withChanged(window, messages) {
  const byID = new Map(messages.map((message) => [message.id, message]));
  const current = (message) => (message.deleted ? message : (byID.get(message.id) ?? message));
  return { ...window, pages: window.pages.map((page) => page.map(current)) };
}

/** Marks a message as deleted. It stays in its place until its page is dropped. */
export function withDeleted(window, uuid, deleted) {
  const mark = (message) => (message.id.endsWith(`/${uuid}`) ? { ...message, parts: [], deleted } : message);
  return { ...window, pages: window.pages.map((page) => page.map(mark)) };
}
