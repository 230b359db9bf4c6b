// SPDX-License-Identifier: Apache-2.0
import { patch, path as escaped } from "../api.js";
import { Button, CheckField, Confirm, Dialog, Form, SearchField, TextArea, TextField } from "../forms.js";
import { counted, number } from "../format.js";
import { useAction, useIsOperator } from "../hooks.js";
import { Icon } from "../icons.js";
import { joined } from "../model/live.js";
import { objectPaths, pathComplaint, treeRows, valueComplaint } from "../model/leaves.js";
import { Empty, Failure, Panel, Time } from "../parts.js";
import { toast } from "../toasts.js";
import { html, useEffect, useMemo, useState } from "../vendor/preact-htm.js";
import { useLeaves } from "./conversation-leaves.js";
import { UserLink } from "./message.js";
import { useIsNarrow, VirtualList } from "./virtual-list.js";

/** The dialog that sets a value: of a row's leaf, below a row's object, or at any path. */
function Editor({ app, conversation, leaves, row, onClose }) {
  const leaf = row?.leaf;
  const [path, setPath] = useState(leaf?.path ?? (row ? `${row.path}.` : ""));
  const [value, setValue] = useState(leaf?.value ?? "");
  const [isObject, setIsObject] = useState(false);
  const [isTouched, setTouched] = useState(false);
  const action = useAction(() => {
    const operation = { operation: "set", property: `metadata.${path}`, value: isObject ? JSON.parse(value) : value };
    return patch(app, escaped`/conversations/${conversation}`, [operation]);
  });
  const complaint = isObject ? objectComplaint(value) : valueComplaint(value);
  const replaced = leaf ? [] : replacedBy(leaves, path);
  const save = async () => {
    setTouched(true);
    if (pathComplaint(path) || complaint || !(await action.run())) return;
    toast(`metadata.${path} was set`);
    onClose();
  };
  return html`<${Dialog} title=${leaf ? `Edit ${leaf.path}` : "Set a key"} onClose=${onClose}>
    <${Form} onSubmit=${save} action=${action} onCancel=${onClose} isDisabled=${!leaf && !leaves.isComplete}
      submit=${replaced.length ? `Replace ${counted(replaced.length, "key")}` : "Save"}
      kind=${replaced.length ? "danger" : "primary"}>
      ${!leaf && html`<${TextField} label="Path" value=${path} onChange=${setPath} autofocus placeholder="trip.city"
        hint=${leaves.isComplete ? "Keys joined by dots" : "Reading all keys, to say what is replaced"}
        error=${(isTouched && pathComplaint(path)) || undefined} />`}
      <${TextArea} label=${isObject ? "Object, as JSON" : "Value"} value=${value} onChange=${setValue}
        autofocus=${Boolean(leaf)}
        error=${((isTouched || !isObject) && complaint) || undefined} />
      <${CheckField} label="An object of keys" value=${isObject} onChange=${setIsObject}
        hint="It replaces everything below the path" />
      ${leaf && html`<p class="quiet">Last set ${leaf.at && html`<${Time} at=${leaf.at} />`}
        ${" "}at position ${number(leaf.position)} by ${authorName(leaf)}.</p>`}
      ${replaced.length > 0 && html`<p class="warning" role="status"><${Icon} name="warning" />
        This replaces ${counted(replaced.length, "key")}: ${joined(replaced)}</p>`}
    <//>
  <//>`;
}

function objectComplaint(text) {
  try {
    const value = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return null;
  } catch {
    // Said below, as for other values.
  }
  return "Enter an object, such as {\"city\": \"Faro\"}.";
}

const authorName = ({ actor }) =>
  actor === null ? "somebody whose entry in the log is gone" : actor || "the app's server";

/** The paths of leaves that a value at a path takes the place of. */
const replacedBy = (leaves, path) => [
  ...leaves.below(path).map((leaf) => leaf.path),
  ...leaves.all.filter((leaf) => path === leaf.path || path.startsWith(`${leaf.path}.`)).map((leaf) => leaf.path),
];

function Deletion({ app, conversation, leaves, row, onClose }) {
  const below = leaves.below(row.path);
  const run = () =>
    patch(app, escaped`/conversations/${conversation}`, [{ operation: "delete", property: `metadata.${row.path}` }]);
  return html`<${Confirm} title=${`Delete ${row.path}?`} action="Delete" isDangerous run=${run}
    done=${`metadata.${row.path} was deleted`} onClose=${onClose}>
    ${row.leaf
      ? html`<p>The value goes for all participants:</p><blockquote>${row.leaf.value.slice(0, 280)}</blockquote>`
      : html`<p>The object goes for all participants, with ${leaves.isComplete ? "" : "at least "}
          ${counted(below.length, "key")}: ${joined(below.map((leaf) => leaf.path))}</p>`}
  <//>`;
}

/** Who wrote a value, and when. */
const Author = ({ app, leaf }) => html`<span class="leaf-author">${leaf.actor === null
  ? html`<span class="quiet" title="The log does not reach back to this change">unknown</span>`
  : html`<${UserLink} app=${app} user=${leaf.actor} />`}
  <span class="quiet">${leaf.at ? html`<${Time} at=${leaf.at} />` : `#${number(leaf.position)}`}</span></span>`;

