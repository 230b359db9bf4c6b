// SPDX-License-Identifier: Apache-2.0
import { Field, SelectField, TextArea, TextField, Button } from "../forms.js";
import { bodyComplaint, bodyText, keyOf } from "../model/calls.js";
import { html } from "../vendor/preact-htm.js";

/** A description with its code between backticks. */
export const Description = ({ text }) =>
  text.split(/(`[^`]+`)/).map((piece) => (/^`.+`$/.test(piece) ? html`<code>${piece.slice(1, -1)}</code>` : piece));

const places = [["path", "Path"], ["query", "Query"], ["header", "Headers"]];

/** Texts of the limits of a parameter. */
function limits({ schema, deprecated }) {
  const { type, format, minimum, maximum, maxLength, default: preset } = schema;
  return [
    deprecated && "deprecated", format ?? (type === "string" ? undefined : type),
    minimum !== undefined && (maximum === undefined ? `at least ${minimum}` : `${minimum} to ${maximum}`),
    maxLength && `at most ${maxLength} long`, preset !== undefined && `${preset} by default`,
  ].filter(Boolean).join(", ");
}

function Parameter({ parameter, value, onChange, error }) {
  const { name, required, schema, description, example } = parameter;
  const label = html`<code>${name}</code>${!required && html` <span class="quiet">optional</span>`}`;
  const note = [description, limits(parameter)].filter(Boolean).join(" · ");
  const hint = note ? html`<${Description} text=${note} />` : undefined;
  const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : undefined);
  if (choices) {
    const options = choices.map((choice) => [String(choice), String(choice)]);
    return html`<${SelectField} ...${{ label, hint, error, value, onChange }}
      options=${required ? options : [["", "not sent"], ...options]} />`;
  }
  return html`<${TextField} ...${{ label, hint, error, value, onChange }} class="mono" placeholder=${example ?? ""} />`;
}

/** The parameters of a call, by their places. */
export const Parameters = ({ call, values, setValue, wrong }) => places.map(([place, title]) => {
  const own = (call.parameters ?? []).filter((one) => one.in === place);
  return own.length > 0 && html`<fieldset key=${place} class="parameters"><legend>${title}</legend>
    ${own.map((one) => html`<${Parameter} key=${keyOf(one)} parameter=${one} value=${values[keyOf(one)] ?? ""}
      error=${wrong.includes(one.name) ? "This is needed." : undefined}
      onChange=${(value) => setValue(keyOf(one), value)} />`)}
  </fieldset>`;
});

const examplesOf = (call) => call.examples ?? (call.body === undefined ? [] : [{ name: "Example", body: call.body }]);

/** The body of a call, with its examples. */
export function Body({ call, body, setBody }) {
  const type = call.headers?.["Content-Type"];
  if (!type) return null;
  const complaint = bodyComplaint(call, body);
  const examples = examplesOf(call);
  const format = () => setBody(JSON.stringify(JSON.parse(body), null, 2));
  return html`<fieldset class="parameters"><legend>Body</legend>
    <${TextArea} label=${html`<code>${type}</code>`} rows="10" class="mono" value=${body} onChange=${setBody}
      error=${complaint ?? undefined} />
    <div class="actions">
      ${examples.map(({ name, body: example }) => html`<${Button} key=${name}
        onClick=${() => setBody(bodyText(example))}>${examples.length > 1 ? name : "Example"}<//>`)}
      ${/json/.test(type) && html`<${Button} disabled=${Boolean(complaint) || !body.trim()}
        onClick=${format}>Format<//>`}
      <${Button} onClick=${() => setBody("")}>Clear<//>
    </div>
  </fieldset>`;
}

/** Sends a form by Ctrl and Enter, also from a field of several lines. */
export const sendByKey = (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
};

/** A field for a secret, which is neither stored nor shown. */
export const SecretField = ({ label, hint, error, value, onChange }) => html`
  <${Field} ...${{ label, hint, error }}>${(attributes) => html`
    <input type="password" autocomplete="off" class="mono" ...${attributes} value=${value}
      onInput=${(event) => onChange(event.currentTarget.value)} />`}<//>`;
