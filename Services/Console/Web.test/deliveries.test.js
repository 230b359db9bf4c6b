// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { deliveryFacts, eventNames, eventsOf, objectPath, randomSecret } from "../Web/model/deliveries.js";

const attempt = (event, number, second, delivered, latency = 20) => ({
  event_id: event, event_type: "Message.created", created_at: "2018-05-04T09:00:00.000Z",
  attempted_at: `2018-05-04T09:00:${second}.000Z`, attempt: number, delivered, response_status: delivered ? 200 : null,
  latency_ms: latency,
});

test("the attempts of an event are together, the newest first", () => {
  const events = eventsOf([attempt("b", 1, "30", true), attempt("a", 2, "20", true), attempt("a", 1, "10", false)]);
  assert.deepEqual(events.map(({ id, isDelivered, attempts, last }) =>
    [id, isDelivered, attempts.length, last.attempt]), [["b", true, 1, 1], ["a", true, 2, 2]]);
});

test("an event that was delivered stays delivered when it is sent again and fails", () => {
  const [event] = eventsOf([attempt("a", 2, "20", false), attempt("a", 1, "10", true)]);
  assert.deepEqual([event.isDelivered, event.last.delivered], [true, false]);
});

test("the median is of the attempts that succeeded", () => {
  const attempts = [attempt("a", 1, "10", true, 10), attempt("b", 1, "11", true, 30), attempt("c", 1, "12", true, 20),
    attempt("d", 1, "13", false, 10_000)];
  assert.deepEqual(deliveryFacts(attempts), { attempts: 4, failed: 1, median: 20 });
  assert.deepEqual(deliveryFacts([]), { attempts: 0, failed: 0, median: null });
});

test("the id of a creation's event leads to the object", () => {
  assert.equal(objectPath({ id: "1", type: "Message.created" }), "/messages/1");
  assert.equal(objectPath({ id: "1", type: "conversation.created" }), "/conversations/1");
  assert.equal(objectPath({ id: "1", type: "Message.deleted" }), null);
});

test("secrets are long and differ", () => {
  assert.match(randomSecret(), /^[\w-]{43}$/);
  assert.notEqual(randomSecret(), randomSecret());
});

test("parts are events of 3.0 only", () => {
  assert.ok(eventNames["3.0"].includes("MessagePart.created") && !eventNames["2.0"].includes("MessagePart.created"));
});
