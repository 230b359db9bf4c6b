// SPDX-License-Identifier: Apache-2.0
import { report } from "../api.js";
import { LeafReader } from "../model/leaf-reader.js";
import { useEffect, useMemo, useRef, useState } from "../vendor/preact-htm.js";
import { useFeed, useThrottled } from "./conversation-live.js";

const pageSize = 500;
/** The least time between two readings of the whole tree, in milliseconds. */
const period = 2000;

/**
 * Reads the leaves as they are wanted, and applies live changes to them.
 * @returns {{leaves: import("../model/leaves.js").Leaves, version: number, error?: Error, isLoading: boolean, more: () => void}} `version`: another
 *   number after each change of the leaves
 */
export function useLeaves(app, conversation, feed) {
  const [state, setState] = useState({ version: 0, isLoading: true });
  const isShown = useRef(true);
  const show = (change) => isShown.current && setState((old) => ({ ...old, ...change, version: old.version + 1 }));
  const page = (after) => report("leaves", { app, conversation, after, limit: pageSize });
  const reader = useMemo(() => new LeafReader(page, show), [app, conversation]);
  const again = useThrottled(() => {
    if (reader.isBusy) setTimeout(again, 200);
    else reader.again();
  }, period);
  useEffect(() => {
    reader.more();
    return () => (isShown.current = false);
  }, [reader]);
  useFeed(feed, {
    lost: again,
    changed(changes) {
      const ours = changes.filter((change) => change.kind === "metadata_changed");
      if (ours.some((change) => !change.operations)) return again();
      for (const change of ours) reader.apply(change);
      if (ours.length) show({});
    },
  });
  return { ...state, leaves: reader.leaves, more: reader.more };
}
