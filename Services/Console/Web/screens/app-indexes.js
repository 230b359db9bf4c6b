// SPDX-License-Identifier: Apache-2.0
import { path, server } from "../api.js";
import { Button, Confirm, Dialog, fieldError, Form, TextField } from "../forms.js";
import { useAction, useData, useIsOperator } from "../hooks.js";
import { Badge, Empty, Loaded, Panel, Table, Time } from "../parts.js";
import { html, useState } from "../vendor/preact-htm.js";

/** The most indexes of an app. */
const limit = 16;

/** The time between two readings while an index is being built, in milliseconds. */
const interval = 3000;

function NewIndex({ app, added, onClose }) {
  const [property, setProperty] = useState("metadata.");
  const action = useAction(async () => {
    await server(app.id, "POST", "indexes", { body: { property: property.trim() } });
    added();
  });
  return html`<${Dialog} title="New index" onClose=${onClose}>
    <${Form} onSubmit=${action.run} action=${action} submit="Add" isDisabled=${!/^metadata\../.test(property.trim())}
      fields=${["property"]} onCancel=${onClose}>
      <${TextField} label="Key path" class="mono" value=${property} onChange=${setProperty}
        error=${fieldError(action.error, "property")}
        hint="Such as metadata.status. Conversations can then be found by the value at this path." />
    <//>
  <//>`;
}

const columns = (ask, isOperator) => [
  { title: "Key path", kind: "main", cell: (index) => html`<code>${index.property}</code>` },
  { title: "State", cell: (index) => index.state === "ready"
    ? html`<${Badge} tone="good">Ready<//>` : html`<${Badge} tone="accent">Being built<//>` },
  { title: "Added", cell: (index) => html`<${Time} at=${index.created_at} />` },
  ...(isOperator ? [{ title: "Actions", isHidden: true, kind: "actions", cell: (index) => html`
    <${Button} onClick=${() => ask(index)} aria-label=${`Remove the index ${index.property}`}>Remove<//>` }] : []),
];

/** The indexes of an app. While the app is suspended, its Server API, which lists them, is closed. */
export const Indexes = ({ app }) => (app.suspended || app.deleting
  ? html`<${Panel} title="Indexes"><p class="quiet">Indexes are shown when the app is active.</p><//>`
  : html`<${List} app=${app} />`);

/** The key paths of metadata by which conversations of an app are found. */
function List({ app }) {
  const isOperator = useIsOperator();
  const [isAdding, setAdding] = useState(false);
  const [asked, ask] = useState(null);
  const [isBuilding, setBuilding] = useState(false);
  const state = useData(async (signal) => {
    const indexes = await server(app.id, "GET", "indexes", { signal });
    setBuilding(indexes.some((index) => index.state !== "ready"));
    return indexes;
  }, [app.id], { every: isBuilding ? interval : undefined });
  const added = () => {
    setAdding(false);
    state.reload();
  };
  const remove = async () => {
    await server(app.id, "DELETE", path`indexes/${asked.property}`);
    state.reload();
  };
  const isFull = state.data?.length >= limit;
  const add = isOperator && html`<${Button} icon="plus" disabled=${isFull || !state.data}
    onClick=${() => setAdding(true)}>New index<//>`;
  const empty = html`<${Empty} title="There is no index" icon="search">
    With one, conversations are found by a value of their metadata.<//>`;
  return html`<${Panel} title="Indexes"
    note=${isFull ? `The app has all ${limit} that it may have.` : "To find conversations by."}
    actions=${add} isFlush>
    <${Loaded} state=${state} lines=${2} empty=${empty}>${(indexes) => html`
      <${Table} label="Indexes" rows=${indexes} columns=${columns(ask, isOperator)}
        keyOf=${(index) => index.property} />`}<//>
    ${isAdding && html`<${NewIndex} app=${app} added=${added} onClose=${() => setAdding(false)} />`}
    ${asked && html`<${Confirm} title=${`Remove the index of ${asked.property}?`} action="Remove" isDangerous
      done="The index is removed." run=${remove} onClose=${() => ask(null)}>
      <p>Queries by <code>${asked.property}</code> are refused at once. To add the index again, all conversations are
        read anew.</p><//>`}
  <//>`;
}
