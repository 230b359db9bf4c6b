// SPDX-License-Identifier: Apache-2.0
import { path, post, remove } from "../api.js";
import { Button, Confirm, Dialog, fieldError, Form, TextField } from "../forms.js";
import { useAction, useIsOperator } from "../hooks.js";
import { Badge, Empty, ID, Panel, Table, Time } from "../parts.js";
import { Secrets } from "../secrets.js";
import { html, useState } from "../vendor/preact-htm.js";

/** The name of the tokens that consoles make for themselves. */
const own = "console";

function NewToken({ app, onMade, onClose }) {
  const [name, setName] = useState("");
  const action = useAction(async () => onMade(await post(path`/api/apps/${app.id}/tokens`, { name: name.trim() })));
  return html`<${Dialog} title="New server token" onClose=${onClose}>
    <${Form} onSubmit=${action.run} action=${action} submit="Create" isDisabled=${!name.trim()} fields=${["name"]}
      onCancel=${onClose}>
      <${TextField} label="Name" value=${name} onChange=${setName} maxlength="128" placeholder="back office"
        hint="Give each server a token of its own, named after it." error=${fieldError(action.error, "name")} />
    <//>
  <//>`;
}

const hasExpired = (token) => token.expires_at !== null && Date.parse(token.expires_at) < Date.now();

const columns = (ask, isOperator) => [
  { title: "Name", kind: "main", cell: (token) => token.name || html`<span class="quiet">no name</span>` },
  { title: "Id", cell: (token) => html`<${ID} id=${token.id} />` },
  { title: "Created", cell: (token) => html`<${Time} at=${token.created_at} />` },
  { title: "Expires", kind: "wide", cell: (token) => (hasExpired(token) ? html`<${Badge} tone="warn">Expired<//>`
    : html`<${Time} at=${token.expires_at} none="never" />`) },
  ...(isOperator ? [{ title: "Actions", isHidden: true, kind: "actions", cell: (token) => html`
    <${Button} onClick=${() => ask(token)} aria-label=${`Revoke the token ${token.name}`}>Revoke<//>` }] : []),
];

/** The tokens of the servers of an app. */
export function Tokens({ app, changed }) {
  const isOperator = useIsOperator();
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState(null);
  const [asked, ask] = useState(null);
  const onMade = (token) => {
    setAdding(false);
    setMade(token);
    changed();
  };
  const tokens = app.tokens.filter((token) => token.name !== own);
  const hidden = app.tokens.length - tokens.length;
  const add = isOperator && html`<${Button} icon="plus" onClick=${() => setAdding(true)}>New token<//>`;
  const note = hidden > 0
    ? "Beside them the console has tokens of its own, for an hour each." : "Each may do everything in the app.";
  return html`<${Panel} title="Server tokens" note=${note} actions=${add} isFlush>
    ${tokens.length > 0
      ? html`<${Table} label="Server tokens" rows=${tokens} columns=${columns(ask, isOperator)}
        keyOf=${(token) => token.id} />`
      : html`<${Empty} title="There is no token" icon="key">The app's own server needs one for the Server API.<//>`}
    ${isAdding && html`<${NewToken} app=${app} onMade=${onMade} onClose=${() => setAdding(false)} />`}
    ${made && html`<${Secrets} title="The new token" onClose=${() => setMade(null)}
      items=${[["Server token", made.token]]} />`}
    ${asked && html`<${Confirm} title=${`Revoke ${asked.name || "the token"}?`} action="Revoke" isDangerous
      done="The token is revoked." run=${() => remove(path`/api/apps/${app.id}/tokens/${asked.id}`).then(changed)}
      onClose=${() => ask(null)}>
      <p>Every gateway refuses it within five seconds. Webhooks that were registered with it stay.</p><//>`}
  <//>`;
}
