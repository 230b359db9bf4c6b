// SPDX-License-Identifier: Apache-2.0
import { report } from "./api.js";
import { useData } from "./hooks.js";
import { appName, rememberNames, useNames } from "./names.js";
import { Badge, Page } from "./parts.js";
import { link } from "./router.js";
import { html } from "./vendor/preact-htm.js";

async function readApp(id, signal) {
  const app = await report("app", { app: id }, signal);
  rememberNames([app]);
  return app;
}

/** Reads an app's report. */
export const useApp = (id) => useData((signal) => readApp(id, signal), [id]);

/** The state of an app in a word. */
export const AppState = ({ app }) =>
  app.deleting ? html`<${Badge} tone="bad">Being deleted<//>`
  : app.suspended ? html`<${Badge} tone="warn">Suspended<//>`
  : html`<${Badge} tone="good">Active<//>`;

const tabs = [["app", "Settings"], ["conversations", "Conversations"], ["users", "Users"], ["webhooks", "Webhooks"]];

/** The address of an app's screen. */
export const tabLink = (id, tab) => (tab === "app" ? link("apps", id) : link("apps", id, tab));

/**
 * A screen of an app: the path to it, and the tabs of the app's screens.
 * @param {{id: string, tab: "app" | "conversations" | "users" | "webhooks", title?: string,
 *   trail?: [string, string][], app?: ReturnType<typeof useApp>, actions?: unknown, note?: unknown,
 *   children: unknown}} props
 *   `title`: the heading of a screen below the tab; `trail`: screens between the tab's and this one; `app`: the report,
 *   if the screen has read it
 */
export function AppPage({ id, tab, title, trail = [], app, actions, note, children }) {
  const own = useData((signal) => (app ? undefined : readApp(id, signal)), [id]);
  const data = app ? app.data : own.data;
  useNames();
  const [, tabTitle] = tabs.find(([name]) => name === tab);
  const isSettings = tab === "app" && !title;
  const path = [["Apps", link("apps")]];
  if (!isSettings) path.push([appName(id), link("apps", id)]);
  if (title && tab !== "app") path.push([tabTitle, tabLink(id, tab)]);
  const state = data && (data.suspended || data.deleting) && html`<${AppState} app=${data} />`;
  return html`<${Page} title=${title ?? (isSettings ? appName(id) : tabTitle)} trail=${[...path, ...trail]}
    actions=${actions} note=${(state || note) && html`${state}${note}`}>
    <nav class="tabs" aria-label="Screens of the app"><ul>${tabs.map(([name, text]) => html`
      <li key=${name}><a href=${tabLink(id, name)}
        aria-current=${name === tab ? (title ? "true" : "page") : undefined}>${text}</a></li>`)}</ul></nav>
    ${children}
  <//>`;
}
