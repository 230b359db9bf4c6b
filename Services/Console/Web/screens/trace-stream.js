// SPDX-License-Identifier: Apache-2.0
import { listen, path } from "../api.js";
import { keptPackets, traceEntry, withEntries } from "../model/packets.js";
import { useEffect, useRef, useState } from "../vendor/preact-htm.js";

/** The time for which packets are collected before they are shown, in milliseconds. */
const batchTime = 200;

const idle = { state: "idle", entries: [], count: 0, waiting: 0, isPaused: false };

/**
 * Runs traces of a user's sockets. Each begins with `start`; it ends by itself, by `stop`, or when the stream breaks.
 * @returns {{state: "idle" | "connecting" | "open" | "ended" | "broken", entries: object[], count: number,
 *   waiting: number, isPaused: boolean, endsAt?: number, error?: Error, gateways?: object[],
 *   start: (seconds: number) => void, stop: () => void, pause: () => void, clear: () => void}}
 *   `count`: all packets, also those that were dropped; `waiting`: packets that came while the list was paused
 */
export function useTrace(app, user) {
  const [trace, setTrace] = useState(idle);
  const running = useRef({ close() {}, batch: [], count: 0 });
  const flush = () => {
    const run = running.current;
    run.timer = undefined;
    const coming = run.batch.splice(0);
    setTrace((old) => {
      const held = [...(old.held ?? []), ...coming];
      if (old.isPaused) return { ...old, held: held.slice(-keptPackets), waiting: held.length, count: run.count };
      return { ...old, held: [], waiting: 0, entries: withEntries(old.entries, held), count: run.count };
    });
  };
  const end = (state, error) => {
    running.current.close();
    flush();
    setTrace((old) => ({ ...old, state, error, endsAt: undefined }));
  };
  const start = (seconds) => {
    const run = { batch: [], count: 0 };
    running.current.close();
    running.current = run;
    setTrace({ ...idle, state: "connecting", seconds });
    run.close = listen(path`/api/apps/${app}/users/${user}/trace`, {
      packet(line) {
        run.batch.push(traceEntry(line, run.count++));
        run.timer ??= setTimeout(flush, batchTime);
      },
      gateway: (gateway) => setTrace((old) => ({ ...old, gateways: [...(old.gateways ?? []), gateway] })),
      end: () => end("ended"),
    }, {
      query: { seconds }, isFinite: true,
      onState(state, error) {
        if (running.current !== run) return;
        if (state === "open") setTrace((old) => ({ ...old, state: "open", endsAt: Date.now() + seconds * 1000 }));
        // A trace is not begun again without being asked for: each is in the audit log.
        else if (state === "waiting") end("broken", error);
        else if (state === "ended") end(error ? "broken" : "ended", error);
      },
    });
  };
  useEffect(() => () => {
    running.current.close();
    clearTimeout(running.current.timer);
  }, []);
  const pause = () => {
    setTrace((old) => ({ ...old, isPaused: !old.isPaused }));
    flush();
  };
  const clear = () => setTrace((old) => ({ ...old, entries: [], held: [], waiting: 0 }));
  return { ...trace, start, stop: () => end("ended"), pause, clear };
}
