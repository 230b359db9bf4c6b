// SPDX-License-Identifier: Apache-2.0
import { patch, path } from "../api.js";
import { Button, Confirm, Dialog, Form, SearchField, TextField } from "../forms.js";
import { counted, layerID, number } from "../format.js";
import { useAction, useIsOperator } from "../hooks.js";
import { Icon } from "../icons.js";
import { Badge, Empty, Panel } from "../parts.js";
import { toast } from "../toasts.js";
import { html, useState } from "../vendor/preact-htm.js";
import { Initials, UserLink } from "./message.js";

/** The rows that are shown at once, and that are added by the button. */
const step = 50;

const changeParticipant = (app, conversation, operation, user) =>
  patch(app, path`/conversations/${conversation}`,
    [{ operation, property: "participants", id: layerID("user", user) }]);

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

/** When a participant came and, if so, left, by positions. */
const stay = ({ joined_position: joined, left_position: left }) =>
  `joined at #${number(joined)}${left ? `, left at #${number(left)}` : ""}`;

/** What a participant has read. */
const Reading = ({ person: { unread, read_through: through, left_position: left } }) => html`<span class="reading">
  ${left ? html`<${Badge}>left<//>`
    : unread ? html`<${Badge} tone="accent">${number(unread)} unread<//>`
    : html`<${Badge} tone="good">all read<//>`}
  <small class="quiet">${through ? `through ${number(through)}` : "nothing read"}</small></span>`;

const Person = ({ app, person, remove }) => html`<li class=${`participant ${person.left_position ? "former" : ""}`}>
  <${Initials} name=${person.display_name || person.user_id} id=${person.user_id} />
  <div><${UserLink} app=${app} user=${person.user_id} name=${person.display_name} />
    <small class="block quiet">${person.display_name ? `${person.user_id}, ` : ""}${stay(person)}</small></div>
  <${Reading} person=${person} />
  ${remove && (person.left_position ? html`<span class="copy"></span>`
    : html`<button type="button" class="copy" title=${`Remove ${person.user_id}`} onClick=${() => remove(person)}>
        <${Icon} name="close" /><span class="unseen">Remove ${person.user_id}</span></button>`)}
</li>`;

const matches = (text) => ({ user_id: id, display_name: name }) =>
  `${id} ${name ?? ""}`.toLowerCase().includes(text.trim().toLowerCase());

/**
 * The participants with their receipts; former ones come last.
 * @param {{app: string, conversation: string, people: object[], count: number, isDeleted: boolean}} props
 *   `count`: the present ones, of whom `people` may have only the first
 */
export function People({ app, conversation, people, count, isDeleted }) {
  const isOperator = useIsOperator() && !isDeleted;
  const [filter, setFilter] = useState("");
  const [shown, setShown] = useState(step);
  const [dialog, setDialog] = useState(null);
  const close = () => setDialog(null);
  const present = people.filter((person) => !person.left_position);
  const sorted = [...present, ...people.filter((person) => person.left_position)].filter(matches(filter));
  const add = () => setDialog(html`<${Addition} ...${{ app, conversation, onClose: close }} />`);
  const remove = (person) => setDialog(html`<${Removal} ...${{ app, conversation, person, onClose: close }} />`);
  const former = people.length - present.length;
  const note = [
    number(count),
    former > 0 && `${number(former)} who left`,
    count > present.length && `the first ${number(present.length)} are listed`,
  ].filter(Boolean).join("; ");
  return html`<${Panel} title="Participants" isFlush note=${note}
    actions=${html`
      ${people.length > 10 && html`<${SearchField} label="Filter participants" value=${filter}
        onChange=${setFilter} />`}
      ${isOperator && html`<${Button} icon="plus" onClick=${add}>Add<//>`}`}>
    ${sorted.length
      ? html`<ul class="participants">${sorted.slice(0, shown).map((person) => html`
          <${Person} key=${person.user_id} ...${{ app, person }} remove=${isOperator && remove} />`)}</ul>`
      : html`<${Empty} title=${filter ? "No participant has this name" : "Nobody takes part"} icon="users" />`}
    ${sorted.length > shown && html`<footer class="pager">
      <p class="quiet">${counted(shown, "participant")} shown of ${number(sorted.length)}</p>
      <${Button} onClick=${() => setShown(shown + step)}>Show more<//></footer>`}
    ${dialog}
  <//>`;
}
