// SPDX-License-Identifier: Apache-2.0
import { report } from "./api.js";
import { AppState, tabLink } from "./app-page.js";
import { Dialog, TextField } from "./forms.js";
import { useIdentifier, usePages } from "./hooks.js";
import { rememberNames } from "./names.js";
import { Empty, Loaded, Pager } from "./parts.js";
import { link, navigate } from "./router.js";
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";

/** The most apps of a page. */
const pageSize = 200;

/** Reads a page of the apps, oldest first, and keeps their names. */
export async function readApps(after, signal) {
  const apps = await report("apps", { after, limit: pageSize }, signal);
  rememberNames(apps);
  return { items: apps, next: apps.length < pageSize ? null : apps.at(-1).id };
}

/** Returns the apps whose name or id contains a text. */
export function findApps(apps, text) {
  const wanted = text.trim().toLowerCase();
  return apps.filter(({ id, name }) => name.toLowerCase().includes(wanted) || id.includes(wanted));
}

/** The tab to show of another app, by screen. */
const tabOf = {
  conversations: "conversations", conversation: "conversations", users: "users", user: "users", trace: "users",
  webhooks: "webhooks",
};

function Choices({ apps, route, onClose }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const box = useRef(null);
  const list = useRef(null);
  const id = useIdentifier();
  const found = findApps(apps, text);
  const choose = (app) => {
    onClose();
    navigate(tabLink(app.id, tabOf[route.screen] ?? "app"));
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setActive((old) => Math.max(0, Math.min(found.length - 1, old + step)));
    else if (event.key === "Enter" && found[active]) choose(found[active]);
    else return;
    event.preventDefault();
  };
  useEffect(() => box.current.querySelector("input").focus(), []);
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: "nearest" }), [active]);
  return html`<div class="choices" ref=${box}>
    <${TextField} label="Find an app" isHidden placeholder="Name or id" value=${text} role="combobox"
      aria-expanded="true" aria-controls=${id} aria-activedescendant=${found[active] && `${id}-${active}`}
      onKeyDown=${press}
      onChange=${(value) => { setText(value); setActive(0); }} />
    ${found.length > 0
      ? html`<ul id=${id} role="listbox" aria-label="Apps" ref=${list}>${found.map((app, index) => html`
          <li key=${app.id} id=${`${id}-${index}`} role="option" aria-selected=${index === active}
            onClick=${() => choose(app)} onPointerMove=${() => setActive(index)}>
            <span>${app.name}</span>
            ${(app.suspended || app.deleting) && html`<${AppState} app=${app} />`}
            <code>${app.id.slice(0, 8)}</code></li>`)}</ul>`
      : html`<${Empty} title="No app has this name or id" />`}
  </div>`;
}

/** The dialog that leads to the same screen of another app. */
export function AppChooser({ route, onClose }) {
  const apps = usePages(readApps, []);
  const empty = html`<${Empty} title="There are no apps yet" icon="apps"
    action=${html`<a class="button" href=${link("apps")} onClick=${onClose}>Go to the apps</a>`} />`;
  return html`<${Dialog} title="Choose an app" onClose=${onClose}>
    <${Loaded} state=${apps} empty=${empty}>${(data) => html`
      <${Choices} apps=${data} route=${route} onClose=${onClose} />
      ${apps.hasNext && html`<${Pager} pages=${apps} noun="app" />`}`}<//>
  <//>`;
}
