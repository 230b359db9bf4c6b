// SPDX-License-Identifier: Apache-2.0
import { createContext, useCallback, useContext, useEffect, useRef, useState } from "./vendor/preact-htm.js";

/** The signed-in operator: `{name, role}`. */
export const Session = createContext({ name: "", role: "viewer" });

/** A Boolean value that indicates whether the session may make changes. */
export const useIsOperator = () => useContext(Session).role === "operator";

/** Waits until the page is visible. */
const visible = (signal) =>
  new Promise((resolve) => {
    if (document.visibilityState === "visible") return resolve();
    document.addEventListener("visibilitychange", () => resolve(), { once: true, signal });
  });

/**
 * Loads data, and again when an input changes. Earlier data stays until the new data is there.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {unknown[]} inputs
 * @param {{every?: number}} [options] `every`: milliseconds between two loads while the page is visible, default: none
 * @returns {{data?: T, error?: Error, isLoading: boolean, reload: () => void, set: (data: T) => void}}
 */
export function useData(load, inputs, { every } = {}) {
  const [state, setState] = useState({ isLoading: true });
  const [version, setVersion] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const abort = new AbortController();
    let timer;
    const run = async () => {
      setState((old) => ({ ...old, isLoading: true }));
      try {
        const data = await latest.current(abort.signal);
        if (abort.signal.aborted) return;
        setState({ data, isLoading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        setState((old) => ({ ...old, error, isLoading: false }));
      }
      if (every) timer = setTimeout(() => visible(abort.signal).then(run), every);
    };
    run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [...inputs, version, every]);
  const reload = useCallback(() => setVersion((old) => old + 1), []);
  const set = useCallback((data) => setState((old) => ({ ...old, data })), []);
  return { ...state, reload, set };
}

/**
 * Loads a list page by page. `reload` loads the first page again.
 * @template T
 * @param {(after: string | undefined, signal: AbortSignal) => Promise<{items: T[], next?: string | null}>} load
 * @param {unknown[]} inputs
 * @returns {{data?: T[], error?: Error, isLoading: boolean, hasNext: boolean, more: () => void, reload: () => void}}
 */
export function usePages(load, inputs) {
  const first = useData((signal) => load(undefined, signal), inputs);
  const [rest, setRest] = useState({ of: undefined, items: [], next: null });
  const current = rest.of === first.data ? rest : { of: first.data, items: [], next: first.data?.next };
  const more = async () => {
    setRest({ ...current, isLoading: true, error: undefined });
    // An answer to an earlier list is dropped.
    const change = (made) => setRest((old) => (old.of === current.of ? made : old));
    try {
      const page = await load(current.next);
      change({ of: current.of, items: [...current.items, ...page.items], next: page.next });
    } catch (error) {
      change({ ...current, error });
    }
  };
  return {
    data: first.data && [...first.data.items, ...current.items],
    error: first.error ?? current.error,
    isLoading: first.isLoading || Boolean(current.isLoading),
    hasNext: Boolean(current.next),
    more,
    reload: current.error ? more : first.reload,
  };
}

/**
 * Runs a change once at a time and keeps its error.
 * @param {(...values: any[]) => Promise<unknown>} work
 * @returns {{run: (...values: any[]) => Promise<boolean>, isRunning: boolean, error?: Error, reset: () => void}}
 *   `run` returns true if the work succeeded
 */
export function useAction(work) {
  const [state, setState] = useState({ isRunning: false });
  const isRunning = useRef(false);
  const run = async (...values) => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setState({ isRunning: true });
    try {
      await work(...values);
      setState({ isRunning: false });
      return true;
    } catch (error) {
      setState({ isRunning: false, error });
      return false;
    } finally {
      isRunning.current = false;
    }
  };
  return { ...state, run, reset: () => setState({ isRunning: false }) };
}

/** Returns the current time in milliseconds, renewed at an interval. */
export function useNow(interval = 10_000) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), interval);
    return () => clearInterval(timer);
  }, [interval]);
  return now;
}

/**
 * Measures an element at first, and when its size or that of its content changes.
 * @template T
 * @param {{current: Element}} element a reference
 * @param {(element: Element) => T} measure
 * @returns {T | undefined}
 */
export function useMeasure(element, measure) {
  const [value, setValue] = useState();
  useEffect(() => {
    const observer = new ResizeObserver(() => setValue(measure(element.current)));
    for (const one of [element.current, element.current.firstElementChild]) if (one) observer.observe(one);
    return () => observer.disconnect();
  }, []);
  return value;
}

let identifiers = 0;

/** Returns an id for an element, constant for the lifetime of its component. */
export const useIdentifier = () => useState(() => `id-${++identifiers}`)[0];
