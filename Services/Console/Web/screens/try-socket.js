// SPDX-License-Identifier: Apache-2.0
import { Button, SelectField, TextArea } from "../forms.js";
import { counted } from "../format.js";
import { useIsOperator } from "../hooks.js";
import { Code } from "../json.js";
import { bodyText } from "../model/calls.js";
import { socketLine } from "../model/curl.js";
import { Copy, Panel } from "../parts.js";
import { html, useState } from "../vendor/preact-htm.js";
import { Outcome } from "./try-answer.js";
import { Description, SecretField, sendByKey } from "./try-form.js";
import { sendFrames } from "./try-send.js";

const lengths = [1, 2, 5, 10].map((seconds) => [String(seconds), counted(seconds, "second")]);

/** The maximum number of frames that the console sends at once. */
const mostFrames = 20;

/** The text of a frame on one line, or undefined if it is no JSON. */
const frameOf = (text) => {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
};

function Frames({ frames, setFrames }) {
  const change = (index) => (text) => setFrames(frames.map((old, place) => (place === index ? text : old)));
  const remove = (index) => setFrames(frames.filter((_, place) => place !== index));
  return html`<fieldset class="parameters"><legend>Frames, sent in this order</legend>
  ${frames.map((frame, index) => html`<div key=${index} class="frame">
    <${TextArea} label=${`Frame ${index + 1}`} rows="8" class="mono" value=${frame}
      error=${frameOf(frame) === undefined ? "The frame is no JSON." : undefined}
      onChange=${change(index)} />
    ${frames.length > 1 && html`<${Button} onClick=${() => remove(index)}>Remove<//>`}
  </div>`)}
  <div class="actions"><${Button} icon="plus" disabled=${frames.length >= mostFrames}
    onClick=${() => setFrames([...frames, frames.at(-1)])}>Add a frame<//></div>
</fieldset>`;
}

/** A form that opens a socket, sends frames and shows what comes. */
export function SocketCall({ call, caller, change }) {
  const isOperator = useIsOperator();
  const [frames, setFrames] = useState(() => [bodyText(call.body)]);
  const [seconds, setSeconds] = useState("2");
  const [outcome, setOutcome] = useState(null);
  const [isSending, setSending] = useState(false);
  const [isTouched, setTouched] = useState(false);
  const texts = frames.map(frameOf);
  const submit = async (event) => {
    event.preventDefault();
    setTouched(true);
    if (isSending || !caller.session || texts.includes(undefined)) return;
    setSending(true);
    setOutcome(await sendFrames({ session: caller.session, frames: texts, seconds: Number(seconds) }));
    setSending(false);
  };
  const line = socketLine(texts.map((text, index) => text ?? frames[index]), Number(seconds));
  return html`<div class="call">
    <${Panel} title=${call.summary} note=${html`<code>${call.method}</code>`}>
      ${call.description && html`<p class="call-text"><${Description} text=${call.description} /></p>`}
      <form class="form" onSubmit=${submit} onKeyDown=${sendByKey}>
        <${SecretField} label="Session token" value=${caller.session} onChange=${(session) => change({ session })}
          hint="Used for this socket, never stored and never noted"
          error=${isTouched && !caller.session ? "This is needed." : undefined} />
        <${SelectField} label="Open for" options=${lengths} value=${seconds} onChange=${setSeconds} />
        <${Frames} ...${{ frames, setFrames }} />
        <footer class="form-foot">${isOperator
          ? html`<${Button} type="submit" kind="primary" isBusy=${isSending}>
            ${isSending ? "The socket is open" : "Open and send"}<//>`
          : html`<p class="quiet">
              Only operators may open a socket. The line below works with a session of your own.</p>`}</footer>
      </form>
    <//>
    <${Outcome} outcome=${outcome} />
    <${Panel} title="As a command" note="Needs STRATA, a gateway's URL, and SESSION"
      actions=${html`<${Copy} text=${line} label="Copy" isVisible />`}>
      <${Code}>${line}<//><//>
  </div>`;
}
