// SPDX-License-Identifier: Apache-2.0
import { path, server } from "../api.js";
import { Button, Confirm, Dialog, Form, TextField } from "../forms.js";
import { counted, lastPart, number, shortID } from "../format.js";
import { useAction, useIsOperator, usePages } from "../hooks.js";
import { serverPages } from "../lists.js";
import { joined } from "../model/live.js";
import { Badge, Empty, Facts, Loaded, Pager, Panel, RowLink, Table, Time } from "../parts.js";
import { link } from "../router.js";
import { toast } from "../toasts.js";
import { html, useState } from "../vendor/preact-htm.js";
import { UserLink } from "./message.js";

/** Members of an identity, as they are shown. */
const members = [
  ["display_name", "Display name"], ["first_name", "First name"], ["last_name", "Last name"],
  ["email_address", "E-mail address"], ["phone_number", "Phone number"], ["avatar_url", "Avatar"],
  ["identity_type", "Type"], ["public_key", "Public key"],
];

/** The identity of a user; null: only the id is known. */
export const Identity = ({ state }) => html`<${Panel} title="Identity">
  <${Loaded} state=${state} lines=${3} isEmpty=${(identity) => identity === null}
    empty=${html`<${Empty} title="Only the id is known">
      The user has never signed in, and the app's server made no identity.<//>`}>
    ${(identity) => html`<${Facts} items=${[
      ...members.filter(([name]) => identity[name]).map(([name, title]) => [title, identity[name]]),
      ...Object.entries(identity.metadata ?? {}).map(([name, value]) => [html`<code>${name}</code>`, value]),
    ]} />`}<//>
<//>`;

const presenceTones = { available: "good", busy: "bad", away: "warn", offline: "quiet", invisible: "quiet" };

/** The presence of a user, as a badge. */
export const Presence = ({ state: { data, error } }) => html`<span class="presence" role="status">${data
  ? html`<${Badge} tone=${presenceTones[data.status]}>${data.status}<//>
      ${data.status !== "available" && data.last_seen_at
        && html` <span class="quiet">seen <${Time} at=${data.last_seen_at} /></span>`}`
  : error && html`<span class="quiet" title=${error.message}>Presence is not known</span>`}</span>`;

/** Figures of the user's own log and of what waits for them. */
export const Figures = ({ facts, badge }) => html`<${Panel} title="At a glance"><${Facts} items=${[
  ["Unread messages", facts.unread_messages === null
    ? "not counted: more than 1,000 conversations" : number(facts.unread_messages)],
  badge && ["Unread conversations", number(badge.unread_conversation_count)],
  badge && ["Counted by the app", number(badge.external_unread_count)],
  ["Follows", counted(facts.following, "user")],
  ["Followed by", counted(facts.followers, "user")],
  ["Log position", `#${number(facts.log_position)}`],
  facts.erasure && ["Erasure", html`asked for <${Time} at=${facts.erasure.requested_at} />,
    ${" "}runs from <${Time} at=${facts.erasure.not_before} />`],
]} /><//>`;

const signedOut = html`<${Empty} title="Not signed in" icon="key">Sessions appear here once the user signs in.<//>`;

/** The sessions of a user, each with a button that ends it. */
export function Sessions({ app, user, version }) {
  const isOperator = useIsOperator();
  const [ending, setEnding] = useState(null);
  const pages = usePages((after, signal) =>
    serverPages(app, path`/users/${user}/sessions`, { query: { page_size: 50, from_id: after }, signal }),
  [app, user, version]);
  const columns = [
    { title: "Session", kind: "main", cell: (session) =>
      html`<code title=${session.id}>${shortID(session.id)}</code>` },
    { title: "Signed in", align: "end", cell: (session) => html`<${Time} at=${session.created_at} />` },
    { title: "Last used", align: "end", cell: (session) => html`<${Time} at=${session.last_used_at} />` },
    { title: "Expires", align: "end", cell: (session) => html`<${Time} at=${session.expires_at} />` },
    isOperator && { title: "Actions", isHidden: true, kind: "actions", cell: (session) =>
      html`<${Button} onClick=${() => setEnding(session)}>End<//>` },
  ].filter(Boolean);
  const end = async () => {
    await server(app, "DELETE", path`/users/${user}/sessions/${lastPart(ending.id)}`);
    pages.reload();
  };
  return html`<${Panel} title="Sessions" isFlush>
    <${Loaded} state=${pages} empty=${signedOut}>${(rows) => html`
      <${Table} label="Sessions" rows=${rows} keyOf=${(session) => session.id} columns=${columns} />
      <${Pager} pages=${pages} noun="session" />`}<//>
    ${ending && html`<${Confirm} title="End this session?" action="End the session" isDangerous run=${end}
      done="The session has ended" onClose=${() => setEnding(null)}>
      <p>The device that signed in <${Time} at=${ending.created_at} /> has to sign in again.
        Its sockets close at once.</p><//>`}
  <//>`;
}

