// SPDX-License-Identifier: Apache-2.0
import { tabLink } from "./app-page.js";
import { AppChooser } from "./chooser.js";
import { useIsOperator } from "./hooks.js";
import { Icon, Mark } from "./icons.js";
import { appName, isKnown, rememberNames, useNames } from "./names.js";
import { Badge } from "./parts.js";
import { link } from "./router.js";
import { html, useEffect, useState } from "./vendor/preact-htm.js";

const kept = "strata-console-app";

/** The screens of an app in the navigation, and the screens that each is current for. */
const appScreens = [
  ["app", "Settings", ["app"]],
  ["conversations", "Conversations", ["conversations", "conversation"]],
  ["users", "Users", ["users", "user", "trace"]],
  ["webhooks", "Webhooks", ["webhooks"]],
];

function readKept() {
  const app = JSON.parse(sessionStorage.getItem(kept) ?? "null");
  if (app) rememberNames([app]);
  return app?.id;
}

/** The app of the address, or the last one that this tab showed. */
function useCurrentApp(app) {
  const [last, setLast] = useState(readKept);
  useNames();
  const current = app ?? last;
  const name = isKnown(current) ? appName(current) : undefined;
  useEffect(() => {
    if (!name) return;
    sessionStorage.setItem(kept, JSON.stringify({ id: current, name }));
    setLast(current);
  }, [current, name]);
  return current;
}

const Entry = ({ href, icon, isCurrent, children }) => html`
  <li><a href=${href} aria-current=${isCurrent ? "page" : undefined}><${Icon} name=${icon} />${children}</a></li>`;

/** The navigation of an app, below the button that chooses another one. */
const AppEntries = ({ app, route, choose }) => html`<div class="nav-app">
  <button type="button" class="chooser" onClick=${choose} aria-haspopup="dialog" title="Choose an app">
    <span class="unseen">App: </span><span class="chooser-name">${app ? appName(app) : "Choose an app"}</span>
    <${Icon} name="down" /></button>
  ${app && html`<ul>${appScreens.map(([screen, text, screens]) => html`
    <${Entry} key=${screen} href=${tabLink(app, screen)} icon=${screen}
      isCurrent=${route.params.app === app && screens.includes(route.screen)}>${text}<//>`)}</ul>`}
</div>`;

const Account = ({ session, signOut }) => html`<footer class="account">
  <div><p class="account-name" title=${session.name}>${session.name}</p>
    <${Badge} tone=${useIsOperator() ? "accent" : "quiet"}>${session.role}<//></div>
  <button type="button" class="copy" onClick=${signOut} title="Sign out"><${Icon} name="out" />
    <span class="unseen">Sign out</span></button>
</footer>`;

/** The navigation. On narrow screens a button opens it. */
export function Sidebar({ route, session, signOut }) {
  const [isOpen, setOpen] = useState(false);
  const [isChoosing, setChoosing] = useState(false);
  const app = useCurrentApp(route.params.app);
  useEffect(() => setOpen(false), [route.path]);
  const main = (screen, text) => html`
    <${Entry} href=${link(screen)} icon=${screen} isCurrent=${route.screen === screen}>${text}<//>`;
  return html`<aside class="sidebar" data-open=${isOpen ? "" : undefined}>
    <div class="brand">
      <${Mark} /><a href=${link("overview")}>Strata <span>console</span></a>
      <button type="button" class="plain menu" aria-expanded=${isOpen} aria-controls="navigation"
        onClick=${() => setOpen(!isOpen)}>Menu</button>
    </div>
    <div class="sidebar-body" id="navigation">
      <nav aria-label="Console">
        <ul>${main("overview", "Overview")}${main("apps", "Apps")}</ul>
        <${AppEntries} app=${app} route=${route} choose=${() => setChoosing(true)} />
        <ul>${main("try", "Try it")}${main("space", "Space and retention")}${main("audit", "Audit log")}</ul>
      </nav>
      <${Account} session=${session} signOut=${signOut} />
    </div>
    ${isChoosing && html`<${AppChooser} route=${route} onClose=${() => setChoosing(false)} />`}
  </aside>`;
}
