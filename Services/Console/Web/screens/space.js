// SPDX-License-Identifier: Apache-2.0
import { report } from "../api.js";
import { bytes, counted, dayText, duration, number } from "../format.js";
import { Button, SelectField } from "../forms.js";
import { useData } from "../hooks.js";
import { Badge, Empty, Facts, Loaded, Page, Panel, RowLink, Table, Time } from "../parts.js";
import { link } from "../router.js";
import { html, useState } from "../vendor/preact-htm.js";

/** The tables that are shown before the button that shows all. */
const first = 12;

/** A share of a whole as a bar. */
const Share = ({ value, of }) => html`<span class="share" aria-hidden="true">
  <i style=${{ width: `${of > 0 ? Math.max(0.5, (100 * value) / of) : 0}%` }}></i></span>`;

const Sized = ({ value, of }) => html`
  <span class="sized">${bytes(value)}<${Share} value=${value ?? 0} of=${of} /></span>`;

const bySize = (key) => (one, other) => (other[key] ?? 0) - (one[key] ?? 0);

const Totals = ({ data }) => html`<${Panel} title="Retention">
  <${Facts} items=${[
    ["Database", bytes(data.database_bytes)],
    data.wal_bytes != null && ["Write-ahead log", bytes(data.wal_bytes)],
    ["Changes are kept for", duration(data.retention_seconds)],
    ["Oldest change", html`<${Time} at=${data.oldest_change_at} none="There is none." />`],
    ["Last backup", data.last_backup_at ? html`<${Time} at=${data.last_backup_at} />`
      : html`<${Badge} tone="warn">None<//> <code>deploy/backup.sh</code> has recorded none.`],
    ["Last archived segment", data.last_archived_at ? html`<${Time} at=${data.last_archived_at} />`
      : html`<${Badge} tone="warn">Never<//> The database archives no write-ahead log.`],
  ]} />
<//>`;

const Sweeps = ({ sweeps }) => html`<${Panel} title="When data is deleted" isFlush>
  <${Table} label="When data is deleted" rows=${sweeps} keyOf=${(sweep) => sweep.what} columns=${[
    { title: "Data", kind: "main", cell: (sweep) => sweep.what },
    { title: "Deleted after", cell: (sweep) => duration(sweep.after) },
  ]} />
<//>`;

function Apps({ apps }) {
  const largest = Math.max(0, ...apps.map((app) => app.bytes_estimate ?? 0));
  return html`<${Panel} title="Apps" note="Estimated from the statistics of the database." isFlush>
    ${apps.length === 0 ? html`<${Empty} title="There are no apps yet" icon="apps" />` : html`
    <${Table} label="Space by app" rows=${[...apps].sort(bySize("bytes_estimate"))} keyOf=${(app) => app.id} columns=${[
      { title: "App", kind: "main", cell: (app) => html`<${RowLink} href=${link("apps", app.id)}>${app.name}<//>` },
      { title: "Messages", align: "end", cell: (app) => number(app.messages) },
      { title: "Space", align: "end", kind: "bar", cell: (app) => html`
        <${Sized} value=${app.bytes_estimate} of=${largest} />` },
      { title: "Content", align: "end", cell: (app) => bytes(app.content_bytes) },
    ]} />`}
  <//>`;
}

function Tables({ tables }) {
  const [isWhole, setWhole] = useState(false);
  const sorted = [...tables].sort(bySize("bytes"));
  const largest = sorted[0]?.bytes ?? 0;
  const rest = sorted.length - first;
  return html`<${Panel} title="Tables" note="Rows are the database's estimates." isFlush>
    <${Table} label="Space by table" rows=${isWhole ? sorted : sorted.slice(0, first)}
      keyOf=${(table) => `${table.schema}.${table.table}`}
      columns=${[
        { title: "Table", kind: "main", cell: ({ schema, table }) => html`
          <code><span class="quiet">${schema}.</span>${table}</code>` },
        { title: "Rows", align: "end", cell: (table) => number(table.rows) },
        { title: "Data", align: "end", kind: "minor", cell: (table) => bytes(table.table_bytes) },
        { title: "Indexes", align: "end", kind: "minor", cell: (table) => bytes(table.index_bytes) },
        { title: "Total", align: "end", kind: "bar", cell: (table) => html`
          <${Sized} value=${table.bytes} of=${largest} />` },
      ]} />
    ${rest > 0 && !isWhole && html`<footer class="pager">
      <${Button} onClick=${() => setWhole(true)}>Show ${counted(rest, "smaller table")}<//></footer>`}
  <//>`;
}

/** The partitions of the log, by time: the growth of the recent past. */
function Partitions({ partitions }) {
  const largest = Math.max(0, ...partitions.map((one) => one.bytes));
  return html`<${Panel} title="Growth of the log"
    note="One partition a week. The oldest is dropped when its time is over." isFlush>
    ${partitions.length === 0 ? html`<${Empty} title="The log has no partitions yet" icon="space" />` : html`
    <${Table} label="Partitions of the log" rows=${partitions} keyOf=${(one) => one.name} columns=${[
      { title: "Period", kind: "main", cell: ({ name, from, to }) => html`
        <span title=${name}>${from ? `${dayText(from)} – ${dayText(to)}` : "Other times"}</span>` },
      { title: "Space", align: "end", kind: "bar", cell: (one) => html`<${Sized} value=${one.bytes} of=${largest} />` },
    ]} />`}
  <//>`;
}

/** The space of a database by app and by table, its growth, and the times after which data is deleted. */
export function Screen() {
  const [database, setDatabase] = useState("");
  const databases = useData((signal) => report("databases", {}, signal), []);
  const state = useData((signal) => report("space", { database }, signal), [database]);
  const refresh = html`<${Button} isBusy=${state.isLoading} onClick=${state.reload}>Refresh<//>`;
  const all = databases.data ?? [];
  return html`<${Page} title="Space and retention" actions=${refresh}>
    ${all.length > 1 && html`<${SelectField} label="Database" value=${database || all[0].name} onChange=${setDatabase}
      options=${all.map(({ name, bytes: size }) => [name, size == null ? `${name} (away)` : name])} />`}
    <${Loaded} state=${state} lines=${12}>${(data) => html`
      <div class="columns">
        <${Totals} data=${data} />
        ${data.sweeps.length > 0 && html`<${Sweeps} sweeps=${data.sweeps} />`}
      </div>
      <div class="columns">
        <${Apps} apps=${data.apps} />
        <${Partitions} partitions=${data.log_partitions} />
      </div>
      <${Tables} tables=${data.tables} />`}<//>
  <//>`;
}