function Row({ app, row, toggle, edit, drop, isOperator }) {
  const { leaf, depth, key, count, isCollapsed } = row;
  return html`<div class="leaf" role="gridcell">
    <span class="leaf-key" style=${{ paddingInlineStart: `${Math.min(depth, 12) * 16}px` }}>${leaf
      ? html`<code title=${row.path}>${key}</code>`
      : html`<button type="button" class="leaf-toggle" tabindex="-1" aria-expanded=${!isCollapsed}
        onClick=${() => toggle(row)}>
          <${Icon} name=${isCollapsed ? "more" : "down"} /><code title=${row.path}>${key}</code></button>`}</span>
    ${leaf
      ? html`<span class="leaf-value" title=${leaf.value}>${leaf.value || html`<em class="quiet">empty</em>`}</span>
        <${Author} app=${app} leaf=${leaf} />`
      : html`<span class="leaf-value quiet">${counted(count, "key")}</span><span></span>`}
    ${isOperator && html`<span class="leaf-actions">
      <button type="button" class="plain" tabindex="-1" onClick=${() => edit(row)}>${leaf ? "Edit" : "Add"}</button>
      <button type="button" class="plain" tabindex="-1" onClick=${() => drop(row)}>Delete</button></span>`}
  </div>`;
}

/** Collapsed objects, and the keys that open and close them. */
function useCollapse() {
  const [collapsed, setCollapsed] = useState(() => new Set());
  const toggle = ({ path }, isClosed = !collapsed.has(path)) => {
    const next = new Set(collapsed);
    if (isClosed) next.add(path);
    else next.delete(path);
    setCollapsed(next);
  };
  return { collapsed, toggle, set: setCollapsed };
}

/** What the keys of a tree do to its active row. */
const pressed = ({ toggle, edit, drop, isOperator }) => (event, row) => {
  if (event.key === "ArrowRight" && !row.leaf) toggle(row, false);
  else if (event.key === "ArrowLeft" && !row.leaf) toggle(row, true);
  else if (event.key === "Enter" && !row.leaf) toggle(row);
  else if (event.key === "Enter" && isOperator) edit(row);
  else if (event.key === "Delete" && isOperator) drop(row);
  else return;
  event.preventDefault();
};

const rowAttributes = ({ depth, leaf, isCollapsed }) =>
  ({ "aria-level": depth + 1, "aria-expanded": leaf ? undefined : !isCollapsed });

/** The rows of the tree, or what there is in their place. */
function Tree({ app, leaves, rows, filter, toggle, edit, drop, onEnd }) {
  const isOperator = useIsOperator();
  const isNarrow = useIsNarrow();
  if (leaves.count === 0 && leaves.isComplete) {
    return html`<${Empty} title="No metadata" icon="space">Keys appear here as they are set.<//>`;
  }
  if (rows.length === 0 && filter) return html`<${Empty} title="No key and no value has this text" icon="search" />`;
  return html`
    <${VirtualList} label="Metadata" role="treegrid" class="tree" rows=${rows} rowHeight=${isNarrow ? 60 : 36}
      keyOf=${(row) => row.path} attributesOf=${rowAttributes} onEnd=${onEnd}
      onKey=${pressed({ toggle, edit, drop, isOperator })}>
      ${(row) => html`<${Row} ...${{ app, row, toggle, edit, drop, isOperator }} />`}<//>
    ${!isNarrow && html`<p class="quiet keys-hint">
      Arrow keys move and open${isOperator ? ", Enter edits, Delete deletes" : ""}</p>`}`;
}

function TreeActions({ leaves, filter, setFilter, collapsed, fold, edit }) {
  const isOperator = useIsOperator();
  const foldAll = () => fold(collapsed.size ? new Set() : objectPaths(leaves.all));
  return html`
    ${leaves.count > 0 && html`<${SearchField} label="Filter keys and values" value=${filter} onChange=${setFilter} />
      <${Button} onClick=${foldAll}>${collapsed.size ? "Expand" : "Collapse"}<//>`}
    ${isOperator && html`<${Button} icon="plus" onClick=${() => edit()}>Set a key<//>`}`;
}

/**
 * The metadata of a conversation as a tree.
 * @param {{app: string, conversation: string, feed: object}} props
 */
export function Metadata({ app, conversation, feed }) {
  const { leaves, version, error, isLoading, more } = useLeaves(app, conversation, feed);
  const { collapsed, toggle, set: fold } = useCollapse();
  const [filter, setFilter] = useState("");
  const [dialog, setDialog] = useState({});
  const rows = useMemo(() => treeRows(leaves.all, collapsed, filter), [leaves, version, collapsed, filter]);
  // A filter looks at all keys, and a dialog names all that go, so all are read.
  useEffect(() => {
    if ((filter || dialog.kind) && !error) more();
  }, [filter, dialog, version]);
  const edit = (row) => setDialog({ kind: "edit", row });
  const drop = (row) => setDialog({ kind: "drop", row });
  const shared = { app, conversation, leaves, row: dialog.row, onClose: () => setDialog({}) };
  const extent = leaves.isComplete ? "" : " loaded; more as you scroll";
  return html`<${Panel} title="Metadata" isFlush note=${isLoading ? "Loading" : counted(leaves.count, "key") + extent}
    actions=${html`<${TreeActions} ...${{ leaves, filter, setFilter, collapsed, fold, edit }} />`}>
    ${error && html`<${Failure} error=${error} retry=${more} isStale=${leaves.count > 0} />`}
    <${Tree} ...${{ app, leaves, rows, filter, toggle, edit, drop }} onEnd=${error ? undefined : more} />
    ${dialog.kind === "edit" && html`<${Editor} ...${shared} />`}
    ${dialog.kind === "drop" && html`<${Deletion} ...${shared} />`}
  <//>`;
}
