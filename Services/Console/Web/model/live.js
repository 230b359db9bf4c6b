// SPDX-License-Identifier: Apache-2.0

/** What the kinds of changes are called on the page. */
export const kindTitles = {
  conversation_created: "Created", participants_changed: "Participants", metadata_changed: "Metadata",
  conversation_deleted: "Deleted", message_created: "Message", message_deleted: "Message deleted", receipts: "Receipts",
  all_read: "All read", parts_changed: "Parts",
};

/** Joins names and shortens a long list: `alice, bob and 3 more`. */
export function joined(names, most = 3) {
  if (names.length <= most + 1) return names.join(", ").replace(/, ([^,]*)$/, " and $1");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

function receiptText(receipts) {
  const groups = new Map();
  for (const { user, status } of receipts) {
    const key = `${user} ${status === "read" ? "read" : "received"}`;
    groups.set(key, (groups.get(key) ?? 0) + 1);
  }
  return [...groups].map(([key, count]) => `${key} ${count === 1 ? "a message" : `${count} messages`}`).join("; ");
}

const list = (verb, names) => (names?.length ? [`${verb} ${joined(names)}`] : []);

const setsAndDeletions = (effects) => {
  const paths = (isSet) => effects.filter(({ value }) => (value !== null) === isSet).map(({ path }) => path);
  return [...list("set", paths(true)), ...list("deleted", paths(false))].join("; ");
};

/** Texts of what a change did, from its `operations`. */
const texts = {
  conversation_created: () => "created the conversation",
  participants_changed: ({ added, removed }) => [...list("added", added), ...list("removed", removed)].join("; "),
  metadata_changed: setsAndDeletions,
  conversation_deleted: () => "deleted the conversation",
  message_created: () => "sent a message",
  message_deleted: () => "deleted a message",
  receipts: receiptText,
  all_read: ({ user }) => `${user} read all messages`,
  parts_changed: () => "changed the parts of a message",
};

/** The kinds whose texts are made of their operations. */
const detailed = new Set(["participants_changed", "metadata_changed", "receipts", "all_read"]);

/** Describes what a change did: `set trip.city; deleted trip.hotel`. Empty for a kind that is not known. */
export function changeText({ kind, operations }) {
  if (!operations && detailed.has(kind)) return "";
  return Object.hasOwn(texts, kind) ? texts[kind](operations) : "";
}

/** True if the text of a change begins with who made it. */
export const namesActor = ({ kind }) => kind === "receipts" || kind === "all_read";

/** Puts changes, the newest first, before those that are known; each position once. At most `limit` are kept. */
export function withChanges(known, coming, limit = 200) {
  const positions = new Set(coming.map((change) => change.position));
  const all = [...coming, ...known.filter((change) => !positions.has(change.position))];
  return all.sort((a, b) => b.position - a.position).slice(0, limit);
}

/** True if positions are missing between the known changes and a new one. Live changes come without gaps. */
export const hasGap = (newest, change) => newest !== undefined && change.position > newest + 1;

/** The time after which a user whose signals stopped is not shown as typing any more, in milliseconds. */
const typingTimeout = 25_000;

/**
 * Applies a signal to the typing users.
 * @param {Map<string, {action: string, at: number}>} typing
 * @param {{user: string, action: "started" | "paused" | "finished"}} signal
 * @param {number} now milliseconds
 */
export function withSignal(typing, { user, action }, now) {
  const next = new Map(typing);
  if (action === "finished") next.delete(user);
  else next.set(user, { action, at: now });
  return next;
}

/** Drops the users whose last signal is too old. Returns the same map if there is none. */
export function withoutSilent(typing, now) {
  const next = new Map([...typing].filter(([, { at }]) => now - at < typingTimeout));
  return next.size === typing.size ? typing : next;
}

/** Says who is typing: `alice is typing; bob has paused`. Empty if nobody is. */
export function typingText(typing, nameOf = (user) => user) {
  const users = (action) => [...typing].filter(([, one]) => one.action === action).map(([user]) => nameOf(user));
  const [started, paused] = [users("started"), users("paused")];
  const verb = (names, one, many) => (names.length ? [`${joined(names)} ${names.length === 1 ? one : many}`] : []);
  return [...verb(started, "is typing", "are typing"), ...verb(paused, "has paused", "have paused")].join("; ");
}

/** The numbers of a message's recipients by status, in the order of a receipt's life. */
export function receiptGroups(statusOf) {
  const groups = { read: [], delivered: [], sent: [] };
  for (const [user, status] of Object.entries(statusOf ?? {})) (groups[status] ??= []).push(user);
  return Object.entries(groups).filter(([, users]) => users.length > 0);
}
