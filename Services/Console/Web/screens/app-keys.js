// SPDX-License-Identifier: Apache-2.0
import { path, post, remove } from "../api.js";
import { layerID, shortID } from "../format.js";
import { Button, Confirm, Dialog, fieldError, Form, SelectField, TextArea } from "../forms.js";
import { useAction, useIsOperator } from "../hooks.js";
import { Empty, ID, Panel, Table, Time } from "../parts.js";
import { Secrets } from "../secrets.js";
import { toast } from "../toasts.js";
import { html, useState } from "../vendor/preact-htm.js";

/** The start of a PEM text without its frame. */
const summary = (pem) => pem.replace(/-----[^-]+-----|\s/g, "").slice(-24);

const sources = [
  ["new", "Make a pair and show the private key once"],
  ["own", "I have a pair and paste the public key"],
];

function NewKey({ app, onMade, onClose }) {
  const [source, setSource] = useState("new");
  const [text, setText] = useState("");
  const isOwn = source === "own";
  const action = useAction(async () =>
    onMade(await post(path`/api/apps/${app.id}/keys`, isOwn ? { public_key: text.trim() } : {})));
  return html`<${Dialog} title="New key" onClose=${onClose}>
    <${Form} onSubmit=${action.run} action=${action} submit="Add" fields=${["public_key"]}
      isDisabled=${isOwn && !text.trim()}
      onCancel=${onClose}>
      <${SelectField} label="Pair of keys" value=${source} onChange=${setSource}
        options=${sources} />
      ${isOwn && html`<${TextArea} label="Public key" class="mono" value=${text} onChange=${setText}
        placeholder="-----BEGIN PUBLIC KEY-----"
        hint="PEM of an RSA key with at least 2048 bits." error=${fieldError(action.error, "public_key")} />`}
    <//>
  <//>`;
}

const columns = (ask, isOperator) => [
  { title: "Key", kind: "main", cell: (key) => html`<${ID} id=${key.id} />` },
  { title: "Public key", kind: "wide", cell: ({ public_key: pem }) => html`
    <code class="quiet" title=${pem}>…${summary(pem)}</code>` },
  { title: "Added", cell: (key) => html`<${Time} at=${key.created_at} />` },
  ...(isOperator ? [{ title: "Actions", isHidden: true, kind: "actions", cell: (key) => html`
    <${Button} onClick=${() => ask(key)} aria-label=${`Remove the key ${shortID(key.id)}`}>Remove<//>` }] : []),
];

const Removal = ({ app, id, changed, onClose }) => html`
  <${Confirm} title="Remove the key?" action="Remove" isDangerous done="The key is removed." onClose=${onClose}
    run=${() => remove(path`/api/apps/${app.id}/keys/${id}`).then(changed)}>
    <p>Identity tokens signed with the key <code>${shortID(id)}</code> are refused at once. Users who are signed in
      stay so. ${app.keys.length === 1 && "It is the app's last key: nobody can sign in without another one."}
    </p><//>`;

/** The keys that identity tokens of an app are signed with. */
export function Keys({ app, changed }) {
  const isOperator = useIsOperator();
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState(null);
  const [asked, ask] = useState(null);
  const onMade = (key) => {
    setAdding(false);
    if (key.private_key) setMade(key);
    else toast("The key is added.");
    changed();
  };
  const add = isOperator && html`<${Button} icon="plus" onClick=${() => setAdding(true)}>New key<//>`;
  return html`<${Panel} title="Keys" note="Your server signs identity tokens with them." actions=${add} isFlush>
    ${app.keys.length > 0
      ? html`<${Table} label="Keys" rows=${app.keys} columns=${columns(ask, isOperator)} keyOf=${(key) => key.id} />`
      : html`<${Empty} title="There is no key" icon="key">Nobody can sign in before the app has one.<//>`}
    ${isAdding && html`<${NewKey} app=${app} onMade=${onMade} onClose=${() => setAdding(false)} />`}
    ${made && html`<${Secrets} title="The new key" onClose=${() => setMade(null)}
      items=${[["Key id", layerID("key", made.id)], ["Private key", made.private_key]]} />`}
    ${asked && html`<${Removal} app=${app} id=${asked.id} changed=${changed} onClose=${() => ask(null)} />`}
  <//>`;
}
