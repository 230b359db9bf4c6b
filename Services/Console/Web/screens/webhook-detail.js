// SPDX-License-Identifier: Apache-2.0
import { path, post, server, types } from "../api.js";
import { Button, Confirm, Dialog } from "../forms.js";
import { counted, latency, lastPart, number, shortID } from "../format.js";
import { useAction, useData, useIsOperator } from "../hooks.js";
import { JSONView } from "../json.js";
import { serverPage } from "../lists.js";
import { deliveryFacts, eventsOf, objectPath } from "../model/deliveries.js";
import { Badge, Copy, Empty, Facts, Failure, ID, Loaded, Panel, Table, Time } from "../parts.js";
import { toast } from "../toasts.js";
import { html, useState } from "../vendor/preact-htm.js";

/** The time between two readings of deliveries while the page is visible, in milliseconds. */
const period = 5000;

export const statusTones = { active: "good", unverified: "warn", inactive: "bad" };

const hookPath = (webhook) => path`/webhooks/${lastPart(webhook.id)}`;

/** The answer of a receiver to one attempt. */
const Answer = ({ attempt }) => html`<${Badge} tone=${attempt.delivered ? "good" : "bad"}>
  ${attempt.response_status ?? "no answer"}<//>`;

const attemptColumns = [
  { title: "Attempt", kind: "main", cell: (one) => `#${number(one.attempt)}` },
  { title: "At", cell: (one) => html`<${Time} at=${one.attempted_at} />` },
  { title: "Answer", cell: (one) => html`<${Answer} attempt=${one} />` },
  { title: "Latency", align: "end", cell: (one) => latency(one.latency_ms) },
  { title: "Error", kind: "wide", cell: (one) => one.error || "" },
];

/** The object that an event created, as it is now. */
function Subject({ app, event }) {
  const target = objectPath(event);
  const state = useData((signal) => server(app, "GET", target, { signal }), [app, target]);
  return html`<h3>The object now</h3>
    <${Loaded} state=${state} lines=${3}>${(object) => html`<${JSONView} value=${object} depth=${3} />`}<//>`;
}

/** The dialog with all attempts of an event. */
function Event({ app, event, onClose }) {
  return html`<${Dialog} title=${event.type} onClose=${onClose} isWide>
    <${Facts} items=${[
      ["Event", html`<${ID} id=${event.id} isFull />`], ["Created", html`<${Time} at=${event.createdAt} />`],
    ]} />
    <${Table} label="Attempts" rows=${event.attempts} keyOf=${(one) => `${one.attempt} ${one.attempted_at}`}
      columns=${attemptColumns} />
    ${objectPath(event) && html`<${Subject} ...${{ app, event }} />`}
  <//>`;
}

/** A button that sends an event once more. */
function Again({ app, webhook, event, done }) {
  const again = useAction(async () => {
    await server(app, "POST", hookPath(webhook) + path`/deliveries/${event.id}/redeliver`, { accept: types.webhooks });
    toast(`${event.type} is sent again, with the same id`);
    done();
  });
  return html`<${Button} isBusy=${again.isRunning} onClick=${again.run}>Send again<//>
    ${again.error && html`<span role="alert" class="field-error">${again.error.message}</span>`}`;
}

function eventColumns({ app, webhook, isOperator, open, reload }) {
  return [
    { title: "Event", kind: "main", cell: (event) => html`
        <button type="button" class="link" onClick=${() => open(event)}>${event.type}</button>
        <code class="quiet" title=${event.id}> ${shortID(event.id)}</code>` },
    { title: "Last attempt", cell: (event) => html`<${Time} at=${event.last.attempted_at} />` },
    { title: "Attempts", align: "end", cell: (event) => number(event.last.attempt) },
    { title: "Answer", cell: (event) => html`<${Answer} attempt=${event.last} />` },
    { title: "Latency", align: "end", cell: (event) => latency(event.last.latency_ms) },
    { title: "Error", kind: "wide", cell: ({ last, isDelivered }) =>
        last.error || (isDelivered ? "" : "Not delivered yet") },
    isOperator && { title: "Actions", isHidden: true, kind: "actions", cell: (event) =>
      html`<${Again} ...${{ app, webhook, event, done: reload }} />` },
  ].filter(Boolean);
}

/** The latest deliveries of a webhook. */
function Deliveries({ app, webhook }) {
  const isOperator = useIsOperator();
  const [opened, setOpened] = useState(null);
  const [onlyFailed, setOnlyFailed] = useState(false);
  const state = useData((signal) =>
    serverPage(app, `${hookPath(webhook)}/deliveries`, { accept: types.webhooks, signal }),
  [app, webhook.id], { every: period });
  const attempts = state.data?.items ?? [];
  const facts = deliveryFacts(attempts);
  const events = eventsOf(attempts).filter((event) => !onlyFailed || !event.isDelivered);
  const note = attempts.length > 0 && [
    counted(facts.attempts, "attempt"),
    `${number(facts.failed)} failed`,
    facts.median !== null && `median ${latency(facts.median)}`,
  ].filter(Boolean).join(" · ");
  const empty = html`<${Empty} title="No deliveries within seven days" icon="webhooks">
    They appear here when an event of this webhook happens.<//>`;
  return html`<${Panel} title="Deliveries" note=${note} isFlush actions=${attempts.length > 0 && html`
      <${Button} aria-pressed=${onlyFailed} onClick=${() => setOnlyFailed(!onlyFailed)}>
        ${onlyFailed ? "Show all" : "Only undelivered"}<//>`}>
    <${Loaded} state=${state} empty=${empty} isEmpty=${({ items }) => items.length === 0}>${() => (events.length
      ? html`<${Table} label="Deliveries" rows=${events} keyOf=${(event) => event.id}
          columns=${eventColumns({ app, webhook, isOperator, open: setOpened, reload: state.reload })} />`
      : html`<${Empty} title="Every event was delivered" icon="check" />`)}<//>
    ${opened && html`<${Event} app=${app} event=${events.find((event) => event.id === opened.id) ?? opened}
      onClose=${() => setOpened(null)} />`}
  <//>`;
}

