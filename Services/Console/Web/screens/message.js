// SPDX-License-Identifier: Apache-2.0
import { path, server } from "../api.js";
import { bytesOf, fileName, open, save } from "../download.js";
import { Button, Confirm } from "../forms.js";
import { bytes, counted, exactTime, fullTime, lastPart } from "../format.js";
import { useAction, useIsOperator } from "../hooks.js";
import { Code, JSONView } from "../json.js";
import { receiptGroups } from "../model/live.js";
import { Badge, Copy, Failure } from "../parts.js";
import { link } from "../router.js";
import { html, useState } from "../vendor/preact-htm.js";

/** The number of colours of initials. */
const tones = 6;

/** Two letters of a name on a colour that stays the same for an id. */
export function Initials({ name, id = name }) {
  const letters = String(name).split(/[\s._-]+/).filter(Boolean).slice(0, 2).map((word) => [...word][0]).join("");
  const tone = [...String(id)].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 997, 7) % tones;
  return html`<span class=${`initials tone-${tone}`} aria-hidden="true">${letters.toUpperCase() || "?"}</span>`;
}

/** A link to a user by name; the server has none. */
export const UserLink = ({ app, user, name }) =>
  user ? html`<a href=${link("apps", app, "users", user)}>${name || user}</a>`
    : html`<span>${name || "App's server"}</span>`;

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const extension = (type) => /^[\w.+-]+\/([\w.+-]+)/.exec(type)?.[1].split("+")[0].replace("plain", "txt") ?? "bin";

/** A button that asks for a fresh address of a part's content and opens it. */
function Content({ app, conversation, part }) {
  const { id, size } = part.content;
  const download = useAction(async () => {
    const content = await server(app, "GET", path`/conversations/${conversation}/content/${lastPart(id)}`);
    open(content.download_url);
  });
  return html`<div class="part-file">
    <${Button} isBusy=${download.isRunning} onClick=${download.run}>Download<//>
    <span><code>${part.mime_type}</code> <span class="quiet">${bytes(size)}</span></span>
    ${download.error && html`<${Failure} error=${download.error} />`}
  </div>`;
}

function Binary({ part }) {
  const data = bytesOf(part.body);
  const name = `${fileName(lastPart(part.id))}.${extension(part.mime_type)}`;
  return html`<div class="part-file">
    <${Button} onClick=${() => save(name, [data], part.mime_type)}>Download<//>
    <span><code>${part.mime_type}</code> <span class="quiet">${bytes(data.length)}</span></span>
  </div>`;
}

/** A part of a message, shown by its media type. */
function Part({ app, conversation, part }) {
  const { mime_type: type, body, encoding } = part;
  if (part.content) return html`<${Content} ...${{ app, conversation, part }} />`;
  if (encoding === "base64" && /^image\/(png|jpeg|gif|webp)$/.test(type)) {
    return html`<img class="part-image" src=${`data:${type};base64,${body}`} alt=${`Image of a part, ${type}`} />`;
  }
  if (encoding === "base64") return html`<${Binary} part=${part} />`;
  const value = /json/.test(type) ? parsed(body) : undefined;
  if (value !== undefined) return html`<div class="part-typed"><code>${type}</code>
    <${JSONView} value=${value} depth=${1} /></div>`;
  if (/^text\/plain/.test(type)) return html`<p class="part-text">${body}</p>`;
  return html`<div class="part-typed"><code>${type}</code><${Code}>${body ?? ""}<//></div>`;
}

const statusTones = { read: "good", delivered: "accent", sent: "quiet" };

/** The recipients of a message by status. */
function Receipts({ app, statusOf, nameOf }) {
  return html`<dl class="receipts">${receiptGroups(statusOf).map(([status, ids]) => html`<div key=${status}>
    <dt><${Badge} tone=${statusTones[status]}>${status}<//> ${ids.length}</dt>
    <dd>${ids.slice(0, 100).map((id) => html`<${UserLink} key=${id} app=${app} user=${lastPart(id)}
      name=${nameOf(lastPart(id))} /> `)}
      ${ids.length > 100 && `and ${ids.length - 100} more`}</dd>
  </div>`)}</dl>`;
}

