// SPDX-License-Identifier: Apache-2.0
import { counted, fullTime, none, relativeTime, shortID } from "./format.js";
import { useMeasure, useNow } from "./hooks.js";
import { Icon } from "./icons.js";
import { toast } from "./toasts.js";
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";

/**
 * A screen: its heading, the path to it and its actions. The heading is the title of the document, too.
 * @param {{title: string, trail?: [string, string][], actions?: unknown, note?: unknown, children: unknown}} props
 *   `trail`: texts and addresses of the screens above
 */
export function Page({ title, trail = [], actions, note, children }) {
  useEffect(() => {
    document.title = `${title} · Strata console`;
  }, [title]);
  return html`
    <header class="page-head">
      ${trail.length > 0 && html`<nav class="trail" aria-label="Path"><ol>
        ${trail.map(([text, address]) => html`<li key=${address}><a href=${address}>${text}</a></li>`)}
      </ol></nav>`}
      <div class="page-line">
        <h1 tabindex="-1">${title}</h1>
        ${note && html`<div class="page-note">${note}</div>`}
        ${actions && html`<div class="actions">${actions}</div>`}
      </div>
    </header>
    ${children}`;
}

/**
 * A box with a heading.
 * @param {{title?: string, note?: unknown, actions?: unknown, isFlush?: boolean, children: unknown}} props
 *   `isFlush`: the content, such as a table, reaches the border
 */
export const Panel = ({ title, note, actions, isFlush, children }) => html`
  <section class=${`panel ${isFlush ? "flush" : ""}`} aria-label=${title}>
    ${title && html`<header class="panel-head">
      <h2>${title}</h2>
      ${note && html`<p class="quiet">${note}</p>`}
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>`}
    <div class="panel-body">${children}</div>
  </section>`;

/**
 * A table, whose rows are cards on narrow screens. The roles are those of the elements, which lose them as cards.
 * @template Row
 * @param {{label: string, rows: Row[], keyOf: (row: Row) => string, columns: {title: string, isHidden?: boolean,
 *   align?: "end", kind?: "main" | "actions" | "wide" | "bar" | "minor", cell: (row: Row) => unknown}[]}} props
 *   `isHidden`: the title is for screen readers; `kind`: the column that names the row, has its buttons, takes the
 *   free width, has a bar, or is left out on narrow screens
 */
export function Table({ label, rows, columns, keyOf }) {
  const box = useRef(null);
  // The keyboard scrolls an element that has the focus.
  const isWide = useMeasure(box, (element) => element.scrollWidth > element.clientWidth);
  return html`<div class="table-box" role="region" aria-label=${label} tabindex=${isWide ? "0" : undefined} ref=${box}>
    <table role="table">
    <thead role="rowgroup"><tr role="row">${columns.map(({ title, isHidden, align, kind }) => html`
      <th key=${title} role="columnheader" scope="col" class=${`${align ?? ""} ${kind ?? ""}`}>
        <span class=${isHidden ? "unseen" : ""}>${title}</span>
      </th>`)}</tr></thead>
    <tbody role="rowgroup">${rows.map((row) => html`<tr key=${keyOf(row)} role="row">
      ${columns.map(({ title, isHidden, align, kind, cell }) => html`
        <td key=${title} role="cell" class=${`${align ?? ""} ${kind ?? ""}`}
          data-label=${isHidden ? undefined : title}><div class="cell">${cell(row)}</div></td>`)}
    </tr>`)}</tbody>
  </table></div>`;
}

/** A link that names a row of a table. The whole row leads to its address. */
export const RowLink = ({ href, children }) => html`<a class="row-link" href=${href}>${children}</a>`;

/**
 * The content of loaded data: a placeholder, then the data, with an error and a retry button above it if there is one.
 * @template T
 * @param {{state: {data?: T, error?: Error, isLoading: boolean, reload: () => void}, lines?: number,
 *   isEmpty?: (data: T) => boolean, empty?: unknown, children: (data: T) => unknown}} props
 *   `lines`: the height of the placeholder
 */