/** Sends a signed event of the type Test and shows what the receiver answered. */
function Test({ app, webhook }) {
  const [result, setResult] = useState(null);
  const test = useAction(async () => {
    setResult(null);
    setResult(await post(path`/api/apps/${app}/webhooks/${lastPart(webhook.id)}/test`));
  });
  return html`<${Button} isBusy=${test.isRunning} onClick=${test.run}>${test.isRunning ? "Sending" : "Send a test"}<//>
    ${result && html`<span role="status" class="test-result">
      <${Badge} tone=${result.error ? "bad" : "good"}>${result.status || "no answer"}<//>
      <span>${latency(result.latency_ms)}${result.error && `: ${result.error}`}</span></span>`}
    ${test.error && html`<span role="alert" class="field-error">${test.error.message}</span>`}`;
}

const questions = {
  pause: {
    title: "Pause this webhook?", action: "Pause", done: "The webhook is paused", isDangerous: true,
    text: "No further events are recorded. Undelivered ones are kept for seven days, and sent once it is active again.",
    run: (app, webhook) => server(app, "POST", `${hookPath(webhook)}/deactivate`, { accept: types.webhooks }),
  },
  activate: {
    title: "Activate this webhook?", action: "Activate", done: "The receiver is asked again",
    text: "The receiver is asked with a challenge. Once it answers, undelivered events are sent.",
    run: (app, webhook) => server(app, "POST", `${hookPath(webhook)}/activate`, { accept: types.webhooks }),
  },
  delete: {
    title: "Delete this webhook?", action: "Delete", done: "The webhook was deleted", isDangerous: true,
    text: "The registration goes for good, with its undelivered events and the list of its deliveries.",
    run: (app, webhook) => server(app, "DELETE", hookPath(webhook), { accept: types.webhooks }),
  },
};

function Question({ app, webhook, name, done, onClose }) {
  const { title, action, text, run, done: message, isDangerous } = questions[name];
  const carryOut = async () => {
    await run(app, webhook);
    done(name);
  };
  return html`<${Confirm} ...${{ title, action, isDangerous, onClose }} run=${carryOut} done=${message}>
    <p><code class="target">${webhook.target_url}</code></p><p>${text}</p><//>`;
}

function Actions({ app, webhook, ask }) {
  return html`<${Test} ...${{ app, webhook }} />
    ${webhook.status !== "inactive" && html`<${Button} onClick=${() => ask("pause")}>Pause<//>`}
    ${webhook.status !== "active" && html`<${Button} onClick=${() => ask("activate")}>Activate<//>`}
    <${Button} kind="danger" onClick=${() => ask("delete")}>Delete<//>`;
}

/**
 * A webhook with its deliveries.
 * @param {{app: string, webhook: object, changed: (change: string) => void}} props
 */
export function Webhook({ app, webhook, changed }) {
  const isOperator = useIsOperator();
  const [question, setQuestion] = useState(null);
  const config = Object.entries(webhook.config ?? {});
  return html`
    <${Panel} title="Webhook" note=${html`<${Badge} tone=${statusTones[webhook.status]}>${webhook.status}<//>`}
      actions=${isOperator && html`<${Actions} ...${{ app, webhook }} ask=${setQuestion} />`}>
      ${webhook.status_reason && html`<${Failure} error=${{ message: webhook.status_reason }} />`}
      <${Facts} items=${[
        ["Target", html`<span class="id"><code class="target">${webhook.target_url}</code>
          <${Copy} text=${webhook.target_url} label="Copy the URL" /></span>`],
        ["Id", html`<${ID} id=${lastPart(webhook.id)} isFull />`],
        ["Version", webhook.version],
        ["Events", html`<span class="badges">${webhook.events.map((name) =>
          html`<${Badge} key=${name}>${name}<//>`)}</span>`],
        config.length > 0 && ["Config", config.map(([key, value]) => html`
          <div key=${key}><code>${key}=${value}</code></div>`)],
        ["Registered", html`<${Time} at=${webhook.created_at} />`],
      ]} />
    <//>
    <${Deliveries} key=${webhook.id} ...${{ app, webhook }} />
    ${question && html`<${Question} ...${{ app, webhook }} name=${question} done=${changed}
      onClose=${() => setQuestion(null)} />`}`;
}
