// SPDX-License-Identifier: Apache-2.0
import { patch } from "../api.js";
import { duration, number } from "../format.js";
import { CheckField, fieldError, Form, SelectField, TextField } from "../forms.js";
import { useAction, useIsOperator } from "../hooks.js";
import { Facts, Panel } from "../parts.js";
import { toast } from "../toasts.js";
import { html, useState } from "../vendor/preact-htm.js";

const badges = [
  ["unread_messages", "Unread messages"], ["unread_conversations", "Unread conversations"],
  ["external", "Only the number that the app's server sets"], ["disabled", "No number"],
];
const adders = [
  ["anyone", "Anyone"], ["followed", "Users whom the added user follows"], ["server", "Only the app's server"],
];

/** The fields of the form as texts. */
export const texts = (settings) => ({
  ...settings,
  session_ttl_in_seconds: String(settings.session_ttl_in_seconds ?? ""),
  stranger_additions_per_hour: String(settings.stranger_additions_per_hour),
});

const whole = (text) => (/^\d+$/.test(text.trim()) ? Number(text) : null);

/** Returns what is wrong with a field, if anything. */
const faultOf = (text, low, high) => {
  const value = whole(text);
  if (value !== null && value >= low && value <= high) return undefined;
  return `A whole number from ${number(low)} to ${number(high)}.`;
};

/**
 * Returns the operations of a patch that make the settings those of the form.
 * @param {object} settings
 * @param {object} form as made by `texts`
 */
export function operations(settings, form) {
  const wanted = {
    ...form,
    session_ttl_in_seconds: whole(form.session_ttl_in_seconds),
    stranger_additions_per_hour: whole(form.stranger_additions_per_hour),
  };
  return Object.keys(wanted).filter((property) => wanted[property] !== settings[property])
    .map((property) => ({ operation: "set", property, value: wanted[property] }));
}

const nameOf = (options, value) => options.find(([key]) => key === value)?.[1] ?? value;

const lifetimeText = (seconds) => (seconds === null ? "the server's setting" : duration(seconds));

const Values = ({ settings }) => html`<${Facts} items=${[
  ["Session lifetime", lifetimeText(settings.session_ttl_in_seconds)],
  ["App icon counts", nameOf(badges, settings.badge_counts)],
  ["Announcements", settings.badge_counts_announcements ? "Counted" : "Not counted"],
  ["Participants are added by", nameOf(adders, settings.participants_added_by)],
  ["Additions by a stranger, an hour", number(settings.stranger_additions_per_hour)],
]} />`;

function Editor({ app, changed }) {
  const [form, setForm] = useState(() => texts(app.settings));
  const set = (property) => (value) => setForm((old) => ({ ...old, [property]: value }));
  const changes = operations(app.settings, form);
  const lifetime = form.session_ttl_in_seconds.trim();
  const lifetimeFault = lifetime ? faultOf(lifetime, 30, 31_536_000) : undefined;
  const additionsFault = faultOf(form.stranger_additions_per_hour, 0, 10_000);
  const action = useAction(async () => {
    await patch(app.id, "", changes);
    toast("The settings are saved.");
    changed();
  });
  const error = (property) => fieldError(action.error, property);
  return html`<${Form} onSubmit=${action.run} action=${action} submit="Save" fields=${Object.keys(form)}
    isDisabled=${changes.length === 0 || lifetimeFault || additionsFault}>
    <${TextField} label="Lifetime of an unused session, in seconds" inputmode="numeric"
      placeholder="the server's setting"
      value=${form.session_ttl_in_seconds} onChange=${set("session_ttl_in_seconds")}
      hint=${lifetime ? duration(whole(lifetime)) : "Empty: the server's setting."}
      error=${lifetimeFault ?? error("session_ttl_in_seconds")} />
    <${SelectField} label="The app's icon counts" options=${badges} value=${form.badge_counts}
      onChange=${set("badge_counts")}
      error=${error("badge_counts")} />
    <${CheckField} label="Unread announcements count, too" value=${form.badge_counts_announcements}
      onChange=${set("badge_counts_announcements")} />
    <${SelectField} label="Who may add participants" options=${adders} value=${form.participants_added_by}
      onChange=${set("participants_added_by")} error=${error("participants_added_by")} />
    <${TextField} label="Additions of one user by a stranger, an hour" inputmode="numeric"
      value=${form.stranger_additions_per_hour}
      onChange=${set("stranger_additions_per_hour")} error=${additionsFault ?? error("stranger_additions_per_hour")} />
  <//>`;
}

/** The settings of an app. Viewers see them as values; so does everyone while the app is suspended. */
export function Settings({ app, changed }) {
  const isEditable = useIsOperator() && !app.suspended && !app.deleting;
  return html`<${Panel} title="Limits and settings">
    ${isEditable ? html`<${Editor} app=${app} changed=${changed} />` : html`<${Values} settings=${app.settings} />`}
  <//>`;
}
