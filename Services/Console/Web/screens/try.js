// SPDX-License-Identifier: Apache-2.0
import { get, report } from "../api.js";
import { Button, Confirm, SearchField, SelectField, TextField } from "../forms.js";
import { useData, useIsOperator } from "../hooks.js";
import { Code } from "../json.js";
import {
  bodyComplaint, bodyText, canBeOnBehalf, grouped, initialValues, missing, requestOf, search,
} from "../model/calls.js";
import { curlLine } from "../model/curl.js";
import { rememberNames } from "../names.js";
import { Copy, Empty, Loaded, Page, Panel } from "../parts.js";
import { link } from "../router.js";
import { html, useEffect, useMemo, useState } from "../vendor/preact-htm.js";
import { Outcome } from "./try-answer.js";
import { Body, Description, Parameters, SecretField, sendByKey } from "./try-form.js";
import { send } from "./try-send.js";
import { SocketCall } from "./try-socket.js";

const apis = [["server", "Server API"], ["client", "Client API"], ["socket", "WebSocket"]];

/** Values that stay when the operator leaves the screen and comes back. A session's token does not. */
const kept = { app: "", user: "", isOnBehalf: true };

const isGone = ({ method }) => method === "DELETE";

function List({ calls, chosen, address }) {
  const [text, setText] = useState("");
  const found = search(calls, text);
  return html`<nav class="calls" aria-label="Calls">
    <${SearchField} label="Find a call" value=${text} onChange=${setText} />
    ${found.length === 0 && html`<${Empty} title="No call has these words" icon="search" />`}
    <div class="calls-list">${grouped(found).map(([group, members]) => html`<section key=${group}><h3>${group}</h3><ul>
      ${members.map((call) => html`<li key=${call.id}>
        <a href=${address(call)} aria-current=${call.id === chosen?.id ? "true" : undefined} title=${call.summary}>
        ${call.api === "socket" ? html`<span class="call-path">${call.method}</span>`
          : html`<span class=${`method ${call.method.toLowerCase()}`}>${call.method}</span>
        <span class="call-path">${call.path}</span>`}<small>${call.summary}</small></a></li>`)}</ul></section>`)}</div>
  </nav>`;
}

/** Who makes the call: the app's server, a session, or the server on behalf of a user. */
function Caller({ call, apps, caller, change }) {
  const canChoose = canBeOnBehalf(call);
  const isServer = call.api === "server" || (canChoose && caller.isOnBehalf);
  return html`<fieldset class="parameters"><legend>Who calls</legend>
    ${canChoose && html`<${SelectField} label="As" value=${caller.isOnBehalf ? "server" : "session"}
      onChange=${(value) => change({ isOnBehalf: value === "server" })}
      options=${[["server", "the app's server, on behalf of a user"], ["session", "a session of a user"]]} />`}
    ${isServer && html`<${SelectField} label="App" value=${caller.app} onChange=${(app) => change({ app })}
      options=${apps.map((app) => [app.id, app.name])}
      hint=${call.api === "server" ? "The console has a token of its own" : undefined} />`}
    ${canChoose && isServer && html`<${TextField} label="User id" value=${caller.user}
      onChange=${(user) => change({ user })} class="mono" />`}
    ${!isServer && call.session !== "none" && html`<${SecretField}
      label=${call.session === "optional" ? "Session token, optional" : "Session token"} value=${caller.session}
      onChange=${(session) => change({ session })} hint="Used for this call, never stored and never noted" />`}
  </fieldset>`;
}

/** The request of the form, and what it lacks. */
function useRequest(call, caller) {
  const [values, setValues] = useState(() => initialValues(call));
  const [body, setBody] = useState(() => bodyText(call.body));
  const [query, setQuery] = useState("");
  const isServer = call.api === "server" || (canBeOnBehalf(call) && caller.isOnBehalf);
  const user = isServer && call.api === "client" ? caller.user.trim() : undefined;
  const request = requestOf(call, values, { body, query, user });
  const lacks = [
    ...missing(call, values),
    user === "" && "user",
    !isServer && call.session === "required" && !caller.session && "session",
  ].filter(Boolean);
  const setValue = (key, value) => setValues({ ...values, [key]: value });
  return { values, setValue, body, setBody, query, setQuery, isServer, request, lacks };
}

const curlOf = (call, { request, isServer }, app) => curlLine(request, isServer
  ? { authorization: "token", app }
  : { authorization: call.session === "none" ? undefined : "session" });

const commandNote = (call, isServer) =>
  `Needs STRATA, a gateway's URL${isServer ? ", and TOKEN" : call.session === "none" ? "" : ", and SESSION"}`;

