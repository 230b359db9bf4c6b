// SPDX-License-Identifier: Apache-2.0
import { get, patch, path, report, server } from "../api.js";
import { AppPage } from "../app-page.js";
import { Button, Confirm } from "../forms.js";
import { useData, useIsOperator } from "../hooks.js";
import { Badge, Empty, ID, Loaded, Panel } from "../parts.js";
import { link } from "../router.js";
import { html, useState } from "../vendor/preact-htm.js";
import { Export } from "./user-export.js";
import { Blocks, Conversations, Devices, Figures, Identity, Presence, Sessions } from "./user-parts.js";

/** The time between two readings of presence, in milliseconds. */
const presencePeriod = 10_000;

/** Reads an object that need not exist. */
const orNull = (reading) => reading.catch((error) => {
  if (error.status === 404) return null;
  throw error;
});

const Suspension = ({ app, user, isSuspended, done, onClose }) => {
  const run = async () => {
    await patch(app, path`/users/${user}`, [{ operation: "set", property: "suspended", value: !isSuspended }]);
    done();
  };
  return isSuspended
    ? html`<${Confirm} title=${`End the suspension of ${user}?`} action="End the suspension" run=${run}
        done=${`${user} is not suspended any more`} onClose=${onClose}>
        <p>The sessions of <strong>${user}</strong> work again.</p><//>`
    : html`<${Confirm} title=${`Suspend ${user}?`} action="Suspend" isDangerous run=${run}
        done=${`${user} is suspended`} onClose=${onClose}>
        <p>The sockets of <strong>${user}</strong> close, and their requests are refused within five seconds, until the
          suspension ends. Other users see no difference.</p><//>`;
};

const SignOut = ({ app, user, done, onClose }) => html`
  <${Confirm} title=${`Sign ${user} out?`} action="End all sessions" isDangerous onClose=${onClose}
    done=${`All sessions of ${user} have ended`} run=${async () => {
      await server(app, "DELETE", path`/users/${user}/sessions`);
      done();
    }}>
    <p>All sessions of <strong>${user}</strong> end, and their sockets close. The user can sign in again.</p><//>`;

const Erasure = ({ app, user, done, onClose }) => html`
  <${Confirm} title=${`Erase ${user}?`} action="Erase for good" isDangerous word=${user} onClose=${onClose}
    done=${`The erasure of ${user} has begun`} run=${async () => {
      await server(app, "DELETE", path`/users/${user}`);
      done();
    }}>
    <p>This cannot be undone. What goes:</p>
    <ul class="bullets">
      <li>at once: sessions, push tokens, badge, following, the identity, and delayed messages;</li>
      <li>soon after: the parts of all messages that <strong>${user}</strong> sent, their announcements and blocks,
        content that nobody else has sent on, and attempts of webhooks that concern the user;</li>
      <li>after a minute: what a device that was still signed in wrote meanwhile.</li>
    </ul>
    <p>The id stays as a participant and as the sender of empty messages. Backups are not touched.</p><//>`;

const dialogs = { suspension: Suspension, "sign-out": SignOut, erasure: Erasure, export: Export };

function Actions({ app, user, facts, open }) {
  const isOperator = useIsOperator();
  return html`
    ${isOperator && html`<a class="button" href=${link("apps", app, "users", user, "trace")}>Trace</a>`}
    <${Button} onClick=${() => open("export")}>Export<//>
    ${isOperator && html`
      <${Button} onClick=${() => open("suspension")}>${facts.suspended ? "End suspension" : "Suspend"}<//>
      <${Button} onClick=${() => open("sign-out")}>Sign out<//>
      <${Button} kind="danger" onClick=${() => open("erasure")}>Erase<//>`}`;
}

export function Screen({ params: { app, user } }) {
  const [dialog, setDialog] = useState(null);
  const [version, setVersion] = useState(0);
  const inputs = [app, user, version];
  const state = useData((signal) => report("user", { app, user }, signal), inputs);
  const identity = useData((signal) => orNull(server(app, "GET", path`/users/${user}/identity`, { signal })), inputs);
  const badge = useData((signal) => orNull(server(app, "GET", path`/users/${user}/badge`, { signal })), inputs);
  const presence = useData((signal) => get(path`/api/apps/${app}/users/${user}/presence`, undefined, signal), inputs,
    { every: presencePeriod });
  const { data: facts } = state;
  const isMissing = facts === undefined && state.error?.status === 404;
  const Shown = dialogs[dialog];
  return html`<${AppPage} id=${app} tab="users" title=${identity.data?.display_name || user}
    note=${html`<${Presence} state=${presence} />
      ${facts?.suspended && html`<${Badge} tone="warn">Suspended<//>`}
      ${identity.data?.identity_type === "bot" && html`<${Badge}>Bot<//>`}
      ${facts?.erasure && html`<${Badge} tone="bad">Being erased<//>`}`}
    actions=${facts && html`<${Actions} ...${{ app, user, facts }} open=${setDialog} />`}>
    ${isMissing ? html`<${Panel}><${Empty} title="No such user" icon="users"
        action=${html`<a class="button" href=${link("apps", app, "users")}>All users</a>`}>
        The app has not heard of <code>${user}</code>. A user exists once they sign in, or another user or the app's
        server names them.<//><//>`
      : html`<${Loaded} state=${state}>${(data) => html`
      <p class="user-id quiet">User id <${ID} id=${user} isFull /></p>
      <div class="columns"><${Identity} state=${identity} /><${Figures} facts=${data} badge=${badge.data} /></div>
      <${Conversations} ...${{ app, user }} />
      <${Sessions} ...${{ app, user, version }} />
      <div class="columns"><${Devices} tokens=${data.push_tokens} /><${Blocks} ...${{ app, user }} /></div>`}<//>`}
    ${Shown && html`<${Shown} ...${{ app, user }} isSuspended=${facts?.suspended}
      done=${() => setVersion((old) => old + 1)}
      onClose=${() => setDialog(null)} />`}
  <//>`;
}
