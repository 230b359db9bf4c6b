// SPDX-License-Identifier: Apache-2.0
import { listen, path } from "../api.js";
import { hasGap, withoutSilent, withSignal } from "../model/live.js";
import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";

/** The time for which changes are collected before they are shown, in milliseconds. */
const batchTime = 150;

/** Hands out a conversation's live events: batches of changes, and the moments at which all has to be read again. */
class Feed {
  #listeners = new Set();
  #batch = [];
  #timer;
  #newest;

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  change(change) {
    if (hasGap(this.#newest, change)) this.lost();
    this.#newest = Math.max(this.#newest ?? 0, change.position);
    this.#batch.push(change);
    this.#timer ??= setTimeout(() => this.#flush(), batchTime);
  }

  lost() {
    this.#newest = undefined;
    for (const { lost } of this.#listeners) lost?.();
  }

  stop() {
    clearTimeout(this.#timer);
  }

  #flush() {
    const changes = this.#batch.splice(0);
    this.#timer = undefined;
    for (const { changed } of this.#listeners) changed?.(changes);
  }
}

/**
 * Listens to a conversation. After every gap, and once the subscription stands, the feed says that all has to be read
 * again.
 * @returns {{feed: Feed, typing: Map<string, object>, state: "connecting" | "open" | "waiting" | "ended",
 *   error?: Error}}
 */
export function useLive(app, conversation) {
  const feed = useMemo(() => new Feed(), [app, conversation]);
  const [typing, setTyping] = useState(() => new Map());
  const [connection, setConnection] = useState({ state: "connecting" });
  useEffect(() => {
    const signal = (one) => setTyping((old) => withSignal(old, one, Date.now()));
    const close = listen(path`/api/apps/${app}/conversations/${conversation}/events`, {
      change(change) {
        feed.change(change);
        // A message ends its sender's typing without a signal.
        if (change.kind === "message_created") signal({ user: change.actor, action: "finished" });
      },
      typing: signal,
      open: () => feed.lost(),
      lost: () => feed.lost(),
    }, {
      onState(state, error) {
        setConnection({ state, error });
        if (state !== "open") setTyping(new Map());
      },
    });
    const timer = setInterval(() => setTyping((old) => withoutSilent(old, Date.now())), 5000);
    return () => {
      close();
      feed.stop();
      clearInterval(timer);
    };
  }, [feed]);
  return { feed, typing, ...connection };
}

/**
 * Calls functions at events of a feed.
 * @param {Feed} feed
 * @param {{changed?: (changes: object[]) => void, lost?: () => void}} handlers
 */
export function useFeed(feed, handlers) {
  const latest = useRef(handlers);
  latest.current = handlers;
  useEffect(() => feed.subscribe({
    changed: (changes) => latest.current.changed?.(changes),
    lost: () => latest.current.lost?.(),
  }), [feed]);
}

/**
 * Returns a function that runs work once a period at most, and once more if it was called meanwhile.
 * @param {() => unknown} work
 * @param {number} period milliseconds
 */
export function useThrottled(work, period) {
  const latest = useRef(work);
  latest.current = work;
  const timer = useRef();
  const isAsked = useRef(false);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useMemo(() => {
    const run = () => {
      isAsked.current = false;
      latest.current();
      timer.current = setTimeout(() => {
        timer.current = undefined;
        if (isAsked.current) run();
      }, period);
    };
    return () => {
      if (timer.current === undefined) run();
      else isAsked.current = true;
    };
  }, [period]);
}
