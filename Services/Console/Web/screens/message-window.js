// SPDX-License-Identifier: Apache-2.0
import { path, server } from "../api.js";
import { serverPage } from "../lists.js";
import { MessageReader } from "../model/message-reader.js";
import { pageSize, shownMessages } from "../model/messages.js";
import { toast } from "../toasts.js";
import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { useFeed, useThrottled } from "./conversation-live.js";

/** The least time between two readings of the newest messages, in milliseconds. */
const refreshPeriod = 500;
/** The least time between two readings of shown messages whose receipts change, in milliseconds. */
const receiptPeriod = 2000;

/** Makes the reader of a conversation, which shows its state until the screen is left. */
function useReader(app, conversation, setState) {
  const isShown = useRef(true);
  useEffect(() => () => (isShown.current = false), []);
  return useMemo(() => {
    const list = path`/conversations/${conversation}/messages`;
    return new MessageReader({
      page: (from) => serverPage(app, list, { query: { page_size: pageSize, from_id: from } }),
      message: (id) => server(app, "GET", `${list}${path`/${id}`}`).catch((error) => {
        if (error.status === 404) return null;
        throw error;
      }),
      show: (state) => isShown.current && setState(state),
      warn: (text) => toast(text, "bad"),
    });
  }, [app, conversation]);
}

/**
 * Reads the messages of a conversation into a window, which moves with the reader and follows the live changes.
 * @param {string} app
 * @param {string} conversation
 * @param {object} feed of `useLive`
 */
export function useMessages(app, conversation, feed) {
  const [state, setState] = useState(null);
  const reader = useReader(app, conversation, setState);
  const refresh = useThrottled(() => {
    if (!reader.isAtNewest) return;
    if (reader.isBusy) setTimeout(refresh, 100);
    else reader.refresh();
  }, refreshPeriod);
  const reread = useThrottled(reader.reread, receiptPeriod);
  useEffect(() => void reader.newest(), [reader]);
  useFeed(feed, {
    lost() {
      refresh();
      reread();
    },
    changed(changes) {
      const found = Object.groupBy(changes, (change) => change.kind);
      for (const change of found.message_deleted ?? []) reader.deleted(change);
      if (found.message_created && reader.isAtNewest) refresh();
      else if (found.message_created) reader.missed(found.message_created.length);
      if (found.receipts || found.all_read || found.parts_changed) reread();
    },
  });
  const { window, ...rest } = state ?? reader.state;
  const messages = useMemo(() => shownMessages(window), [window]);
  const { newest, older, newer, show, isAtNewest } = reader;
  return { ...rest, window, messages, isAtNewest, newest, older, newer, show };
}
