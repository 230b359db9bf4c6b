// SPDX-License-Identifier: Apache-2.0
import { get } from "../api.js";
import { Chart } from "../chart.js";
import { bytes, counted, duration, latency, none, number, quantity } from "../format.js";
import { useData } from "../hooks.js";
import { Icon } from "../icons.js";
import { Badge, Empty, Loaded, Page, Panel, Table, Time } from "../parts.js";
import { link } from "../router.js";
import { html } from "../vendor/preact-htm.js";

/** The time between two readings, in milliseconds. */
const interval = 5000;

const severities = { critical: "bad", page: "bad", error: "bad", warning: "warn" };

const Alerts = ({ alerts, source }) => {
  const note = source === "own"
    ? "Found by the console itself, without Prometheus." : "From Prometheus and the console.";
  if (alerts.length === 0) {
    return html`<p class="calm"><${Icon} name="check" /><b>No alert fires.</b><span class="quiet">${note}</span></p>`;
  }
  return html`<${Panel} title=${counted(alerts.length, "alert")} note=${note} isFlush>
    <ul class="alerts">${alerts.map(({ name, severity, summary, since }) => html`
      <li key=${`${name} ${summary}`}><${Badge} tone=${severities[severity] ?? "warn"}>${severity}<//>
        <p><b>${name}</b> ${summary}</p><span class="quiet"><${Time} at=${since} /></span></li>`)}</ul>
  <//>`;
};

const Tile = ({ name, value, note, tone }) => html`<div class=${`tile ${tone ?? ""}`}>
  <dt>${name}</dt><dd>${value}</dd>${note && html`<dd class="tile-note">${note}</dd>`}</div>`;

const webhooksNote = (webhooks) =>
  !webhooks ? "no instance of webhooks"
  : !webhooks.waiting ? "nothing waits"
  : `oldest ${duration(webhooks.oldest_seconds)}, ${number(webhooks.failing)} failing`;

function Tiles({ data }) {
  const { webhooks, latency: times } = data;
  const ready = data.instances.filter((one) => one.ready).length;
  const known = data.instances.length + (data.unreachable?.length ?? 0);
  const isBehind = webhooks?.failing > 0 || webhooks?.oldest_seconds > 60;
  return html`<dl class="tiles">
    <${Tile} name="Instances ready" value=${`${ready} / ${known}`} tone=${ready < known ? "bad" : ""} />
    <${Tile} name="Open sockets" value=${number(data.sockets)} />
    <${Tile} name="Messages a second" value=${quantity(data.messages_per_second)} />
    <${Tile} name="Median latency" value=${latency(times.p50_ms)} note=${`p99 ${latency(times.p99_ms)}`} />
    <${Tile} name="Webhooks waiting" value=${number(webhooks?.waiting)} tone=${isBehind ? "warn" : ""}
      note=${webhooksNote(webhooks)} />
    <${Tile} name="Database" value=${bytes(data.database_bytes)}
      note=${html`<a href=${link("space")}>Space and retention</a>`} />
  </dl>`;
}

const statuses = { passing: "good", failing: "bad" };

const Checks = ({ checks }) => html`<ul class="checks">${checks.map(({ name, status, reason, milliseconds }) => html`
  <li key=${name} title=${`${name}: ${reason ?? status}`}>
    <i class=${`dot ${statuses[status] ?? "bad"}`}></i>${name}
    ${" "}<span class="quiet">${reason ?? latency(milliseconds)}</span></li>`)}</ul>`;

const State = ({ instance }) =>
  instance.isUnreachable ? html`<${Badge} tone="bad">Unreachable<//>`
  : html`<${Badge} tone=${instance.ready ? "good" : "bad"}>${instance.ready ? "Ready" : "Not ready"}<//>`;

const columns = [
  { title: "Service", kind: "main", cell: (one) => html`<b>${one.kind}</b>` },
  { title: "State", cell: (one) => html`<${State} instance=${one} />` },
  { title: "Address", cell: (one) => html`<code>${one.address}</code>` },
  { title: "Version", cell: (one) => html`<code>${one.version ?? none}</code>` },
  { title: "Started", kind: "minor", cell: (one) => html`<${Time} at=${one.started_at} />` },
  { title: "Checks", kind: "wide", cell: (one) => (one.isUnreachable
    ? one.reason : html`<${Checks} checks=${one.checks} />`) },
];

/** All instances. Those that do not answer come first, then those that are not ready. */
const sorted = ({ instances, unreachable = [] }) =>
  [...unreachable.map((one) => ({ ...one, isUnreachable: true, ready: false })), ...instances].sort((one, other) =>
    Boolean(other.isUnreachable) - Boolean(one.isUnreachable) || one.ready - other.ready
    || one.kind.localeCompare(other.kind) || one.address.localeCompare(other.address));

const Charts = ({ series }) => html`<div class="charts">
  <${Panel}><${Chart} label="Messages a second" points=${series} format=${quantity}
    lines=${[{ key: "messages_per_second", name: "Messages a second" }]} /><//>
  <${Panel}><${Chart} label="Latency" points=${series} format=${latency}
    lines=${[{ key: "p50_ms", name: "Median" }, { key: "p99_ms", name: "99th percentile" }]} /><//>
  <${Panel}><${Chart} label="Open sockets" points=${series} format=${number}
    lines=${[{ key: "sockets", name: "Sockets" }]} /><//>
</div>`;

const noServices = html`<${Empty} title="No services are configured" icon="overview">
  Set <code>STRATA_CONSOLE_INSTANCES</code>, such as <code>gateway=gateway:9100</code>, and start the console
  again.<//>`;

/** The state of the whole system, renewed every five seconds. */
export function Screen() {
  const state = useData((signal) => get("/api/overview", undefined, signal), [], { every: interval });
  const versions = new Set(state.data?.instances.map((one) => one.version).filter(Boolean));
  const note = state.data && html`
    <span class="live quiet"><i></i>Updated <${Time} at=${state.data.at} /></span>`;
  return html`<${Page} title="Overview" note=${note}>
    <${Loaded} state=${state} lines=${12}>${(data) => html`
      <${Alerts} alerts=${data.alerts} source=${data.alerts_source} />
      <${Tiles} data=${data} />
      <${Charts} series=${data.series} />
      <${Panel} title="Services" isFlush
        note=${versions.size > 1 ? `${versions.size} versions run side by side` : undefined}>
        ${sorted(data).length === 0 ? noServices : html`<${Table} label="Services" rows=${sorted(data)}
          columns=${columns} keyOf=${(one) => `${one.kind} ${one.address}`} />`}
      <//>`}<//>
  <//>`;
}
