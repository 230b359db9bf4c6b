// SPDX-License-Identifier: Apache-2.0
import { path, report, server } from "../api.js";
import { AppPage } from "../app-page.js";
import { Button, Confirm } from "../forms.js";
import { counted, number, shortID } from "../format.js";
import { useData, useIsOperator } from "../hooks.js";
import { joined } from "../model/live.js";
import { Badge, Empty, Failure, ID, Loaded, Panel, Time } from "../parts.js";
import { link } from "../router.js";
import { html, useState } from "../vendor/preact-htm.js";
import { Activity } from "./conversation-activity.js";
import { useFeed, useLive, useThrottled } from "./conversation-live.js";
import { Messages } from "./conversation-messages.js";
import { Metadata } from "./conversation-metadata.js";
import { People } from "./conversation-people.js";
import { useMessages } from "./message-window.js";

const states = {
  connecting: ["quiet", "Connecting"], open: ["good", "Live"], waiting: ["warn", "Reconnecting"],
  ended: ["bad", "Not live"],
};

/** Says whether changes are shown as they come. */
function Liveness({ state, error }) {
  const [tone, text] = states[state];
  return html`<span role="status" class="liveness" title=${error?.message}><${Badge} tone=${tone}>${text}<//></span>`;
}

const titleOf = (id, people) => {
  const names = people.filter((person) => !person.left_position).map((person) => person.display_name || person.user_id);
  return names.length ? joined(names, 3) : `Conversation ${shortID(id)}`;
};

const Summary = ({ facts, position }) => html`<dl class="talk-facts">${[
  ["Position", html`<strong>#${number(position)}</strong>`],
  ["Messages", number(facts.messages)],
  ["Participants", number(facts.participant_count)],
  ["Created", html`<${Time} at=${facts.created_at} />`],
  ["Distinct", facts.distinct ? "yes" : "no"],
  facts.deleted_at && ["Deleted", html`<${Time} at=${facts.deleted_at} />`],
  ["Id", html`<${ID} id=${facts.id} isFull />`],
].filter(Boolean).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

const Deletion = ({ app, facts, title, onClose }) => html`
  <${Confirm} title="Delete this conversation?" action="Delete for all" isDangerous word=${shortID(facts.id)}
    onClose=${onClose} done="The conversation was deleted for all"
    run=${() => server(app, "DELETE", path`/conversations/${facts.id}`)}>
    <p>The conversation of <strong>${title}</strong> goes for all participants, with
      ${" "}${counted(facts.messages, "message")} and all its metadata. This cannot be undone.</p>
  <//>`;

/** The last position that was read or came. */
function usePosition(feed, read) {
  const [live, setLive] = useState(0);
  useFeed(feed, { changed: (changes) => setLive((old) => Math.max(old, ...changes.map((change) => change.position))) });
  return Math.max(live, read ?? 0);
}

function Live({ app, conversation, live, facts, list, nameOf }) {
  const isGone = Boolean(facts.deleted_at);
  return html`<div class="talk">
    <div class="talk-main">
      <${Panel} title="Messages" isFlush>${isGone
        ? html`<${Empty} title="The messages went with the conversation" icon="conversations" />`
        : html`<${Messages} ...${{ app, conversation, list, nameOf }} typing=${live.typing}
          total=${facts.messages} />`}<//>
      ${!isGone && html`<${Metadata} ...${{ app, conversation }} feed=${live.feed} />`}
    </div>
    <div class="talk-side">
      <${People} ...${{ app, conversation }} people=${facts.participants} count=${facts.participant_count}
        isDeleted=${isGone} />
      <${Activity} ...${{ app, conversation }} feed=${live.feed} show=${isGone ? undefined : list.show} />
    </div>
  </div>`;
}

const isMissing = ({ data, error }) => data === undefined && error?.status === 404;

/** The kinds of changes after which the report is read again; metadata and parts are not in it. */
const reported = new Set([
  "participants_changed", "conversation_deleted", "message_created", "message_deleted", "receipts", "all_read",
]);

export function Screen({ params: { app, conversation } }) {
  const isOperator = useIsOperator();
  const [isDeleting, setDeleting] = useState(false);
  const live = useLive(app, conversation);
  const state = useData((signal) => report("conversation", { app, conversation }, signal), [app, conversation]);
  const reload = useThrottled(state.reload, 2000);
  useFeed(live.feed, {
    lost: reload,
    changed: (changes) => changes.some((change) => reported.has(change.kind)) && reload(),
  });
  const list = useMessages(app, conversation, live.feed);
  const position = usePosition(live.feed, state.data?.position);
  const people = state.data?.participants ?? [];
  const names = new Map(people.map((person) => [person.user_id, person.display_name]));
  const nameOf = (user) => names.get(user) || user;
  const title = titleOf(conversation, people);
  const canDelete = isOperator && state.data && !state.data.deleted_at;
  return html`<${AppPage} id=${app} tab="conversations" title=${title}
    note=${state.data?.deleted_at ? html`<${Badge} tone="bad">Deleted<//>` : html`<${Liveness} ...${live} />`}
    actions=${canDelete && html`<${Button} kind="danger" onClick=${() => setDeleting(true)}>Delete<//>`}>
    ${live.state === "ended" && live.error && !isMissing(state) && html`<${Failure} error=${live.error} />`}
    ${isMissing(state) ? html`<${Panel}><${Empty} title="No such conversation" icon="conversations"
        action=${html`<a class="button" href=${link("apps", app, "conversations")}>All conversations</a>`}>
        The app has none with the id <code>${conversation}</code>.<//><//>`
      : html`<${Loaded} state=${state}>${(facts) => html`
      <${Panel}><${Summary} ...${{ facts, position }} /><//>
      <${Live} ...${{ app, conversation, live, facts, list, nameOf }} />
      ${isDeleting && html`<${Deletion} ...${{ app, facts, title }} onClose=${() => setDeleting(false)} />`}`}<//>`}
  <//>`;
}
