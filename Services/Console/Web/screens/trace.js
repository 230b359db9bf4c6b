// SPDX-License-Identifier: Apache-2.0
import { AppPage } from "../app-page.js";
import { fileName, save } from "../download.js";
import { Button, SearchField, SelectField } from "../forms.js";
import { bytes, counted, duration, exactTime, number } from "../format.js";
import { useIsOperator, useNow } from "../hooks.js";
import { Icon } from "../icons.js";
import { JSONView } from "../json.js";
import { filtered, keptPackets, ndjson } from "../model/packets.js";
import { Badge, Copy, Empty, Failure, Panel } from "../parts.js";
import { link } from "../router.js";
import { html, useMemo, useState } from "../vendor/preact-htm.js";
import { useTrace } from "./trace-stream.js";
import { useIsNarrow, VirtualList } from "./virtual-list.js";

const minutes = [["1", "1 minute"], ["2", "2 minutes"], ["5", "5 minutes"], ["10", "10 minutes"]];
const directions = [["", "Both directions"], ["in", "From the client"], ["out", "To the client"]];
const arrows = { in: "→", out: "←", event: "•" };
const directionNames = { in: "from the client", out: "to the client", event: "socket" };

const milliseconds = (at) => `${exactTime(at)}.${String(new Date(at).getMilliseconds()).padStart(3, "0")}`;

/** The time that is left, counted down. */
function Remaining({ endsAt }) {
  const now = useNow(1000);
  return html`<span class="remaining">${duration(Math.max(0, (endsAt - now) / 1000))} left</span>`;
}

const typesOf = (entries) => [...new Set(entries.map((entry) => entry.type))].sort();
const socketsOf = (entries) => [...new Set(entries.map((entry) => entry.socket))].filter(Boolean).sort();

function Filters({ entries, filter, setFilter }) {
  const change = (name) => (value) => setFilter({ ...filter, [name]: value });
  const sockets = socketsOf(entries);
  return html`<div class="trace-filters">
    <${SearchField} label="Filter packets by their text" value=${filter.text} onChange=${change("text")} />
    <${SelectField} label="Direction" isHidden options=${directions} value=${filter.direction}
      onChange=${change("direction")} />
    <${SelectField} label="Type" isHidden value=${filter.type} onChange=${change("type")}
      options=${[["", "All types"], ...typesOf(entries).map((type) => [type, type])]} />
    ${sockets.length > 1 && html`<${SelectField} label="Socket" isHidden value=${filter.socket}
      onChange=${change("socket")}
      options=${[["", "All sockets"], ...sockets.map((socket) => [socket, `Socket ${socket}`])]} />`}
  </div>`;
}

const Row = ({ entry }) => html`<div class=${`packet ${entry.direction}`}>
  <span class="packet-time">${milliseconds(entry.at)}</span>
  <span class="packet-arrow" title=${directionNames[entry.direction]}>
    <span aria-hidden="true">${arrows[entry.direction]}</span>
    <span class="unseen">${directionNames[entry.direction]}</span></span>
  <span class="packet-type" title=${`socket ${entry.socket}`}>${entry.type}</span>
  <span class="packet-socket quiet" title=${`socket ${entry.socket}`}>${entry.socket.slice(-6)}</span>
  <span class="packet-summary">${entry.summary}</span>
  <span class="packet-size quiet">${entry.bytes === null ? "" : bytes(entry.bytes)}</span>
</div>`;

const Detail = ({ entry, onClose }) => html`<${Panel} title=${`${entry.type}, ${directionNames[entry.direction]}`}
  note=${`${milliseconds(entry.at)} · socket ${entry.socket || "unknown"}`}
  actions=${html`<${Copy} text=${JSON.stringify(entry.line)} label="Copy" isVisible />
    <button type="button" class="copy" onClick=${onClose}><${Icon} name="close" />
      <span class="unseen">Close</span></button>`}>
  <div class="packet-detail"><${JSONView} value=${entry.line.packet ?? entry.line} depth=${4} /></div>
<//>`;

const unfiltered = { text: "", direction: "", type: "", socket: "" };

