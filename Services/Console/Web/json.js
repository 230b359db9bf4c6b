// SPDX-License-Identifier: Apache-2.0
import { counted } from "./format.js";
import { html, useState } from "./vendor/preact-htm.js";

/** The number of entries of an object that are shown at once. */
const pageSize = 100;

const kindOf = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

const Key = ({ name }) => name !== undefined && html`<span class="json-key">${name}</span> `;

function Branch({ name, value, kind, depth }) {
  const [isOpen, setOpen] = useState(depth > 0);
  const [shown, setShown] = useState(pageSize);
  const entries = Object.entries(value);
  const summary = counted(entries.length, kind === "array" ? "item" : "key");
  return html`<details open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><${Key} name=${name} /><span class="quiet">${summary}</span></summary>
    ${isOpen && html`<ul>
      ${entries.slice(0, shown).map(([key, one]) => html`
        <li key=${key}><${Node} name=${key} value=${one} depth=${depth - 1} /></li>`)}
      ${entries.length > shown && html`<li><button type="button" class="plain"
        onClick=${() => setShown(shown + pageSize)}>
        Show ${Math.min(pageSize, entries.length - shown)} more</button></li>`}
    </ul>`}
  </details>`;
}

function Node({ name, value, depth }) {
  const kind = kindOf(value);
  const isBranch = (kind === "object" || kind === "array") && Object.keys(value).length > 0;
  if (isBranch) return html`<${Branch} ...${{ name, value, kind, depth }} />`;
  return html`<div class="json-leaf"><${Key} name=${name} />
    <span class=${`json-${kind}`}>${JSON.stringify(value)}</span></div>`;
}

/**
 * A value of JSON as a tree that opens and closes.
 * @param {{value: unknown, depth?: number}} props `depth`: the levels that are open at first, default 2
 */
export const JSONView = ({ value, depth = 2 }) => html`
  <div class="json"><${Node} value=${value} depth=${depth} /></div>`;

/** A text as it is, such as a payload or a curl line. */
export const Code = ({ children }) => html`<pre class="code" tabindex="0"><code>${children}</code></pre>`;
