-- SPDX-License-Identifier: Apache-2.0
-- Webhooks: the servers to which apps want events sent, and the undelivered events.
--
-- An event is recorded in the transaction of its change.

CREATE TABLE webhooks.hook (
    id             uuid PRIMARY KEY,
    app_id         uuid NOT NULL,
    -- The server token that registered the hook. It may have been revoked since. NULL: unknown.
    token_id       uuid,
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The format of the payloads.
    version        text NOT NULL CHECK (version IN ('1.0', '2.0', '3.0')),
    target_url     text NOT NULL,
    -- The key of the payloads' signatures, encrypted by the webhooks service.
    secret         bytea NOT NULL,
    -- The events as the app's server named them, and the kinds of events that are recorded for them.
    events         text[] NOT NULL,
    kinds          text[] NOT NULL,
    -- String values by name, sent with each event.
    config         jsonb NOT NULL DEFAULT '{}',
    status         text NOT NULL DEFAULT 'unverified' CHECK (status IN ('unverified', 'active', 'inactive')),
    -- The reason for the status inactive.
    status_reason  text,
    -- The time at which an instance asks the receiver to confirm the hook. NULL: no confirmation is pending.
    verify_at      timestamptz,
    -- The time at which the receiver confirmed. The hook becomes active seconds later, when no service has a cached
    -- answer any longer by which the app has no hooks.
    verified_at    timestamptz,
    inactive_since timestamptz
);
CREATE INDEX hook_by_app ON webhooks.hook (app_id);
CREATE INDEX hook_by_token ON webhooks.hook (token_id);
CREATE INDEX hook_to_verify ON webhooks.hook (verify_at) WHERE verify_at IS NOT NULL;

-- Orders events that have no position in a conversation.
CREATE SEQUENCE webhooks.number INCREMENT BY 1024;

-- Events that are pending for some hook or were delivered recently, each once for all hooks. A row holds the change.
-- The objects concerned are read at delivery, except for a sent message and for deleted objects.
CREATE TABLE webhooks.event (
    -- Unique among all databases, see conversations.database.
    id         bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY 1024) PRIMARY KEY,
    app_id     uuid NOT NULL,
    kind       text NOT NULL,
    -- The id by which the receiver recognises a duplicate.
    event_id   uuid NOT NULL,
    created_at timestamptz NOT NULL,
    -- The conversation, or the target of a push.
    subject    uuid NOT NULL,
    facts      jsonb NOT NULL,
    parts      bytea
);

-- The events that each hook's receiver has not accepted.
CREATE TABLE webhooks.outbox (
    hook_id  uuid NOT NULL,
    -- The unit of order, within which events are sent by position and number: the event's subject, or a separate lane
    -- for a redelivered event.
    lane     uuid NOT NULL,
    -- The position of the change.
    position bigint NOT NULL,
    number   bigint NOT NULL,
    -- The id of the event's row.
    event    bigint NOT NULL,
    -- The approximate bytes of the event.
    size     bigint NOT NULL,
    PRIMARY KEY (hook_id, lane, position, number)
);
CREATE INDEX outbox_by_event ON webhooks.outbox (event);

-- Lanes that have rows in the outbox. A writer locks the lane before it adds to the outbox, and an instance before it
-- removes from it. So neither misses the other's work, and events are added in the order in which their transactions
-- end.
CREATE TABLE webhooks.lane (
    hook_id      uuid NOT NULL,
    lane         uuid NOT NULL,
    app_id       uuid NOT NULL,
    -- The time from which an instance can claim the lane: at once, later after a failure, or the end of the lease while
    -- an instance works on it.
    due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The id of the last claim.
    claim        uuid,
    -- Claims since the last one that ended properly: their instances were killed.
    lost         bigint NOT NULL DEFAULT 0,
    -- The bytes of the lane's events.
    bytes        bigint NOT NULL DEFAULT 0,
    -- True if the lane was created for a redelivered event.
    is_again     boolean NOT NULL DEFAULT false,
    -- Consecutive failures of the first event, and the time of the first of them. NULL: none.
    attempts     bigint NOT NULL DEFAULT 0,
    failed_since timestamptz,
    PRIMARY KEY (hook_id, lane)
) WITH (fillfactor = 50);
CREATE INDEX lane_by_due ON webhooks.lane (hook_id, due_at) WHERE attempts = 0;
CREATE INDEX lane_again ON webhooks.lane (hook_id) WHERE is_again;
CREATE INDEX lane_failing ON webhooks.lane (hook_id, due_at) WHERE attempts > 0;
CREATE INDEX lane_failing_claimed ON webhooks.lane (hook_id, claim) WHERE attempts > 0 AND claim IS NOT NULL;

-- The latest delivery attempts of each hook.
CREATE TABLE webhooks.delivery (
    hook_id         uuid NOT NULL,
    number          bigint GENERATED ALWAYS AS IDENTITY (INCREMENT BY 1024),
    app_id          uuid NOT NULL,
    event_id        uuid NOT NULL,
    kind            text NOT NULL,
    created_at      timestamptz NOT NULL,
    attempted_at    timestamptz NOT NULL,
    attempt         bigint NOT NULL,
    is_delivered    boolean NOT NULL,
    -- The HTTP status. NULL: there was no response.
    response_status bigint,
    latency_ms      bigint NOT NULL,
    error           text,
    -- The id of the event's row, which is kept as long as an attempt refers to it, so that the event can be
    -- redelivered.
    event           bigint NOT NULL,
    -- The event's place in the outbox.
    lane            uuid NOT NULL,
    lane_position   bigint NOT NULL,
    lane_number     bigint NOT NULL,
    PRIMARY KEY (hook_id, number)
);
CREATE INDEX delivery_by_event ON webhooks.delivery (hook_id, event_id);
CREATE INDEX delivery_of_event ON webhooks.delivery (event);

GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks.hook, webhooks.event, webhooks.outbox, webhooks.lane,
    webhooks.delivery TO strata_webhooks;
GRANT USAGE ON SEQUENCE webhooks.number TO strata_webhooks;
