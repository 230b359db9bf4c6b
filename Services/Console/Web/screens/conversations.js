// SPDX-License-Identifier: Apache-2.0
import { report, server } from "../api.js";
import { AppPage } from "../app-page.js";
import { Button, Form, SearchField, SelectField, TextField } from "../forms.js";
import { lastPart, number, shortID } from "../format.js";
import { useData, usePages } from "../hooks.js";
import { serverPages } from "../lists.js";
import { joined } from "../model/live.js";
import { Badge, Empty, Loaded, Pager, Panel, RowLink, Table, Time } from "../parts.js";
import { link, navigate } from "../router.js";
import { html, useEffect, useState } from "../vendor/preact-htm.js";

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** The rows up to which further pages are read without being asked for. */
const enough = 20;

/** The conditions of a query, and how a parameter is named for them. */
const conditions = [["equals", "is"], ["prefix", "begins with"], ["exists", "exists"]];

/** An item of the Server API in the form of the report. */
const itemOf = (conversation) => ({
  id: lastPart(conversation.id), created_at: conversation.created_at, last_at: null,
  participants: conversation.participants.slice(0, 5).map((one) => one.user_id ?? one),
  participant_count: conversation.participants.length,
});

async function find(app, { property, condition, value }, after, signal) {
  const wanted = condition === "exists" ? "true" : value;
  const query = { page_size: 50, from_id: after, [`${property}.${condition}`]: wanted };
  const page = await serverPages(app, "/conversations", { query, signal });
  return { ...page, items: page.items.map(itemOf) };
}

/** A form that asks for a value of the metadata at a path that the app has indexed. */
function MetadataQuery({ indexes, query, setQuery }) {
  const ready = indexes.filter((index) => index.state === "ready");
  const [property, setProperty] = useState(ready[0].property);
  const [condition, setCondition] = useState("equals");
  const [value, setValue] = useState("");
  const isExists = condition === "exists";
  return html`<div class="query">
    <${Form} onSubmit=${() => setQuery({ property, condition, value })} submit="Find" isDisabled=${!isExists && !value}
      onCancel=${query ? () => setQuery(null) : undefined}>
      <${SelectField} label="Metadata" options=${ready.map((index) => [index.property, index.property])}
        value=${property} onChange=${setProperty} />
      <${SelectField} label="Condition" options=${conditions} value=${condition} onChange=${setCondition} />
      ${!isExists && html`<${TextField} label="Value" value=${value} onChange=${setValue} />`}
    <//>
  </div>`;
}

/** The first participants of a conversation, and how many more there are. */
const peopleOf = ({ participants, participant_count: count }) => (count > participants.length
  ? `${participants.join(", ")} and ${number(count - participants.length)} more` : joined(participants, 5));

const columns = (app) => [
  { title: "Conversation", kind: "main", cell: (row) => html`<span class="one-line">
      <${RowLink} href=${link("apps", app, "conversations", row.id)}><code title=${row.id}>${shortID(row.id)}</code><//>
      ${row.deleted && html` <${Badge} tone="bad">deleted<//>`}</span>` },
  { title: "Participants", kind: "wide", cell: (row) => html`<span class="people-names">${peopleOf(row)}</span>` },
  { title: "Messages", align: "end", cell: (row) => number(row.messages) },
  { title: "Position", align: "end", cell: (row) => number(row.position) },
  { title: "Last activity", align: "end", cell: (row) => html`<${Time} at=${row.last_at} />` },
  { title: "Created", align: "end", cell: (row) => html`<${Time} at=${row.created_at} />` },
];

/** Leads to the conversation whose id, or whose address, was entered. */
function OpenByID({ app }) {
  const [text, setText] = useState("");
  const id = uuid.exec(text)?.[0].toLowerCase();
  const go = (event) => {
    event.preventDefault();
    if (id) navigate(link("apps", app, "conversations", id));
  };
  return html`<form class="open-by-id" onSubmit=${go}>
    <${SearchField} label="Open by id" value=${text} onChange=${setText}
      error=${text && !id && text.length > 35 ? "No UUID" : undefined} />
    <${Button} type="submit" disabled=${!id}>Open<//></form>`;
}

export function Screen({ params: { app } }) {
  const [query, setQuery] = useState(null);
  const indexes = useData((signal) => server(app, "GET", "/indexes", { signal }), [app]);
  const pages = usePages((after, signal) => (query
    ? find(app, query, after, signal)
    : report("conversations", { app, after, limit: 50 }, signal)), [app, query]);
  // A page may be short, or even empty, before the list ends.
  useEffect(() => {
    if (pages.data?.length < enough && pages.hasNext && !pages.isLoading && !pages.error) pages.more();
  }, [pages.data?.length, pages.hasNext, pages.isLoading]);
  const hasIndexes = indexes.data?.some((index) => index.state === "ready");
  const empty = query
    ? html`<${Empty} title="No conversation has this value" icon="search"
        action=${html`<${Button} onClick=${() => setQuery(null)}>Show all<//>`} />`
    : html`<${Empty} title="No conversations yet" icon="conversations">
        They appear here when a user or the app's server creates one.<//>`;
  return html`<${AppPage} id=${app} tab="conversations" actions=${html`<${OpenByID} app=${app} />
      <${Button} onClick=${pages.reload}>Refresh<//>`}>
    ${hasIndexes && html`<${Panel} title="Find by metadata">
      <${MetadataQuery} indexes=${indexes.data} ...${{ query, setQuery }} /><//>`}
    <${Panel} title=${query ? "Found" : "Newest activity first"} isFlush>
      <${Loaded} state=${pages} empty=${empty} isEmpty=${(rows) => rows.length === 0 && !pages.hasNext}>
        ${(rows) => html`
        <${Table} label="Conversations" rows=${rows} keyOf=${(row) => row.id} columns=${columns(app)} />
        <${Pager} pages=${pages} noun="conversation" />`}<//>
    <//>
  <//>`;
}
