// SPDX-License-Identifier: Apache-2.0
import { listen, path } from "../api.js";
import { keptPackets, traceEntry, withEntries } from "../model/packets.js";
import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";

/** The time for which packets are collected before they are shown, in milliseconds. */
const batchTime = 200;

const idle = { state: "idle", entries: [], held: [], gateways: [], count: 0, isPaused: false };

/** Runs one trace of a user's sockets after the other. */
class Trace {
  #state = idle;
  #show;
  #batch = [];
  #timer;
  #close = () => {};

  /** @param {(state: object) => void} show */
  constructor(show) {
    this.#show = show;
  }

  /** Begins a trace of 1 to 600 seconds. */
  start(app, user, seconds) {
    this.leave();
    this.#set({ ...idle, state: "connecting" });
    this.#close = listen(path`/api/apps/${app}/users/${user}/trace`, {
      packet: (line) => this.#add(line),
      gateway: (gateway) => this.#set({ gateways: [...this.#state.gateways, gateway] }),
      end: () => this.#end("ended"),
    }, { query: { seconds }, isFinite: true, onState: (state, error) => this.#follow(state, error, seconds) });
  }

  stop = () => this.#end("ended");

  /** Holds packets back, or shows those that were held. */
  pause = () => {
    this.#set({ isPaused: !this.#state.isPaused });
    this.#flush();
  };

  clear = () => this.#set({ entries: [], held: [], count: 0 });

  leave = () => {
    this.#close();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#batch = [];
  };

  /** A trace is not begun again without being asked for: each is in the audit log. */
  #follow(state, error, seconds) {
    if (state === "open") this.#set({ state, endsAt: Date.now() + seconds * 1000 });
    else if (state === "waiting" || error) this.#end("broken", error);
    else if (state === "ended") this.#end("ended");
  }

  #add(line) {
    this.#batch.push(traceEntry(line, this.#state.count + this.#batch.length));
    this.#timer ??= setTimeout(() => this.#flush(), batchTime);
  }

  #flush() {
    this.#timer = undefined;
    const coming = this.#batch.splice(0);
    const held = withEntries(this.#state.held, coming, keptPackets);
    const count = this.#state.count + coming.length;
    if (this.#state.isPaused) return this.#set({ held, count });
    this.#set({ held: [], entries: withEntries(this.#state.entries, held), count });
  }

  #end(state, error) {
    this.#flush();
    this.leave();
    this.#set({ state, error, endsAt: undefined });
  }

  #set(change) {
    this.#state = { ...this.#state, ...change };
    this.#show(this.#state);
  }
}

/**
 * Runs traces. Each begins with `start`; it ends by itself, by `stop`, or when the stream breaks.
 * @returns {{state: "idle" | "connecting" | "open" | "ended" | "broken", entries: object[], held: object[],
 *   count: number, isPaused: boolean, endsAt?: number, error?: Error, gateways: {address: string, error?: string}[],
 *   start: (seconds: number) => void, stop: () => void, pause: () => void, clear: () => void}}
 *   `held`: packets that came while the list was paused; `count`: all packets, also those that are not kept
 */
export function useTrace(app, user) {
  const [state, setState] = useState(idle);
  const isShown = useRef(true);
  const trace = useMemo(() => new Trace((made) => isShown.current && setState(made)), []);
  useEffect(() => () => {
    isShown.current = false;
    trace.leave();
  }, [trace]);
  const { stop, pause, clear } = trace;
  return { ...state, start: (seconds) => trace.start(app, user, seconds), stop, pause, clear };
}