/** Sends the request of a form once it lacks nothing, a deletion after a question. */
function useSending(call, { request, lacks, body, isServer }, { app, session }) {
  const [state, setState] = useState({ outcome: null, isSending: false, isTouched: false, isAsking: false });
  const change = (part) => setState((old) => ({ ...old, ...part }));
  const run = async () => {
    change({ isSending: true });
    const outcome = await send({ api: isServer ? "server" : "client", app, session, request });
    change({ isSending: false, outcome });
  };
  const submit = (event) => {
    event.preventDefault();
    change({ isTouched: true });
    if (state.isSending || lacks.length || bodyComplaint(call, body)) return;
    if (isGone(request)) change({ isAsking: true });
    else run();
  };
  return { ...state, run, submit, endQuestion: () => change({ isAsking: false }) };
}

/** The button that sends; a viewer reads with the console's token, and changes nothing. */
function Sending({ call, form: { request, lacks, isServer }, sending: { isSending, isTouched } }) {
  const isAllowed = useIsOperator() || (isServer && call.method === "GET");
  return html`<footer class="form-foot">
    ${isTouched && lacks.length > 0 && html`<p class="field-error" role="alert">Needed: ${lacks.join(", ")}</p>`}
    ${isAllowed
      ? html`<${Button} type="submit" kind=${isGone(request) ? "danger" : "primary"} isBusy=${isSending}>
          ${isSending ? "Sending" : "Send"}<//>`
      : html`<p class="quiet">
          Only operators may send this call. The line below works with a token of your own.</p>`}
  </footer>`;
}

function Call({ call, apps, caller, change }) {
  const form = useRequest(call, caller);
  const sending = useSending(call, form, caller);
  const { request, lacks, isServer } = form;
  const line = curlOf(call, form, caller.app);
  return html`<div class="call">
    <${Panel} title=${call.summary} note=${html`<code>${call.method} ${call.path}</code>`}>
      ${call.description && html`<p class="call-text"><${Description} text=${call.description} /></p>`}
      <form class="form" onSubmit=${sending.submit} onKeyDown=${sendByKey}>
        <${Caller} ...${{ call, apps, caller, change }} />
        <${Parameters} call=${call} values=${form.values} setValue=${form.setValue}
          wrong=${sending.isTouched ? lacks : []} />
        ${call.id === "findConversations" && html`<${TextField} label="More of the query" value=${form.query}
          onChange=${form.setQuery} class="mono" placeholder="metadata.status.prefix=op" />`}
        <${Body} call=${call} body=${form.body} setBody=${form.setBody} />
        <${Sending} ...${{ call, form, sending }} />
      </form>
    <//>
    <${Outcome} outcome=${sending.outcome} />
    <${Panel} title="As a command" note=${commandNote(call, isServer)}
      actions=${html`<${Copy} text=${line} label="Copy" isVisible />`}><${Code}>${line}<//><//>
    ${sending.isAsking && html`<${Confirm} title="Send this deletion?" action="Send" isDangerous run=${sending.run}
      onClose=${sending.endQuestion}>
      <p><code>${request.method} ${request.path}</code></p><p>${call.summary}. This may not be undone.</p><//>`}
  </div>`;
}

function Calls({ calls, apps, query }) {
  const [caller, setCaller] = useState(() => ({ ...kept, app: kept.app || apps[0]?.id || "", session: "" }));
  const change = (part) => setCaller((old) => ({ ...old, ...part }));
  useEffect(() => {
    const { session: _, ...rest } = caller;
    Object.assign(kept, rest);
  }, [caller]);
  const api = apis.some(([name]) => name === query.api) ? query.api : "server";
  const own = useMemo(() => calls.filter((call) => call.api === api), [calls, api]);
  const chosen = own.find((call) => call.id === query.call);
  const address = (call) => link("try", { api: call.api, call: call.id });
  return html`
    <nav class="tabs" aria-label="APIs"><ul>${apis.map(([name, title]) => html`<li key=${name}>
      <a href=${link("try", { api: name })} aria-current=${name === api ? "page" : undefined}>
        ${title}</a></li>`)}</ul></nav>
    <div class=${`try ${chosen ? "has-call" : ""}`}>
      <${List} calls=${own} chosen=${chosen} address=${address} />
      ${!chosen ? html`<${Panel}><${Empty} title="Choose a call" icon="try">
          Every call of the API is here, with a form for its parameters and a command to copy.<//><//>`
        : html`<div class="try-call"><a class="button try-back" href=${link("try", { api })}>All calls</a>
          ${chosen.api === "socket" ? html`<${SocketCall} key=${chosen.id} call=${chosen} ...${{ caller, change }} />`
            : html`<${Call} key=${chosen.id} call=${chosen} ...${{ apps, caller, change }} />`}</div>`}
    </div>`;
}

export function Screen({ query }) {
  const state = useData(async (signal) => {
    const readings = [get("/api/calls", undefined, signal), report("apps", { limit: 200 }, signal)];
    const [calls, apps] = await Promise.all(readings);
    rememberNames(apps);
    return { calls, apps };
  }, []);
  return html`<${Page} title="Try it"><${Loaded} state=${state}>
    ${(data) => html`<${Calls} ...${data} query=${query} />`}<//><//>`;
}
