// SPDX-License-Identifier: Apache-2.0
import { shortID } from "./format.js";
import { useEffect, useState } from "./vendor/preact-htm.js";

const names = new Map();
const listeners = new Set();

/** Keeps the names of apps for paths, titles and the navigation. @param {{id: string, name: string}[]} apps */
export function rememberNames(apps) {
  const changed = apps.filter(({ id, name }) => names.get(id) !== name);
  for (const { id, name } of changed) names.set(id, name);
  if (changed.length) for (const listener of listeners) listener();
}

/** Returns the name of an app, or the start of its id while it is not known. */
export const appName = (id) => names.get(id) ?? shortID(id);

/** A Boolean value that indicates whether the name of an app is known. */
export const isKnown = (id) => names.has(id);

/** Renders a component again when a name becomes known. */
export function useNames() {
  const [, setVersion] = useState(0);
  useEffect(() => {
    const listener = () => setVersion((old) => old + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
}