function Packets({ trace, user }) {
  const isNarrow = useIsNarrow();
  const [filter, setFilter] = useState(unfiltered);
  const [chosen, setChosen] = useState(null);
  const { entries, held, count, isPaused } = trace;
  const waiting = held.length;
  const shown = useMemo(() => filtered(entries, filter), [entries, filter]);
  const text = () => ndjson(shown);
  const download = () => save(`trace-${fileName(user)}.ndjson`, [text()], "application/x-ndjson");
  const choose = (event, entry) => event.key === "Enter" && setChosen(entry);
  const note = [
    shown.length === entries.length ? counted(entries.length, "packet")
      : `${number(shown.length)} of ${counted(entries.length, "packet")}`,
    count > entries.length + waiting && `the last ${number(keptPackets)} are kept`,
  ].filter(Boolean).join("; ");
  return html`<div class=${`trace ${chosen ? "has-detail" : ""}`}>
    <${Panel} title="Packets" note=${note} isFlush actions=${html`
        <${Button} onClick=${trace.pause} aria-pressed=${isPaused}>
          ${isPaused ? `Resume${waiting ? ` (${number(waiting)} new)` : ""}` : "Pause"}<//>
        <${Copy} text=${text} label="Copy as NDJSON" isVisible />
        <${Button} disabled=${!shown.length} onClick=${download}>Download<//>
        <${Button} onClick=${trace.clear}>Clear<//>`}>
      <${Filters} ...${{ entries, filter, setFilter }} />
      ${shown.length === 0
        ? html`<${Empty} title=${entries.length ? "No packet matches the filter" : "No packets yet"} icon="try"
            action=${entries.length > 0 && html`<${Button} onClick=${() => setFilter(unfiltered)}>Show all<//>`}>
            ${entries.length === 0 && "They appear here as the user's sockets send and receive them."}<//>`
        : html`<${VirtualList} label="Packets" class="packets" rows=${shown} rowHeight=${isNarrow ? 52 : 30}
          isFollowing=${!isPaused}
            keyOf=${(entry) => entry.number} onKey=${choose}
            attributesOf=${(entry) => ({ "aria-selected": entry === chosen, onClick: () => setChosen(entry) })}>
            ${(entry) => html`<${Row} entry=${entry} />`}<//>`}
    <//>
    ${chosen && html`<${Detail} entry=${chosen} onClose=${() => setChosen(null)} />`}
  </div>`;
}

const states = {
  idle: null, connecting: ["quiet", "Starting"], open: ["good", "Tracing"], ended: ["quiet", "Ended"],
  broken: ["bad", "Interrupted"],
};

function Controls({ trace }) {
  const [length, setLength] = useState("5");
  const isRunning = trace.state === "connecting" || trace.state === "open";
  const begin = (event) => {
    event.preventDefault();
    trace.start(Number(length) * 60);
  };
  return html`<form class="trace-controls" onSubmit=${begin}>
    ${isRunning
      ? html`${trace.endsAt && html`<${Remaining} endsAt=${trace.endsAt} />`}
        <${Button} kind="danger" onClick=${trace.stop}>Stop<//>`
      : html`<${SelectField} label="Length" isHidden options=${minutes} value=${length} onChange=${setLength} />
          <${Button} kind="primary" type="submit">${trace.state === "idle" ? "Start" : "Start again"}<//>`}
  </form>`;
}

/** Gateways whose part of the trace did not begin, or broke off. */
const Missing = ({ gateways }) => gateways.filter(({ error }) => error).map(({ address, error }) => html`
  <p key=${address} class="note warn" role="status">The trace of the gateway ${address} is incomplete: ${error}</p>`);

export function Screen({ params: { app, user } }) {
  const isOperator = useIsOperator();
  const trace = useTrace(app, user);
  const state = states[trace.state];
  return html`<${AppPage} id=${app} tab="users" title="Trace" trail=${[[user, link("apps", app, "users", user)]]}
    note=${state && html`<span role="status"><${Badge} tone=${state[0]}>${state[1]}<//></span>`}
    actions=${isOperator && html`<${Controls} trace=${trace} />`}>
    ${!isOperator
      ? html`<${Panel}><${Empty} title="Only operators may trace" icon="key">
          A trace shows what a user sends and receives, so it needs the role operator.<//><//>`
      : html`
        ${trace.error && html`<${Failure} error=${trace.error} />`}
        <${Missing} gateways=${trace.gateways} />
        ${trace.state === "idle"
          ? html`<${Panel}><${Empty} title=${`Trace the sockets of ${user}`} icon="try">
              Every packet of the user's sockets appears here as it goes, both ways, for ten minutes at most.
              Packets have the text of messages; the trace is noted in the audit log.<//><//>`
          : html`<${Packets} trace=${trace} user=${user} />`}`}
  <//>`;
}
