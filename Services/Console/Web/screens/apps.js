// SPDX-License-Identifier: Apache-2.0
import { post } from "../api.js";
import { AppState } from "../app-page.js";
import { findApps, readApps } from "../chooser.js";
import { layerID, number } from "../format.js";
import { Button, Dialog, fieldError, Form, SearchField, TextField } from "../forms.js";
import { useAction, useIsOperator, usePages } from "../hooks.js";
import { Empty, ID, Loaded, Page, Pager, Panel, RowLink, Table, Time } from "../parts.js";
import { link, navigate } from "../router.js";
import { Secrets } from "../secrets.js";
import { html, useState } from "../vendor/preact-htm.js";

const columns = [
  { title: "Name", kind: "main", cell: (app) => html`<${RowLink} href=${link("apps", app.id)}>${app.name}<//>` },
  { title: "State", cell: (app) => html`<${AppState} app=${app} />` },
  { title: "Id", cell: (app) => html`<${ID} id=${app.id} />` },
  { title: "Keys", align: "end", cell: (app) => number(app.keys) },
  { title: "Tokens", align: "end", cell: (app) => number(app.tokens) },
  { title: "Webhooks", align: "end", cell: (app) => number(app.webhooks) },
  { title: "Indexes", align: "end", cell: (app) => number(app.indexes) },
  { title: "Created", cell: (app) => html`<${Time} at=${app.created_at} />` },
];

/** The column that only a system with several databases has. */
const database = {
  title: "Database",
  cell: (app) => (app.moving_to ? `${app.database} → ${app.moving_to}` : app.database),
};

const NewApp = ({ onMade, onClose }) => {
  const [name, setName] = useState("");
  const action = useAction(async () => {
    const body = { name: name.trim() };
    onMade({ ...(await post("/api/apps", body)), ...body });
  });
  return html`<${Dialog} title="New app" onClose=${onClose}>
    <${Form} onSubmit=${action.run} action=${action} submit="Create" isDisabled=${!name.trim()} fields=${["name"]}
      onCancel=${onClose}>
      <${TextField} label="Name" value=${name} onChange=${setName} maxlength="200"
        hint="Operators see it, users do not." error=${fieldError(action.error, "name")} />
    <//>
  <//>`;
};

/** The secrets of a new app. The file is like the output of `strata app create --json`, with the private key. */
function MadeApp({ made }) {
  const ids = {
    app: layerID("app", made.id),
    provider: layerID("provider", made.provider_id),
    key: layerID("key", made.key_id),
  };
  const content = { ...ids, name: made.name, privateKey: made.private_key, serverToken: made.server_token };
  return html`<${Secrets} title=${`${made.name} is ready`} close="Go to the app"
    onClose=${() => navigate(link("apps", made.id))}
    file=${{ name: `${made.name.replace(/[^\w.-]+/g, "-")}.json`, content }}
    items=${[["App id", ids.app], ["Provider id", ids.provider], ["Key id", ids.key],
      ["Private key", made.private_key, "Your server signs identity tokens with it."],
      ["Server token", made.server_token, "Your server calls the Server API with it."]]} />`;
}

/** The apps of the system, and a form for a new one. */
export function Screen({ query }) {
  const isOperator = useIsOperator();
  const state = usePages(readApps, []);
  const [text, setText] = useState("");
  const [made, setMade] = useState(null);
  const isCreating = isOperator && query.create && !made;
  const close = () => navigate(link("apps"), { isReplaced: true });
  const create = isOperator && html`<a class="button primary" href=${link("apps", { create: 1 })}>New app</a>`;
  const empty = html`<${Panel}><${Empty} title="There are no apps yet" icon="apps" action=${create}>
    An app has its own users, conversations, keys and limits. ${!isOperator && "An operator can create one."}<//><//>`;
  return html`<${Page} title="Apps" actions=${state.data?.length > 0 && create}>
    <${Loaded} state=${state} empty=${empty}>${(apps) => {
      const found = findApps(apps, text);
      return html`
        ${apps.length > 5 && html`<${SearchField} label="Find by name or id" value=${text} onChange=${setText} />`}
        <${Panel} isFlush>${found.length > 0
          ? html`<${Table} label="Apps" rows=${found} keyOf=${(app) => app.id}
              columns=${apps.some((app) => app.database) ? [...columns, database] : columns} />`
          : html`<${Empty} title="No app has this name or id" icon="search"
              action=${html`<${Button} onClick=${() => setText("")}>Show all<//>`} />`}
          ${state.hasNext && html`<${Pager} pages=${state} noun="app" />`}<//>`;
    }}<//>
    ${isCreating && html`<${NewApp} onMade=${setMade} onClose=${close} />`}
    ${made && html`<${MadeApp} made=${made} />`}
  <//>`;
}
