// SPDX-License-Identifier: Apache-2.0
import { Icon } from "./icons.js";
import { html, useEffect, useState } from "./vendor/preact-htm.js";

/** The time for which a message is shown, in milliseconds. */
const lifetime = 6000;

let messages = [];
let count = 0;
let changed = () => {};

const change = (made) => {
  messages = made;
  changed(made);
};

const dismiss = (id) => change(messages.filter((one) => one.id !== id));

/**
 * Shows a message at the edge of the page for six seconds.
 * @param {string} text
 * @param {"good" | "bad"} [tone]
 */
export function toast(text, tone = "good") {
  const id = ++count;
  change([...messages.slice(-2), { id, text, tone }]);
  setTimeout(dismiss, lifetime, id);
}

/** The messages that are shown. The page has one. */
export function Toasts() {
  const [shown, setShown] = useState(messages);
  useEffect(() => {
    changed = setShown;
    return () => (changed = () => {});
  }, []);
  return html`<div class="toasts" role="status">${shown.map(({ id, text, tone }) => html`
    <div key=${id} class=${`toast ${tone}`}>
      <${Icon} name=${tone === "bad" ? "warning" : "check"} />
      <p>${text}</p>
      <button type="button" class="copy" onClick=${() => dismiss(id)}>
        <${Icon} name="close" /><span class="unseen">Dismiss</span></button>
    </div>`)}</div>`;
}
