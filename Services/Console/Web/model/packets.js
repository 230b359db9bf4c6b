// SPDX-License-Identifier: Apache-2.0

/** The largest number of packets that a trace keeps. */
export const keptPackets = 5000;

const shortEnd = (id) => String(id ?? "").split("/").at(-1).slice(0, 8);

/** The number of changed properties that a summary names. */
const most = 3;

function changeSummary({ operation, object, position, user_position: own, data }) {
  const place = position ?? own;
  const operations = Array.isArray(data) ? data : [];
  const properties = [...new Set(operations.map((one) => one?.property).filter(Boolean))];
  const shown = properties.length > most ? [...properties.slice(0, most), "…"] : properties;
  return [
    object?.type, operation, shortEnd(object?.id), place !== undefined && `#${place}`,
    shown.length > 0 && `(${shown.join(", ")})`,
  ].filter(Boolean).join(" ");
}

const summaries = {
  request: ({ method, request_id: id }) => `${method ?? "request"} ${id ?? ""}`.trim(),
  response: ({ method, request_id: id, success, data }) =>
    [method, id, success === false ? `failed: ${data?.id ?? "error"}` : "ok"].filter(Boolean).join(" "),
  change: changeSummary,
  operation: ({ method, object }) => `${method ?? "operation"} ${shortEnd(object?.id)}`.trim(),
  signal: ({ type, data, object }) =>
    [type, data?.action, data?.sender?.user_id, shortEnd(object?.id)].filter(Boolean).join(" "),
};

/** Describes a packet in one line: `Message create 0c4b0b4e #17`. */
export function packetSummary(packet) {
  const body = packet?.body;
  const isKnown = body && typeof body === "object" && Object.hasOwn(summaries, packet.type);
  return isKnown ? summaries[packet.type](body) : JSON.stringify(packet ?? null).slice(0, 120);
}

const events = {
  opened: () => "socket opened",
  closed: ({ code, reason }) => ["socket closed", code, reason].filter(Boolean).join(" "),
  dropped: ({ count }) => `${count ?? "some"} packets are missing: they came faster than they could be sent here`,
};

const eventSummary = (line) => (Object.hasOwn(events, line.event) ? events[line.event](line) : line.event);

/**
 * Makes an entry of a trace from a line of the gateway.
 * @param {object} line `{at, socket, direction, packet}` or `{event, socket, at, count}`
 * @param {number} number the place of the entry in the trace
 */
export function traceEntry(line, number) {
  const isEvent = line.event !== undefined;
  const text = isEvent ? "" : JSON.stringify(line.packet);
  return {
    number, line, at: line.at, socket: String(line.socket ?? ""),
    direction: isEvent ? "event" : line.direction,
    type: isEvent ? line.event : (line.packet?.type ?? "other"),
    summary: isEvent ? eventSummary(line) : packetSummary(line.packet),
    bytes: isEvent ? null : new TextEncoder().encode(text).length,
    text: `${isEvent ? line.event : text} ${line.socket ?? ""}`.toLowerCase(),
  };
}

/** Appends entries and drops the oldest ones beyond the limit. */
export const withEntries = (entries, coming, limit = keptPackets) => [...entries, ...coming].slice(-limit);

/**
 * Returns the entries that a filter shows. Events of sockets are shown in both directions.
 * @param {{direction: string, type: string, socket: string, text: string}} filter empty: all
 */
export function filtered(entries, { direction, type, socket, text }) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter((entry) =>
    (!direction || entry.direction === direction || entry.direction === "event")
    && (!type || entry.type === type) && (!socket || entry.socket === socket)
    && words.every((word) => entry.text.includes(word)));
}

/** Returns the lines of entries as NDJSON. */
export const ndjson = (entries) => entries.map((entry) => `${JSON.stringify(entry.line)}\n`).join("");