export function Loaded({ state, lines = 4, isEmpty = (data) => data?.length === 0, empty, children }) {
  const { data, error, reload } = state;
  return html`
    ${error && html`<${Failure} error=${error} retry=${reload} isStale=${data !== undefined} />`}
    ${data === undefined
      ? !error && html`<div class="placeholder" aria-busy="true"><span class="unseen">Loading</span>
          ${Array.from({ length: lines }, (_, index) => html`<i key=${index}></i>`)}</div>`
      : empty && isEmpty(data) ? empty : children(data)}`;
}

/** An error with a button that tries again. */
export const Failure = ({ error, retry, isStale }) => html`
  <div class="failure" role="alert">
    <${Icon} name="warning" />
    <p>${error.message}${isStale && " The values below are from before."}
      ${error.retryAfter && ` Try again in ${counted(error.retryAfter, "second")}.`}</p>
    ${retry && html`<button type="button" class="plain" onClick=${retry}>Retry</button>`}
  </div>`;

/**
 * The text for a list without entries: what it would show, and how to get there.
 * @param {{title: string, icon?: string, children?: unknown, action?: unknown}} props
 */
export const Empty = ({ title, icon, children, action }) => html`
  <div class="empty">
    ${icon && html`<${Icon} name=${icon} />`}
    <h3>${title}</h3>
    ${children && html`<p>${children}</p>`}
    ${action}
  </div>`;

/** The end of a list of `usePages`: a button for the next page. */
export const Pager = ({ pages, noun = "entry", nouns }) => pages.data?.length > 0 && html`
  <footer class="pager">
    <p class="quiet" role="status">${counted(pages.data.length, noun, nouns)}${pages.hasNext ? " shown" : ""}</p>
    ${pages.hasNext && html`<button type="button" class="plain" disabled=${pages.isLoading} onClick=${pages.more}>
      ${pages.isLoading ? "Loading" : "Load more"}</button>`}
  </footer>`;

/** A state in a word. @param {{tone?: "good" | "warn" | "bad" | "accent" | "quiet", children: unknown}} props */
export const Badge = ({ tone = "quiet", children }) => html`<span class=${`badge ${tone}`}>${children}</span>`;

/** A time relative to now, with date and time as its title. @param {{at?: string | null, none?: string}} props */
export function Time({ at, none: missing = none }) {
  const now = useNow();
  return at ? html`<time datetime=${at} title=${fullTime(at)}>${relativeTime(at, now)}</time>` : missing;
}

/** Names and values. Entries that are false are left out. @param {{items: ([string, unknown] | false)[]}} props */
export const Facts = ({ items }) => html`
  <dl class="facts">${items.filter(Boolean).map(([name, value]) => html`
    <div key=${name}><dt>${name}</dt><dd>${value ?? none}</dd></div>`)}</dl>`;

async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Pages without TLS on another host have no clipboard API.
  const area = Object.assign(document.createElement("textarea"), { value: text });
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("The browser refused to copy.");
}

/**
 * A button that copies a text, which may be a function that makes it when it is asked for.
 * @param {{text: string | (() => string), label?: string, isVisible?: boolean}} props
 */
export function Copy({ text, label = "Copy", isVisible }) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    const timer = isDone && setTimeout(() => setDone(false), 2000);
    return () => clearTimeout(timer);
  }, [isDone]);
  const copy = (event) => {
    event.stopPropagation();
    const value = typeof text === "function" ? text() : text;
    copyText(value).then(() => setDone(true), (error) => toast(error.message, "bad"));
  };
  return html`<button type="button" class=${isVisible ? "plain" : "copy"} onClick=${copy} title=${label}>
    <${Icon} name=${isDone ? "check" : "copy"} />
    <span class=${isVisible ? "" : "unseen"} aria-live="polite">${isDone ? "Copied" : label}</span></button>`;
}

/** An id: its first eight characters, unless `isFull`, with the whole one as its title, and a button that copies it. */
export const ID = ({ id, isFull, isPlain }) => html`
  <span class="id"><code title=${id}>${isFull ? id : shortID(id)}</code>
    ${!isPlain && html`<${Copy} text=${id} label="Copy the id" />`}</span>`;
