// SPDX-License-Identifier: Apache-2.0
import { counted, exactTime, latency } from "../format.js";
import { Code, JSONView } from "../json.js";
import { packetSummary } from "../model/packets.js";
import { Badge, Copy, Empty, Failure, Panel } from "../parts.js";
import { html } from "../vendor/preact-htm.js";

const toneOf = (status) => (status < 300 ? "good" : status < 400 ? "accent" : "bad");

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

function Body({ body }) {
  if (!body) return html`<p class="quiet">No body</p>`;
  const value = parsed(body);
  return html`<div class="answer-body">
    ${value === undefined ? html`<${Code}>${body}<//>` : html`<${JSONView} value=${value} depth=${3} />`}
    <${Copy} text=${value === undefined ? body : JSON.stringify(value, null, 2)} label="Copy the body" isVisible />
  </div>`;
}

/**
 * The answer of a call.
 * @param {{answer: {status: number, headers: object, body: string, milliseconds: number}}} props
 */
const Answer = ({ answer: { status, headers, body, milliseconds } }) => html`
  <p class="answer-line"><${Badge} tone=${toneOf(status)}>${status}<//>
    <span class="quiet">${latency(milliseconds)}</span></p>
  <details class="detail"><summary>${counted(Object.keys(headers).length, "header")}</summary>
    <dl class="headers">${Object.entries(headers).map(([name, value]) => html`
      <div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
  </details>
  <${Body} body=${body} />`;

/** The directions of packets, as the console sees them. */
const arrows = { out: ["→", "sent"], in: ["←", "received"] };

const Packet = ({ direction, at, packet }) => html`<details>
  <summary><span title=${arrows[direction][1]}>${arrows[direction][0]}</span>
    ${" "}<span class="quiet">${exactTime(at)}</span>
    ${" "}<code>${packet?.type ?? ""}</code> ${packetSummary(packet)}</summary>
  <${JSONView} value=${packet} depth=${4} />
</details>`;

/** The packets of a socket, those that were sent and those that came. */
const Packets = ({ packets, closed }) => html`
  ${packets.length === 0 && html`<p class="quiet">No packet came.</p>`}
  ${packets.length > 0 && html`
    <ol class="socket-packets">${packets.map((one, index) => html`<li key=${index}><${Packet} ...${one} /></li>`)}</ol>
    <${Copy} text=${JSON.stringify(packets, null, 2)} label="Copy the packets" isVisible />`}
  ${closed && html`<p class="socket-end"><${Badge} tone="warn">closed<//> The gateway closed the socket:
    ${" "}${[closed.code, closed.reason].filter(Boolean).join(" ") || "without a code"}</p>`}`;

/** What became of the last call. */
export const Outcome = ({ outcome }) => html`<${Panel} title="Answer">
  <div aria-live="polite">${!outcome ? html`<${Empty} title="Nothing was sent yet" icon="try" />`
    : outcome.error ? html`<${Failure} error=${outcome.error} />`
    : outcome.packets ? html`<${Packets} ...${outcome} />`
    : html`<${Answer} answer=${outcome} />`}</div>
<//>`;
