// SPDX-License-Identifier: Apache-2.0
import { path, server } from "../api.js";
import { serverPage } from "../lists.js";
import {
  emptyWindow, isAtNewest, newerPart, newerStart, newestWindow, olderStart, pageSize, shownMessages, shownStarts,
  windowAt, withChanged,
  withDeleted, withNewer, withNewest, withOlder,
} from "../model/messages.js";
import { toast } from "../toasts.js";
import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { useFeed, useThrottled } from "./conversation-live.js";

/** Pages that are read to get from the newest message down to the window; beyond that, the newest page is shown. */
const bridgedPages = 6;
/** The time between two readings of shown messages whose receipts change, in milliseconds. */
const receiptPeriod = 2000;

/**
 * Reads the messages of a conversation into a window, which moves with the reader and follows the live changes.
 * @param {string} app
 * @param {string} conversation
 * @param {object} feed of `useLive`
 */
export function useMessages(app, conversation, feed) {
  const [state, setState] = useState({ window: emptyWindow(), isLoading: true, error: undefined, unseen: 0 });
  const current = useRef(state);
  const isBusy = useRef(false);
  const isAlive = useRef(true);
  const list = path`/conversations/${conversation}/messages`;
  const latest = () => current.current.window;
  const read = (from) => serverPage(app, list, { query: { page_size: pageSize, from_id: from } });
  const update = (change) => {
    if (!isAlive.current) return;
    current.current = { ...current.current, ...change };
    setState(current.current);
  };

  /** Runs one reading at a time. A message that was a page's start may be deleted: then all begins at the newest. */
  const run = async (work, isQuiet = false) => {
    if (isBusy.current) return;
    isBusy.current = true;
    update({ isLoading: !isQuiet });
    try {
      await work();
      update({ isLoading: false, error: undefined });
    } catch (error) {
      const page = error.status === 404 && latest().pages.length ? await read().catch(() => null) : null;
      if (!page) return update({ error, isLoading: false });
      update({ window: newestWindow(page), isLoading: false, unseen: 0 });
      toast("The list begins again at the newest message, because messages were deleted meanwhile.");
    } finally {
      isBusy.current = false;
    }
  };
  const newest = () => run(async () => update({ window: newestWindow(await read()), unseen: 0 }));
  const older = () => latest().hasOlder && run(async () => {
    const page = await read(olderStart(latest()) ?? undefined);
    update({ window: withOlder(latest(), page) });
  });
  const newer = () => newerStart(latest()) !== undefined && run(async () => {
    const part = await bridge(read, latest());
    update(part ? { window: withNewer(latest(), part) } : { window: newestWindow(await read()) });
    if (isAtNewest(latest())) update({ unseen: 0 });
  });
  const show = (id) => run(async () => {
    const message = await server(app, "GET", `${list}${path`/${id}`}`).catch((error) => {
      if (error.status !== 404) throw error;
    });
    if (!message) return toast("This message does not exist any more.", "bad");
    update({ window: windowAt(message, await read(message.id)), target: message.id });
  });
  const refresh = useThrottled(() => {
    if (!isAlive.current || !isAtNewest(latest())) return;
    if (isBusy.current) return setTimeout(refresh, 100);
    run(async () => {
      const page = await read();
      if (isAtNewest(latest())) update({ window: withNewest(latest(), page) });
    }, true);
  }, 500);
  const reread = useThrottled(async () => {
    const pages = await Promise.allSettled(shownStarts(latest()).map((start) => read(start ?? undefined)));
    update({ window: withChanged(latest(), pages.flatMap(({ value }) => value?.items ?? [])) });
  }, receiptPeriod);

  useEffect(() => {
    newest();
    return () => (isAlive.current = false);
  }, []);
  useFeed(feed, {
    lost() {
      refresh();
      reread();
    },
    changed(changes) {
      const found = Object.groupBy(changes, (change) => change.kind);
      for (const { message_id: id, actor, at } of found.message_deleted ?? []) {
        update({ window: withDeleted(latest(), id, { actor, at }) });
      }
      const sent = found.message_created?.length ?? 0;
      if (sent && isAtNewest(latest())) refresh();
      else if (sent) update({ unseen: current.current.unseen + sent });
      if (found.receipts || found.all_read || found.parts_changed) reread();
    },
  });
  const messages = useMemo(() => shownMessages(state.window), [state.window]);
  return { ...state, messages, isAtNewest: isAtNewest(state.window), newest, older, newer, show };
}

/** Reads from the start of the next newer page down to the window. Null: too far. */
async function bridge(read, window) {
  const messages = [];
  let start = newerStart(window);
  for (let count = 0; count < bridgedPages; count += 1) {
    const { items, hasMore } = await read(start ?? undefined);
    messages.push(...items);
    const part = newerPart(window, messages);
    if (part) return part;
    if (!hasMore) return null;
    start = items.at(-1).id;
  }
  return null;
}
