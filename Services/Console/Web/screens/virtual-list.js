// SPDX-License-Identifier: Apache-2.0
import { useIdentifier } from "../hooks.js";
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";

/** Rows beyond each edge that are in the document, too. */
const overscan = 8;
/** The distance from the end, in rows, at which more are asked for. */
const nearEnd = 40;

const steps = (page, count) => ({
  ArrowDown: (row) => row + 1, ArrowUp: (row) => row - 1, PageDown: (row) => row + page, PageUp: (row) => row - page,
  Home: () => 0, End: () => count - 1,
});

/** Returns the first and the number of the rows that are in the document. */
export function slice(scrolled, height, rowHeight, count) {
  const first = Math.max(0, Math.min(Math.floor(scrolled / rowHeight) - overscan, count - 1));
  const shown = Math.ceil(height / rowHeight) + 2 * overscan;
  return { first: Math.max(0, first), shown: Math.min(shown, count - Math.max(0, first)) };
}

function useHeight(box) {
  const [height, setHeight] = useState(400);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setHeight(entry.contentRect.height));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return height;
}

/** A Boolean value that indicates whether the page is as narrow as a telephone. */
export function useIsNarrow() {
  const query = "(max-width: 700px)";
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const change = () => setNarrow(list.matches);
    list.addEventListener("change", change);
    return () => list.removeEventListener("change", change);
  }, []);
  return isNarrow;
}

/**
 * A list of any length, of which only the visible rows are in the document. The arrow keys move the active row.
 * @param {{label: string, rows: object[], rowHeight: number, keyOf: (row: object) => string, role?: string,
 *   attributesOf?: (row: object) => object, onKey?: (event: KeyboardEvent, row: object) => void, onEnd?: () => void,
 *   isFollowing?: boolean, class?: string, children: (row: object, isActive: boolean) => unknown}} props
 *   `onEnd`: called near the end; `isFollowing`: the last row stays in sight until the reader scrolls up
 */
export function VirtualList({
  label, rows, rowHeight, keyOf, role = "listbox", attributesOf = () => ({}), onKey, onEnd, isFollowing,
  children, ...rest
}) {
  const box = useRef(null);
  const id = useIdentifier();
  const height = useHeight(box);
  const [scrolled, setScrolled] = useState(0);
  const [active, setActive] = useState(-1);
  const isAtEnd = useRef(true);
  const { first, shown } = slice(scrolled, height, rowHeight, rows.length);
  useEffect(() => {
    if (onEnd && first + shown + nearEnd >= rows.length) onEnd();
  });
  useEffect(() => {
    if (isFollowing && isAtEnd.current) box.current.scrollTop = rows.length * rowHeight;
  }, [isFollowing, rows, rowHeight]);
  const scroll = () => {
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
    setScrolled(scrollTop);
  };
  const move = (event) => {
    if (event.target !== box.current) return;
    const step = steps(Math.max(1, Math.floor(height / rowHeight) - 1), rows.length)[event.key];
    if (!step) return active >= 0 && rows[active] && onKey?.(event, rows[active]);
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, active < 0 ? first : step(active)));
    setActive(next);
    const top = next * rowHeight;
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    else if (top + rowHeight > box.current.scrollTop + height) box.current.scrollTop = top + rowHeight - height;
  };
  const itemRole = { listbox: "option", treegrid: "row" }[role];
  return html`
    <div ref=${box} ...${rest} class=${`virtual ${rest.class ?? ""}`} role=${role} aria-label=${label} tabindex="0"
      aria-rowcount=${role === "treegrid" ? rows.length : undefined}
      aria-activedescendant=${rows[active] ? `${id}-${active}` : undefined} onScroll=${scroll} onKeyDown=${move}>
      <div role="presentation" style=${{ height: `${first * rowHeight}px` }}></div>
      ${rows.slice(first, first + shown).map((row, offset) => {
        const index = first + offset;
        return html`<div key=${keyOf(row)} id=${`${id}-${index}`} role=${itemRole}
          aria-rowindex=${role === "treegrid" ? index + 1 : undefined}
          ...${attributesOf(row)} data-active=${index === active ? "" : undefined} style=${{ height: `${rowHeight}px` }}
          onPointerDown=${() => setActive(index)}>${children(row, index === active)}</div>`;
      })}
      <div role="presentation" style=${{ height: `${(rows.length - first - shown) * rowHeight}px` }}></div>
    </div>`;
}
