// SPDX-License-Identifier: Apache-2.0
import { useAction, useIdentifier } from "./hooks.js";
import { Icon } from "./icons.js";
import { Failure } from "./parts.js";
import { toast } from "./toasts.js";
import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";

/**
 * A button. While `isBusy` it does nothing, but keeps the focus.
 * @param {{kind?: "plain" | "primary" | "danger", type?: "button" | "submit", icon?: string, isBusy?: boolean,
 *   onClick?: () => void, children: unknown}} props and attributes of the button
 */
export const Button = ({ kind = "plain", type = "button", icon, isBusy, onClick, children, ...rest }) => html`
  <button type=${type} class=${kind} aria-disabled=${isBusy ? "true" : undefined} ...${rest}
    onClick=${(event) => (isBusy ? event.preventDefault() : onClick?.(event))}>
    ${icon && html`<${Icon} name=${icon} />`}${children}</button>`;

/**
 * A label, a control, and below it a hint or an error.
 * @param {{label: string, hint?: unknown, error?: string, isHidden?: boolean,
 *   children: (attributes: object) => unknown}} props `isHidden`: the label is for screen readers
 */
export function Field({ label, hint, error, isHidden, children }) {
  const id = useIdentifier();
  const note = error ?? hint;
  const attributes = {
    id,
    "aria-invalid": error ? "true" : undefined,
    "aria-describedby": note ? `${id}-note` : undefined,
  };
  return html`<div class="field">
    <label for=${id} class=${isHidden ? "unseen" : ""}>${label}</label>
    ${children(attributes)}
    ${note && html`<p id=${`${id}-note`} class=${error ? "field-error" : "quiet"}>${note}</p>`}
  </div>`;
}

const onText = (change) => (event) => change(event.currentTarget.value);

/** A field of text. @param {{value: string, onChange: (value: string) => void}} props those of `Field`; attributes */
export const TextField = ({ label, hint, error, isHidden, value, onChange, ...rest }) => html`
  <${Field} ...${{ label, hint, error, isHidden }}>${(attributes) => html`
    <input type="text" autocomplete="off" spellcheck=${false} ...${attributes} ...${rest} value=${value}
      onInput=${onText(onChange)} />`}<//>`;

/** A field of several lines. @param {{value: string, onChange: (value: string) => void}} props as `TextField` */
export const TextArea = ({ label, hint, error, isHidden, value, onChange, ...rest }) => html`
  <${Field} ...${{ label, hint, error, isHidden }}>${(attributes) => html`
    <textarea rows="6" spellcheck=${false} ...${attributes} ...${rest} value=${value}
      onInput=${onText(onChange)}></textarea>`}<//>`;

/** A choice. @param {{options: [string, string][], value: string, onChange: (value: string) => void}} props */
export const SelectField = ({ label, hint, error, isHidden, options, value, onChange, ...rest }) => html`
  <${Field} ...${{ label, hint, error, isHidden }}>${(attributes) => html`
    <select ...${attributes} ...${rest} value=${value} onChange=${onText(onChange)}>
      ${options.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}
    </select>`}<//>`;

/** A check box. @param {{label: string, hint?: string, value: boolean, onChange: (value: boolean) => void}} props */
export function CheckField({ label, hint, value, onChange, ...rest }) {
  const id = useIdentifier();
  return html`<div class="field check">
    <label><input type="checkbox" checked=${value} aria-describedby=${hint ? id : undefined} ...${rest}
      onChange=${(event) => onChange(event.currentTarget.checked)} /> ${label}</label>
    ${hint && html`<p id=${id} class="quiet">${hint}</p>`}
  </div>`;
}

/** A field that finds something. The key `/` leads to it. @param {{label: string}} props as `TextField` */
export const SearchField = (props) => html`<div class="search"><${Icon} name="search" />
  <${TextField} type="search" isHidden placeholder=${props.label} data-search aria-keyshortcuts="/"
    ...${props} /></div>`;

/**
 * A form with its error and its buttons.
 * @param {{onSubmit: () => void, action?: {isRunning: boolean, error?: Error}, submit: string, kind?: string,
 *   isDisabled?: boolean, fields?: string[], onCancel?: () => void, children: unknown}} props
 *   `fields`: names of the errors' fields that the form shows beside its controls
 */
export const Form = ({ onSubmit, action, submit, kind = "primary", isDisabled, fields = [], onCancel, children }) => {
  const send = (event) => {
    event.preventDefault();
    if (!action?.isRunning) onSubmit();
  };
  const error = action?.error;
  return html`<form class="form" onSubmit=${send}>
    ${children}
    ${error && !fields.includes(error.field) && html`<${Failure} error=${error} />`}
    <footer class="form-foot">
      ${onCancel && html`<${Button} onClick=${onCancel}>Cancel<//>`}
      <${Button} type="submit" kind=${kind} isBusy=${action?.isRunning} disabled=${isDisabled}>${submit}<//>
    </footer>
  </form>`;
};

/** The message of an error, if it is about a field. */
export const fieldError = (error, name) => (error?.field === name ? error.message : undefined);

/** The control of a dialog that gets the focus at first. Without one it is the button that closes the dialog. */
const firstControl = ":is(input, select, textarea):not([type=checkbox]), .form-foot button";

/**
 * A modal dialog. It takes the focus and gives it back.
 * @param {{title: string, onClose: () => void, isSticky?: boolean, isWide?: boolean, children: unknown}} props
 *   `isSticky`: only its own button closes it
 */
export function Dialog({ title, onClose, isSticky, isWide, children }) {
  const element = useRef(null);
  const id = useIdentifier();
  useEffect(() => {
    const dialog = element.current;
    dialog.showModal();
    dialog.querySelector(firstControl)?.focus();
    // The browser gives the focus back to the element that had it.
    return () => dialog.close();
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    if (!isSticky) onClose();
  };
  // Chromium closes at the second Escape without the event `cancel`.
  const keep = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    cancel(event);
  };
  return html`<dialog ref=${element} class=${isWide ? "wide" : ""} aria-labelledby=${id} onCancel=${cancel}
    onKeyDown=${keep}>
    <header class="dialog-head"><h2 id=${id}>${title}</h2>
      ${!isSticky && html`<button type="button" class="copy" onClick=${onClose}>
        <${Icon} name="close" /><span class="unseen">Close</span></button>`}</header>
    ${children}
  </dialog>`;
}

/**
 * A dialog that asks before a change.
 * @param {{title: string, action: string, run: () => Promise<unknown>, done?: string, word?: string,
 *   isDangerous?: boolean, onClose: () => void, children: unknown}} props
 *   `done`: the message after it; `word`: a text that has to be typed first
 */
export function Confirm({ title, action: label, run, done, word, isDangerous, onClose, children }) {
  const [typed, setTyped] = useState("");
  const action = useAction(run);
  const submit = async () => {
    if (!(await action.run())) return;
    onClose();
    if (done) toast(done);
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} onSubmit=${submit} action=${action} submit=${label} kind=${isDangerous ? "danger" : "primary"}
      isDisabled=${word !== undefined && typed.trim() !== word.trim()} onCancel=${onClose}>
      <div class="prose">${children}</div>
      ${word !== undefined && html`<${TextField} label=${html`Type <code>${word}</code> to confirm`} value=${typed}
        onChange=${setTyped} />`}
    <//>
  <//>`;
}
