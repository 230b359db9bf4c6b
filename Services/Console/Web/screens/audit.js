// SPDX-License-Identifier: Apache-2.0
import { get } from "../api.js";
import { readApps } from "../chooser.js";
import { exactTime, none } from "../format.js";
import { Button } from "../forms.js";
import { useData, usePages } from "../hooks.js";
import { JSONView } from "../json.js";
import { appName, useNames } from "../names.js";
import { Badge, Empty, Loaded, Page, Pager, Panel, Table, Time } from "../parts.js";
import { link } from "../router.js";
import { html } from "../vendor/preact-htm.js";

const pageSize = 50;

/** An outcome is `ok`, `refused`, the status of a refusal, or null if the console ended before it knew. */
const Outcome = ({ outcome }) => html`
  <${Badge} tone=${outcome === "ok" ? "good" : outcome ? "bad" : "warn"}>${outcome ?? "unknown"}<//>`;

const hasDetail = (detail) => detail && Object.keys(detail).length > 0;

const Detail = ({ entry: { target, detail } }) => html`
  ${target && html`<code class="target">${target}</code>`}
  ${hasDetail(detail) && html`<details class="detail"><summary>Details</summary>
    <${JSONView} value=${detail} depth=${1} /></details>`}
  ${!target && !hasDetail(detail) && none}`;

const columns = [
  { title: "Time", cell: ({ at }) => html`<${Time} at=${at} /> <span class="quiet">${exactTime(at)}</span>` },
  { title: "Operator", kind: "main", cell: (entry) => (entry.operator
    ? html`<b>${entry.operator}</b>` : html`<span class="quiet">server</span>`) },
  { title: "Action", cell: (entry) => html`<code>${entry.action}</code>` },
  { title: "App", cell: ({ app }) => (app ? html`<a href=${link("apps", app)}>${appName(app)}</a>` : none) },
  { title: "Target", kind: "wide", cell: (entry) => html`<${Detail} entry=${entry} />` },
  { title: "Outcome", cell: (entry) => html`<${Outcome} outcome=${entry.outcome} />` },
  { title: "Address", cell: (entry) => html`<code class="quiet">${entry.address || none}</code>` },
];

const empty = html`<${Panel}><${Empty} title="Nothing has been changed yet" icon="audit">
  Each change that an operator makes here is listed, with who made it, when and from where.<//><//>`;

/** The changes that operators made, newest first. */
export function Screen() {
  const pages = usePages((after, signal) => get("/api/audit", { after, limit: pageSize }, signal), []);
  // Names are a convenience: without them the list shows ids.
  useData((signal) => readApps(undefined, signal), []);
  useNames();
  const refresh = html`<${Button} isBusy=${pages.isLoading} onClick=${pages.reload}>Refresh<//>`;
  return html`<${Page} title="Audit log" actions=${refresh}
    note=${html`<span class="quiet">Kept for 400 days. Nobody can change an entry.</span>`}>
    <${Loaded} state=${pages} lines=${12} empty=${empty}>${(entries) => html`
      <${Panel} isFlush><${Table} label="Audit log" rows=${entries} columns=${columns} keyOf=${(entry) => entry.id} />
        <${Pager} pages=${pages} noun="entry" nouns="entries" /><//>`}<//>
  <//>`;
}