const deviceColumns = [
  { title: "Device", kind: "main", cell: (token) => html`<code>${token.device_id}</code>` },
  { title: "Type", cell: (token) => html`<${Badge}>${token.type}<//>` },
  { title: "Token of", align: "end", cell: (token) => html`<${Time} at=${token.updated_at} />` },
];

/** The devices with a push token. */
export const Devices = ({ tokens }) => html`<${Panel} title="Devices" isFlush>${tokens.length
  ? html`<${Table} label="Devices" rows=${tokens} keyOf=${(token) => `${token.type} ${token.device_id}`}
    columns=${deviceColumns} />`
  : html`<${Empty} title="No device takes pushes">A device appears here when it registers a push token.<//>`}<//>`;

const conversationColumns = (app, user) => [
  { title: "Conversation", kind: "main", cell: (row) => html`<span class="one-line">
      <${RowLink} href=${link("apps", app, "conversations", lastPart(row.id))}><code>${shortID(row.id)}</code><//>
      ${row.participants.length === 0 && html` <${Badge}>left<//>`}</span>` },
  { title: "With", kind: "wide", cell: (row) =>
      joined(row.participants.filter((one) => one.user_id !== user).map((one) => one.display_name || one.user_id), 4) },
  { title: "Unread", align: "end", cell: (row) =>
      row.unread_message_count > 0 ? html`<${Badge} tone="accent">${number(row.unread_message_count)}<//>`
        : html`<span class="quiet">0</span>` },
  { title: "Last message", align: "end", cell: (row) => html`<${Time} at=${row.last_message?.sent_at} />` },
];

const alone = html`<${Empty} title="No conversations" icon="conversations">The user takes part in none.<//>`;

/** The conversations on the user's list, as the user sees them. */
export function Conversations({ app, user }) {
  const pages = usePages((after, signal) => serverPages(app, path`/users/${user}/conversations`, {
    query: { page_size: 10, sort_by: "last_message", from_id: after }, signal,
  }), [app, user]);
  return html`<${Panel} title="Conversations" note="As the user sees them" isFlush>
    <${Loaded} state=${pages} empty=${alone}>${(rows) => html`
      <${Table} label="Conversations" rows=${rows} keyOf=${(row) => row.id} columns=${conversationColumns(app, user)} />
      <${Pager} pages=${pages} noun="conversation" />`}<//>
  <//>`;
}

function Blocking({ app, user, onClose, done }) {
  const [other, setOther] = useState("");
  const action = useAction(() => server(app, "POST", path`/users/${user}/blocks`, { body: { user_id: other.trim() } }));
  const block = async () => {
    if (!(await action.run())) return;
    toast(`${other.trim()} is blocked by ${user}`);
    done();
    onClose();
  };
  return html`<${Dialog} title=${`Block a user for ${user}`} onClose=${onClose}>
    <${Form} onSubmit=${block} action=${action} submit="Block" isDisabled=${!other.trim()} onCancel=${onClose}>
      <${TextField} label="User id" value=${other} onChange=${setOther} autofocus
        hint="Neither sees new messages or new conversations of the other. The devices of the user are told." />
    <//>
  <//>`;
}

const unblocked = html`<${Empty} title="Nobody is blocked">Users whom this user blocks appear here.<//>`;

/** The users whom the user has blocked. */
export function Blocks({ app, user }) {
  const isOperator = useIsOperator();
  const [isBlocking, setBlocking] = useState(false);
  const [freed, setFreed] = useState(null);
  const pages = usePages((after, signal) =>
    serverPages(app, path`/users/${user}/blocks`, { query: { page_size: 100, from_id: after }, signal }), [app, user]);
  const columns = [
    { title: "User", kind: "main", cell: (one) => html`<${UserLink} app=${app} user=${one.user_id}
      name=${one.display_name} />` },
    isOperator && { title: "Actions", isHidden: true, kind: "actions", cell: (one) =>
      html`<${Button} onClick=${() => setFreed(one)}>Unblock<//>` },
  ].filter(Boolean);
  const unblock = async () => {
    await server(app, "DELETE", path`/users/${user}/blocks/${freed.user_id}`);
    pages.reload();
  };
  return html`<${Panel} title="Blocks" isFlush
    actions=${isOperator && html`<${Button} icon="plus" onClick=${() => setBlocking(true)}>Block<//>`}>
    <${Loaded} state=${pages} empty=${unblocked}>${(rows) => html`
      <${Table} label="Blocked users" rows=${rows} keyOf=${(one) => one.user_id} columns=${columns} />
      <${Pager} pages=${pages} noun="user" />`}<//>
    ${isBlocking && html`<${Blocking} ...${{ app, user }} done=${pages.reload} onClose=${() => setBlocking(false)} />`}
    ${freed && html`<${Confirm} title=${`Unblock ${freed.user_id}?`} action="Unblock" run=${unblock}
      done=${`${freed.user_id} is not blocked any more`} onClose=${() => setFreed(null)}>
      <p><strong>${user}</strong> and <strong>${freed.user_id}</strong> see new messages of each other again.
        What was hidden stays hidden.</p><//>`}
  <//>`;
}
