// SPDX-License-Identifier: Apache-2.0
import { report } from "../api.js";
import { AppPage } from "../app-page.js";
import { Button, SearchField } from "../forms.js";
import { usePages } from "../hooks.js";
import { Badge, Empty, Loaded, Pager, Panel, RowLink, Table, Time } from "../parts.js";
import { link, navigate } from "../router.js";
import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { Initials } from "./message.js";

/** The pause after typing before users are searched for, in milliseconds. */
const pause = 250;

/** A value that follows another one after it has been still for a while. */
function useSettled(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(setSettled, pause, value);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

const columns = (app) => [
  { title: "User", kind: "main wide", cell: (user) => html`<span class="person">
      <${Initials} name=${user.display_name || user.user_id} id=${user.user_id} />
      <span><${RowLink} href=${link("apps", app, "users", user.user_id)}>
        ${user.display_name || user.user_id}<//></span></span>` },
  { title: "Id", cell: (user) => html`<code class="clipped" title=${user.user_id}>${user.user_id}</code>` },
  { title: "State", cell: (user) => html`<span class="badges">${user.is_bot && html`<${Badge}>Bot<//>`}
      ${user.suspended && html`<${Badge} tone="warn">Suspended<//>`}</span>` },
  { title: "Known since", align: "end", cell: (user) => html`<${Time} at=${user.created_at} />` },
];

export function Screen({ params: { app }, query }) {
  const [text, setText] = useState(query.prefix ?? "");
  const prefix = useSettled(text);
  const pages = usePages((after, signal) => report("users", { app, user: prefix, after, limit: 50 }, signal),
    [app, prefix]);
  useEffect(() => {
    if (prefix !== (query.prefix ?? "")) navigate(link("apps", app, "users", { prefix }), { isReplaced: true });
  }, [prefix]);
  const open = (event) => {
    event.preventDefault();
    if (text) navigate(link("apps", app, "users", text));
  };
  const empty = text
    ? html`<${Empty} title="No user id begins with this text" icon="search">
        The search looks at ids, not at names, and minds upper and lower case.<//>`
    : html`<${Empty} title="No users yet" icon="users">
        A user exists once they sign in, or another user or the app's server names them.<//>`;
  return html`<${AppPage} id=${app} tab="users" actions=${html`<${Button} onClick=${pages.reload}>Refresh<//>`}>
    <form onSubmit=${open}><${SearchField} label="User id begins with" value=${text} onChange=${setText} /></form>
    <${Panel} title="Users" note="By id" isFlush>
      <${Loaded} state=${pages} empty=${empty}>${(rows) => html`
        <${Table} label="Users" rows=${rows} keyOf=${(user) => user.user_id} columns=${columns(app)} />
        <${Pager} pages=${pages} noun="user" />`}<//>
    <//>
  <//>`;
}
