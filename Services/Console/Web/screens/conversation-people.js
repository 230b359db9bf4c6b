// SPDX-License-Identifier: Apache-2.0
import { patch, path } from "../api.js";
import { Button, Confirm, Dialog, Form, SearchField, TextField } from "../forms.js";
import { counted, layerID, number } from "../format.js";
import { useAction, useIsOperator } from "../hooks.js";
import { Badge, Empty, Panel, Table } from "../parts.js";
import { toast } from "../toasts.js";
import { html, useState } from "../vendor/preact-htm.js";
import { Initials, UserLink } from "./message.js";

/** The rows that are shown at once, and that are added by the button. */
const step = 50;

const changeParticipant = (app, conversation, operation, user) =>
  patch(app, path`/conversations/${conversation}`, [{ operation, property: "participants", id: layerID("user", user) }]);

function Addition({ app, conversation, onClose }) {
  const [user, setUser] = useState("");
  const action = useAction(() => changeParticipant(app, conversation, "add", user.trim()));
  const add = async () => {
    if (!(await action.run())) return;
    toast(`${user.trim()} was added`);
    onClose();
  };
  return html`<${Dialog} title="Add a participant" onClose=${onClose}>
    <${Form} onSubmit=${add} action=${action} submit="Add" isDisabled=${!user.trim()} onCancel=${onClose}>
      <${TextField} label="User id" value=${user} onChange=${setUser} autofocus
        hint="A user whom the app does not know yet becomes known" />
    <//>
  <//>`;
}

const Removal = ({ app, conversation, person, onClose }) => html`
  <${Confirm} title=${`Remove ${person.display_name || person.user_id}?`} action="Remove" isDangerous onClose=${onClose}
    run=${() => changeParticipant(app, conversation, "remove", person.user_id)} done=${`${person.user_id} was removed`}>
    <p><strong>${person.user_id}</strong> sees no further messages of this conversation, and keeps what they saw.
      A distinct conversation stops being distinct for good.</p>
  <//>`;

const columns = (app, isOperator, remove) => [
  { title: "User", kind: "main", cell: (person) => html`<span class="person">
      <${Initials} name=${person.display_name || person.user_id} id=${person.user_id} />
      <span><${UserLink} app=${app} user=${person.user_id} name=${person.display_name} />
        ${person.display_name && html` <code class="quiet">${person.user_id}</code>`}</span></span>` },
  { title: "Unread", align: "end", cell: ({ unread, left_position: left }) =>
      left ? html`<${Badge}>left<//>` : unread ? html`<${Badge} tone="accent">${number(unread)}<//>` : html`<${Badge} tone="good">read<//>` },
  { title: "Read through", align: "end", cell: (person) => number(person.read_through) },
  { title: "Joined", align: "end", cell: (person) => `#${number(person.joined_position)}` },
  { title: "Left", align: "end", cell: (person) => (person.left_position ? `#${number(person.left_position)}` : "") },
  isOperator && { title: "Actions", isHidden: true, kind: "actions", cell: (person) =>
      !person.left_position && html`<${Button} onClick=${() => remove(person)}>Remove<//>` },
].filter(Boolean);

const matches = (text) => ({ user_id: id, display_name: name }) =>
  `${id} ${name ?? ""}`.toLowerCase().includes(text.trim().toLowerCase());

/**
 * The participants with their receipts; former ones come last.
 * @param {{app: string, conversation: string, people: object[], isDeleted: boolean}} props
 */
export function People({ app, conversation, people, isDeleted }) {
  const isOperator = useIsOperator() && !isDeleted;
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState(step);
  const [dialog, setDialog] = useState(null);
  const close = () => setDialog(null);
  const present = people.filter((person) => !person.left_position);
  const sorted = [...present, ...people.filter((person) => person.left_position)].filter(matches(filter));
  const remove = (person) => setDialog(html`<${Removal} ...${{ app, conversation, person, onClose: close }} />`);
  const former = people.length - present.length;
  return html`<${Panel} title="Participants" isFlush note=${`${number(present.length)}${former ? `, and ${number(former)} who left` : ""}`}
    actions=${html`
      ${people.length > 10 && html`<${SearchField} label="Filter participants" value=${filter} onChange=${setFilter} />`}
      ${isOperator && html`<${Button} icon="plus" onClick=${() => setDialog(html`<${Addition} ...${{ app, conversation, onClose: close }} />`)}>Add<//>`}`}>
    ${sorted.length
      ? html`<${Table} label="Participants" rows=${sorted.slice(0, shown)} keyOf=${(person) => person.user_id} columns=${columns(app, isOperator, remove)} />`
      : html`<${Empty} title=${filter ? "No participant has this name" : "Nobody takes part"} icon="users" />`}
    ${sorted.length > shown && html`<footer class="pager"><p class="quiet">${counted(shown, "participant")} shown of ${number(sorted.length)}</p>
      <${Button} onClick=${() => setShown(shown + step)}>Show more<//></footer>`}
    ${dialog}
  <//>`;
}
