// SPDX-License-Identifier: Apache-2.0
import { Button, CheckField, Dialog } from "./forms.js";
import { Code } from "./json.js";
import { Copy } from "./parts.js";
import { html, useState } from "./vendor/preact-htm.js";

function download({ name, content }) {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(content, null, 2)}\n`], { type: "application/json" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/**
 * A dialog with values that are shown once. It closes after the operator has confirmed to have kept them.
 * @param {{title: string, items: [string, string, string?][], file?: {name: string, content: object}, close?: string,
 *   onClose: () => void}} props `items`: name, value and purpose; `file`: the values as a file
 */
export function Secrets({ title, items, file, close = "Close", onClose }) {
  const [isKept, setKept] = useState(false);
  return html`<${Dialog} title=${title} onClose=${onClose} isSticky isWide>
    <p class="note warn">Keep these values now. The private parts are not stored, so nobody can show them again.</p>
    <dl class="secrets">${items.map(([name, value, purpose]) => html`<div key=${name}>
      <dt>${name}<${Copy} text=${value} label="Copy" isVisible /></dt>
      <dd>${purpose && html`<p class="quiet">${purpose}</p>`}<${Code}>${value}<//></dd></div>`)}</dl>
    <footer class="form-foot spread">
      <${CheckField} label="I have kept them" value=${isKept} onChange=${setKept} />
      <div class="actions">${file && html`<${Button} onClick=${() => download(file)}>Download as a file<//>`}
        <${Button} kind="primary" disabled=${!isKept} onClick=${onClose}>${close}<//></div>
    </footer>
  <//>`;
}
