// SPDX-License-Identifier: Apache-2.0
import { server, types } from "../api.js";
import { Button, CheckField, Dialog, Form, SelectField, TextArea, TextField, fieldError } from "../forms.js";
import { useAction } from "../hooks.js";
import { eventNames, randomSecret } from "../model/deliveries.js";
import { Copy } from "../parts.js";
import { html, useState } from "../vendor/preact-htm.js";

/** The newest version first. */
const versions = Object.keys(eventNames).sort().reverse();

/** Reads lines of `key=value`. Throws for a line without a key. */
export function configOf(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(line) ?? [];
    if (!key) throw new Error(`“${line}” is not key=value.`);
    return [key.trim(), value.trim()];
  }));
}

const complaintOf = (text) => {
  try {
    configOf(text);
  } catch (error) {
    return error.message;
  }
};

const targetComplaint = (text) =>
  URL.canParse(text) && /^https?:/.test(text) ? undefined : "Enter a whole URL, such as https://bot.example.org/hook.";

function Events({ version, events, setEvents, error }) {
  const change = (name) => (isOn) => setEvents(isOn ? [...events, name] : events.filter((one) => one !== name));
  const all = eventNames[version];
  return html`<fieldset class="events"><legend>Events</legend>
    <div class="event-choices">${all.map((name) => html`
      <${CheckField} key=${name} label=${name} value=${events.includes(name)} onChange=${change(name)} />`)}</div>
    <${Button} onClick=${() => setEvents(events.length === all.length ? [] : [...all])}>
      ${events.length === all.length ? "None" : "All"}<//>
    ${error && html`<p class="field-error">${error}</p>`}
  </fieldset>`;
}

/**
 * The dialog that registers a webhook.
 * @param {{app: string, done: (webhook: object) => void, onClose: () => void}} props
 */
export function NewWebhook({ app, done, onClose }) {
  const [version, setVersion] = useState(versions[0]);
  const [target, setTarget] = useState("");
  const [events, setEvents] = useState([]);
  const [secret, setSecret] = useState(randomSecret);
  const [config, setConfig] = useState("");
  const [isTouched, setTouched] = useState(false);
  const action = useAction(async () => {
    const given = config.trim() && { config: configOf(config) };
    const body = { version, target_url: target.trim(), events, secret, ...given };
    done(await server(app, "POST", "/webhooks", { body, accept: types.webhooks }));
  });
  const problems = {
    target_url: targetComplaint(target.trim()),
    events: events.length ? undefined : "Choose an event.",
    secret: secret.length >= 16 ? undefined : "A secret has at least 16 bytes.",
    config: complaintOf(config),
  };
  const problem = (name) => (isTouched ? problems[name] : undefined) ?? fieldError(action.error, name);
  const register = async () => {
    setTouched(true);
    if (!Object.values(problems).some(Boolean) && (await action.run())) onClose();
  };
  return html`<${Dialog} title="Register a webhook" onClose=${onClose} isWide>
    <${Form} onSubmit=${register} action=${action} submit="Register" fields=${Object.keys(problems)}
      onCancel=${onClose}>
      <${TextField} label="Target URL" type="url" value=${target} onChange=${setTarget} autofocus
        error=${problem("target_url")} placeholder="https://bot.example.org/hook"
        hint="It is asked with a challenge, and must answer 200 with the same text" />
      <${SelectField} label="Version of the payloads" options=${versions.map((one) => [one, one])} value=${version}
        onChange=${(value) => { setVersion(value); setEvents([]); }} />
      <${Events} ...${{ version, events, setEvents }} error=${problem("events")} />
      <div class="with-button"><${TextField} label="Secret" class="mono" value=${secret} onChange=${setSecret}
        error=${problem("secret")}
        hint="It signs the payloads and is never shown again" /><${Copy} text=${secret} label="Copy" isVisible /></div>
      <${TextArea} label="Config" rows="3" value=${config} onChange=${setConfig} error=${problem("config")}
        hint="Lines of key=value that come with each event; may be empty" />
    <//>
  <//>`;
}
