// SPDX-License-Identifier: Apache-2.0
import { server, types } from "../api.js";
import { AppPage } from "../app-page.js";
import { Button } from "../forms.js";
import { lastPart, number } from "../format.js";
import { useData, useIsOperator } from "../hooks.js";
import { Badge, Empty, Loaded, Panel, RowLink, Table, Time } from "../parts.js";
import { link, navigate } from "../router.js";
import { toast } from "../toasts.js";
import { html, useState } from "../vendor/preact-htm.js";
import { statusTones, Webhook } from "./webhook-detail.js";
import { NewWebhook } from "./webhook-form.js";

/** The time between two readings of the list while the page is visible, in milliseconds. */
const period = 10_000;

const uuidOf = (webhook) => lastPart(webhook.id);
const address = (app, webhook) => link("apps", app, "webhooks", webhook && { webhook: uuidOf(webhook) });

const hostOf = (target) => (URL.canParse(target) ? new URL(target).host : target);

const columns = (app) => [
  { title: "Target", kind: "main wide", cell: (webhook) => html`
      <${RowLink} href=${address(app, webhook)}><span class="target">${webhook.target_url}</span><//>
      ${webhook.status_reason && html`<small class="block quiet">${webhook.status_reason}</small>`}` },
  { title: "State", cell: (webhook) => html`<${Badge} tone=${statusTones[webhook.status]}>${webhook.status}<//>` },
  { title: "Version", align: "end", cell: (webhook) => webhook.version },
  { title: "Events", align: "end", cell: (webhook) => number(webhook.events.length) },
  { title: "Registered", align: "end", cell: (webhook) => html`<${Time} at=${webhook.created_at} />` },
];

const List = ({ app, webhooks, isOperator, create }) => (webhooks.length
  ? html`<${Panel} title="Webhooks" isFlush><${Table} label="Webhooks" rows=${webhooks} keyOf=${uuidOf}
    columns=${columns(app)} /><//>`
  : html`<${Panel}><${Empty} title="No webhooks yet" icon="webhooks"
      action=${isOperator && html`<${Button} kind="primary" onClick=${create}>Register a webhook<//>`}>
      A webhook is a URL of the app's server that is told of messages, receipts and other events.<//><//>`);

export function Screen({ params: { app }, query }) {
  const isOperator = useIsOperator();
  const [isCreating, setCreating] = useState(false);
  const state = useData((signal) => server(app, "GET", "/webhooks", { accept: types.webhooks, signal }), [app],
    { every: period });
  const chosen = query.webhook && state.data?.find((webhook) => uuidOf(webhook) === query.webhook);
  const create = () => setCreating(true);
  const registered = (webhook) => {
    toast("The webhook is registered, and its receiver is asked");
    state.reload();
    navigate(address(app, webhook));
  };
  const changed = (change) => {
    if (change === "delete") navigate(address(app), { isReplaced: true });
    state.reload();
  };
  const title = query.webhook && (chosen ? hostOf(chosen.target_url) : "Webhook");
  return html`<${AppPage} id=${app} tab="webhooks" title=${title || undefined}
    actions=${isOperator && !query.webhook && html`<${Button} kind="primary" icon="plus"
      onClick=${create}>Register<//>`}>
    <${Loaded} state=${state}>${(webhooks) => (!query.webhook
      ? html`<${List} ...${{ app, webhooks, isOperator, create }} />`
      : chosen ? html`<${Webhook} ...${{ app, webhook: chosen, changed }} />`
      : html`<${Panel}><${Empty} title="No such webhook" icon="webhooks"
        action=${html`<a class="button" href=${address(app)}>All webhooks</a>`}>
          It was deleted, or the address is wrong.<//><//>`)}<//>
    ${isCreating && html`<${NewWebhook} app=${app} done=${registered} onClose=${() => setCreating(false)} />`}
  <//>`;
}
