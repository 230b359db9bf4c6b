// SPDX-License-Identifier: Apache-2.0
import { report } from "./api.js";
import { AppState, tabLink } from "./app-page.js";
import { Dialog, TextField } from "./forms.js";
import { useData, useIdentifier } from "./hooks.js";
import { rememberNames } from "./names.js";
import { Empty, Loaded } from "./parts.js";
import { link, navigate } from "./router.js";
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";

/** Reads the apps and keeps their names. */
export async function readApps(signal) {
  const apps = await report("apps", { limit: 200 }, signal);
  rememberNames(apps);
  return apps;
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
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: "nearest" }), [active]);
  return html`<div class="choices">
    <${TextField} label="Find an app" isHidden placeholder="Name or id" value=${text} autofocus role="combobox"
      aria-expanded="true" aria-controls=${id} aria-activedescendant=${found[active] && `${id}-${active}`} onKeyDown=${press}
      onChange=${(value) => { setText(value); setActive(0); }} />
    ${found.length > 0
      ? html`<ul id=${id} role="listbox" aria-label="Apps" ref=${list}>${found.map((app, index) => html`
          <li key=${app.id} id=${`${id}-${index}`} role="option" aria-selected=${index === active}
            onClick=${() => choose(app)} onPointerMove=${() => setActive(index)}>
            <span>${app.name}</span>${(app.suspended || app.deleting) && html`<${AppState} app=${app} />`}<code>${app.id.slice(0, 8)}</code></li>`)}</ul>`
      : html`<${Empty} title="No app has this name or id" />`}
  </div>`;
}

/** The dialog that leads to the same screen of another app. */
export function AppChooser({ route, onClose }) {
  const apps = useData(readApps, []);
  const empty = html`<${Empty} title="There are no apps yet" icon="apps"
    action=${html`<a class="button" href=${link("apps", { create: 1 })} onClick=${onClose}>Create the first one</a>`} />`;
  return html`<${Dialog} title="Choose an app" onClose=${onClose}>
    <${Loaded} state=${apps} empty=${empty}>${(data) => html`<${Choices} apps=${data} route=${route} onClose=${onClose} />`}<//>
  <//>`;
}
