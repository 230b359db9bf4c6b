// SPDX-License-Identifier: Apache-2.0

/** The text of a value that is not known. */
export const none = "–";

const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);
const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/**
 * Formats a number with at most a given number of decimals: `12,345`.
 * @param {number | null | undefined} value
 */
export const number = (value, decimals = 0) =>
  isMissing(value) ? none
  : decimals ? value.toLocaleString("en", { maximumFractionDigits: decimals })
  : grouped.format(value);

/** Formats a rate or a latency with three significant digits: `0.45`, `12.3`, `1,235`. */
export function quantity(value) {
  if (isMissing(value)) return none;
  const size = Math.abs(value);
  return number(value, size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

const units = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Formats bytes by powers of 1,000: `512 B`, `1.5 kB`, `20 MB`. */
export function bytes(value) {
  if (isMissing(value)) return none;
  let size = Math.abs(value);
  let unit = 0;
  while (unit < units.length - 1 && Math.round(size * 10) >= 10_000) {
    size /= 1000;
    unit += 1;
  }
  return `${value < 0 ? "−" : ""}${number(size, unit && size < 100 ? 1 : 0)} ${units[unit]}`;
}

/** Formats a latency: `0.8 ms`, `340 ms`, `2.5 s`. */
export const latency = (milliseconds) =>
  isMissing(milliseconds) ? none
  : milliseconds >= 1000 ? `${quantity(milliseconds / 1000)} s`
  : `${quantity(milliseconds)} ms`;

const steps = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]];

/** Formats a duration by its two largest units: `3 d 4 h`, `5 min`, `0 s`. */
export function duration(seconds) {
  if (isMissing(seconds)) return none;
  let rest = Math.max(0, Math.round(seconds));
  const first = steps.findIndex(([, size]) => rest >= size);
  if (first < 0) return "0 s";
  const parts = [];
  for (const [unit, size] of steps.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count) parts.push(`${count} ${unit}`);
  }
  return parts.join(" ");
}

/** Units of time: one, several, seconds. */
const spans = [
  ["year", "years", 31_557_600], ["month", "months", 2_629_800], ["day", "days", 86_400], ["h", "h", 3600],
  ["min", "min", 60], ["s", "s", 1],
];

/**
 * Formats a time by its distance from now: `just now`, `3 min ago`, `in 2 h`, `yesterday`, `5 days ago`.
 * @param {string | null | undefined} at ISO 8601
 * @param {number} now milliseconds since 1970
 */
export function relativeTime(at, now = Date.now()) {
  const time = Date.parse(at ?? "");
  if (Number.isNaN(time)) return none;
  const seconds = (now - time) / 1000;
  const distance = Math.abs(seconds);
  if (distance < 10) return "just now";
  const [unit, units, size] = spans.find(([, , one]) => distance >= one);
  const count = Math.floor(distance / size);
  if (unit === "day" && count === 1) return seconds > 0 ? "yesterday" : "tomorrow";
  const text = `${count} ${count === 1 ? unit : units}`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const exact = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const format = (style) => (at) => (Number.isNaN(Date.parse(at ?? "")) ? none : style.format(new Date(at)));

/** Formats date and time with the time zone. */
export const fullTime = format(full);
/** Formats hours and minutes. */
export const clockTime = format(clock);
/** Formats hours, minutes and seconds. */
export const exactTime = format(exact);
/** Formats a date. */
export const dayText = format(day);

/** Returns a count with its noun: `1 user`, `12 users`. */
export const counted = (count, noun, nouns = `${noun}s`) => `${number(count)} ${count === 1 ? noun : nouns}`;

/** Returns the first eight characters of a UUID, or of the UUID at the end of a Layer id. */
export const shortID = (id) => (isMissing(id) || id === "" ? none : String(id).split("/").at(-1).slice(0, 8));

const prefixes = {
  app: "apps/production",
  provider: "providers",
  key: "keys",
  conversation: "conversations",
  user: "identities",
};

/** Escapes all but ASCII letters, digits and `-_.*`, as Layer ids are escaped. */
const escaped = (text) =>
  encodeURIComponent(text).replace(/[!'()~]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** Returns the Layer id of a UUID or a user id, as tools and tokens write it. @param {keyof typeof prefixes} kind */
export const layerID = (kind, id) => `layer:///${prefixes[kind]}/${escaped(id)}`;

/** Returns the last part of a Layer id, unescaped: `layer:///identities/a%20b` is `a b`. */
export function lastPart(id) {
  const part = String(id ?? "").split("/").at(-1);
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
