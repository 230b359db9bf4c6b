// SPDX-License-Identifier: Apache-2.0

/**
 * Puts the attempts of each event together, the newest first. Events are in the order of their latest attempts.
 * @param {object[]} attempts as the Server API lists them
 */
export function eventsOf(attempts) {
  const byEvent = new Map();
  for (const attempt of attempts) {
    const { event_id: id, event_type: type, created_at: createdAt } = attempt;
    if (!byEvent.has(id)) byEvent.set(id, { id, type, createdAt, attempts: [] });
    byEvent.get(id).attempts.push(attempt);
  }
  const events = [...byEvent.values()];
  for (const event of events) {
    event.attempts.sort((a, b) => b.attempted_at.localeCompare(a.attempted_at) || b.attempt - a.attempt);
    [event.last] = event.attempts;
    event.isDelivered = event.attempts.some((attempt) => attempt.delivered);
  }
  return events.sort((a, b) => b.last.attempted_at.localeCompare(a.last.attempted_at));
}

/** The share of successful attempts and the median of their latencies. */
export function deliveryFacts(attempts) {
  const latencies = attempts.filter((one) => one.delivered).map((one) => one.latency_ms).sort((a, b) => a - b);
  return {
    attempts: attempts.length,
    failed: attempts.length - latencies.length,
    median: latencies.length ? latencies[Math.floor(latencies.length / 2)] : null,
  };
}

/** Returns the path of the object that an event created and that has the event's id, or null. */
export function objectPath(event) {
  if (["Message.created", "message.sent"].includes(event.type)) return `/messages/${event.id}`;
  if (["Conversation.created", "conversation.created"].includes(event.type)) return `/conversations/${event.id}`;
  return null;
}

/** The events of each version, as a webhook is registered for them. */
export const eventNames = {
  "3.0": [
    "Message.created", "Message.updated", "Message.deleted", "MessagePart.created", "MessagePart.updated",
    "MessagePart.deleted", "Receipt.created", "Conversation.created", "Conversation.updated", "Conversation.deleted",
    "Participation.created", "Participation.deleted", "Push",
  ],
  "2.0": [
    "Message.created", "Message.updated", "Message.deleted", "Receipt.created", "Conversation.created",
    "Conversation.updated", "Conversation.deleted", "Participation.created", "Participation.deleted", "Push",
  ],
  "1.0": [
    "message.sent", "message.deleted", "message.delivered", "message.read", "conversation.created",
    "conversation.updated.metadata", "conversation.updated.participants", "conversation.deleted", "Push",
  ],
};

/** Returns a secret of 32 random bytes in base64url. */
export function randomSecret() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
