// SPDX-License-Identifier: Apache-2.0
import { path, put, remove } from "../api.js";
import { AppPage, AppState, useApp } from "../app-page.js";
import { layerID } from "../format.js";
import { Button, Confirm } from "../forms.js";
import { useIsOperator } from "../hooks.js";
import { Copy, Facts, Loaded, Panel, Time } from "../parts.js";
import { html, useState } from "../vendor/preact-htm.js";
import { Indexes } from "./app-indexes.js";
import { Keys } from "./app-keys.js";
import { Settings } from "./app-settings.js";
import { Tokens } from "./app-tokens.js";

const Value = ({ text }) => html`<span class="id"><code>${text}</code><${Copy} text=${text} /></span>`;

const Identity = ({ app }) => html`<${Panel} title="Identity">
  <${Facts} items=${[
    ["State", html`<${AppState} app=${app} />`],
    ["App id", html`<${Value} text=${layerID("app", app.id)} />`],
    ["Provider id", html`<${Value} text=${layerID("provider", app.provider_id)} />`],
    ["Created", html`<${Time} at=${app.created_at} />`],
  ]} />
<//>`;

/** The dialogs that suspend an app and resume it. */
function Suspension({ app, onClose, changed }) {
  const target = path`/api/apps/${app.id}/suspension`;
  const finish = (call) => async () => {
    await call(target);
    changed();
  };
  if (app.suspended) {
    return html`<${Confirm} title=${`Resume ${app.name}?`} action="Resume" done=${`${app.name} is active again.`}
      run=${finish(remove)} onClose=${onClose}>
      <p>Users can sign in again, and earlier sessions are valid again.</p><//>`;
  }
  return html`<${Confirm} title=${`Suspend ${app.name}?`} action="Suspend the app" isDangerous word=${app.name}
    done=${`${app.name} is suspended.`} run=${finish(put)} onClose=${onClose}>
    <p>Its users cannot sign in, signed-in users are disconnected within half a minute, and its server's calls are
      refused. Nothing is deleted, and you can resume the app at any time.</p><//>`;
}

/** One app: its identity, keys, tokens, settings and indexes. */
export function Screen({ params }) {
  const state = useApp(params.app);
  const isOperator = useIsOperator();
  const [isAsking, setAsking] = useState(false);
  const app = state.data;
  const [kind, label] = app?.suspended ? ["primary", "Resume"] : ["plain", "Suspend"];
  const action = app && isOperator && !app.deleting && html`
    <${Button} kind=${kind} onClick=${() => setAsking(true)}>${label}<//>`;
  return html`<${AppPage} id=${params.app} tab="app" app=${state} actions=${action}>
    <${Loaded} state=${state} lines=${10}>${(data) => html`
      ${data.suspended && html`<p class="note warn">
        The app is suspended: nobody can sign in, and its server's calls are refused.</p>`}
      <div class="columns">
        <div><${Identity} app=${data} /><${Indexes} app=${data} /></div>
        <${Settings} app=${data} changed=${state.reload} />
      </div>
      <${Keys} app=${data} changed=${state.reload} />
      <${Tokens} app=${data} changed=${state.reload} />`}<//>
    ${isAsking && html`<${Suspension} app=${app} changed=${state.reload} onClose=${() => setAsking(false)} />`}
  <//>`;
}