const receiptSummary = (statusOf) =>
  receiptGroups(statusOf).map(([status, ids]) => `${ids.length} ${status}`).join(" · ") || "no recipients";

const senderName = ({ sender, actor }) => sender?.display_name || sender?.user_id || actor || "App's server";

function Deletion({ app, conversation, message, onClose }) {
  const text = message.parts.find((part) => part.mime_type?.startsWith("text/") && part.body)?.body;
  const run = () => server(app, "DELETE", path`/conversations/${conversation}/messages/${lastPart(message.id)}`);
  return html`<${Confirm} title="Delete this message?" action="Delete for all" isDangerous run=${run}
    done="The message was deleted for all" onClose=${onClose}>
    <p>The message of <strong>${senderName(message)}</strong> from ${fullTime(message.sent_at)} goes for all
      participants, with ${counted(message.parts.length, "part")}. This cannot be undone.</p>
    ${text && html`<blockquote>${text.slice(0, 280)}</blockquote>`}
  <//>`;
}

function Details({ app, conversation, message, nameOf }) {
  const isOperator = useIsOperator();
  const [isDeleting, setDeleting] = useState(false);
  return html`<div class="message-details">
    <${Receipts} app=${app} statusOf=${message.recipient_status} nameOf=${nameOf} />
    <details><summary>As JSON</summary><${JSONView} value=${message} depth=${1} /></details>
    <div class="actions">
      <${Copy} text=${message.id} label="Copy the id" isVisible />
      <${Copy} text=${JSON.stringify(message, null, 2)} label="Copy as JSON" isVisible />
      ${isOperator && html`<${Button} kind="danger" onClick=${() => setDeleting(true)}>Delete<//>`}
    </div>
    ${isDeleting && html`<${Deletion} ...${{ app, conversation, message }} onClose=${() => setDeleting(false)} />`}
  </div>`;
}

/**
 * A message with its sender, its parts, and its receipts on demand.
 * @param {{app: string, conversation: string, message: object, nameOf: (user: string) => string,
 *   isTarget: boolean}} props
 */
export function Message({ app, conversation, message, nameOf, isTarget }) {
  const [isOpen, setOpen] = useState(false);
  const { sender, deleted } = message;
  const name = senderName(message);
  return html`<li class=${`message ${deleted ? "deleted" : ""} ${isTarget ? "target" : ""}`} data-id=${message.id}>
    <${Initials} name=${name} id=${sender?.user_id ?? name} />
    <div class="message-body">
      <header>
        <strong><${UserLink} app=${app} user=${sender?.user_id} name=${name} /></strong>
        <time class="quiet" datetime=${message.sent_at} title=${fullTime(message.sent_at)}>
          ${exactTime(message.sent_at)}</time>
        ${message.updated_at && html`<span class="quiet" title=${fullTime(message.updated_at)}>edited</span>`}
        ${!deleted && html`<button type="button" class="receipt-line" aria-expanded=${isOpen}
          onClick=${() => setOpen(!isOpen)}
          title="Receipts and details">${receiptSummary(message.recipient_status)}</button>`}
      </header>
      ${deleted
        ? html`<p class="quiet">Deleted for all by ${deleted.actor ? nameOf(deleted.actor) : "the app's server"}</p>`
        : message.parts.map((part, index) => html`<${Part} key=${part.id ?? index}
          ...${{ app, conversation, part }} />`)}
      ${!deleted && message.parts.length === 0 && html`<p class="quiet">No parts: the sender was erased</p>`}
      ${isOpen && !deleted && html`<${Details} ...${{ app, conversation, message, nameOf }} />`}
    </div>
  </li>`;
}
