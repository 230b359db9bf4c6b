-- SPDX-License-Identifier: Apache-2.0
-- Webhooks: what apps' own servers want to be told, and what they have not been told yet.
--
-- What is to be told is recorded in the transaction of the change, as it is then. A row of the outbox goes when its receiver has accepted it.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_webhooks') THEN CREATE ROLE strata_webhooks LOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- roles belong to the cluster: another database's migration made it at this moment
END
$$;

CREATE SCHEMA webhooks;

-- Where an app's server wants to be told of events.
CREATE TABLE webhooks.hook (
    id             uuid PRIMARY KEY,
    app_id         uuid NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Of the payloads.
    version        text NOT NULL CHECK (version IN ('1.0', '2.0', '3.0')),
    target_url     text NOT NULL,
    -- Signs what is sent.
    secret         text NOT NULL,
    -- As the app's server named them, and what is recorded for them.
    events         text[] NOT NULL,
    kinds          text[] NOT NULL,
    -- Strings by name, sent along with each event.
    config         jsonb NOT NULL DEFAULT '{}',
    status         text NOT NULL DEFAULT 'unverified' CHECK (status IN ('unverified', 'active', 'inactive')),
    -- Why it is inactive.
    status_reason  text,
    -- When an instance asks the receiver whether it wants the events. NULL: it need not be asked.
    verify_at      timestamptz,
    -- Since when the receiver has said so. Services that believe that the app has no hooks learn of it within seconds; only then it becomes active.
    verified_at    timestamptz,
    inactive_since timestamptz
);
CREATE INDEX hook_by_app ON webhooks.hook (app_id);
CREATE INDEX hook_to_verify ON webhooks.hook (verify_at) WHERE verify_at IS NOT NULL;

-- What one hook is owed, in the order in which it is sent: within a lane by position and number. The lane is the conversation, or what a push goes to; the
-- position is that of the change. Facts and parts are the objects as they were then; each version's payload is made of them when it is sent.
CREATE TABLE webhooks.outbox (
    hook_id    uuid NOT NULL,
    lane       uuid NOT NULL,
    position   bigint NOT NULL,
    number     bigint NOT NULL,
    app_id     uuid NOT NULL,
    kind       text NOT NULL,
    -- The receiver recognises a repetition by it.
    event_id   uuid NOT NULL,
    created_at timestamptz NOT NULL,
    -- What the event is about, where that is not the lane: an event that is sent again has a lane of its own.
    subject    uuid,
    facts      jsonb NOT NULL,
    parts      bytea,
    -- About how many bytes facts and parts have.
    size       bigint NOT NULL,
    PRIMARY KEY (hook_id, lane, position, number)
);

-- One row for each lane that has rows in the outbox. A writer locks it before writing to the outbox, and an instance before removing from it: so that neither
-- misses what the other one did, and what writers add comes in the order in which their transactions end.
CREATE TABLE webhooks.lane (
    hook_id  uuid NOT NULL,
    lane     uuid NOT NULL,
    app_id   uuid NOT NULL,
    -- When it can be claimed: at once, after a failure later, and while an instance works on it when the instance must be done.
    due_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- By which instance's turn it was claimed last.
    claim    uuid,
    -- How often its first event has failed, and since when it does; NULL: it has not.
    attempts bigint NOT NULL DEFAULT 0,
    failed_since timestamptz,
    PRIMARY KEY (hook_id, lane)
) WITH (fillfactor = 50);
CREATE INDEX lane_by_due ON webhooks.lane (hook_id, due_at) WHERE attempts = 0;
CREATE INDEX lane_failing ON webhooks.lane (hook_id, due_at) WHERE attempts > 0;
CREATE INDEX lane_failing_claimed ON webhooks.lane (hook_id, claim) WHERE attempts > 0 AND claim IS NOT NULL;

-- The latest attempts of each hook, with what was sent, so that it can be sent again.
CREATE TABLE webhooks.delivery (
    hook_id         uuid NOT NULL,
    number          bigint GENERATED ALWAYS AS IDENTITY,
    app_id          uuid NOT NULL,
    event_id        uuid NOT NULL,
    kind            text NOT NULL,
    created_at      timestamptz NOT NULL,
    attempted_at    timestamptz NOT NULL,
    attempt         bigint NOT NULL,
    is_delivered    boolean NOT NULL,
    response_status bigint,
    latency_ms      bigint NOT NULL,
    error           text,
    -- Where the event was in the outbox.
    lane            uuid NOT NULL,
    lane_position   bigint NOT NULL,
    lane_number     bigint NOT NULL,
    -- The conversation, or what a push goes to.
    subject         uuid NOT NULL,
    facts           jsonb NOT NULL,
    parts           bytea,
    PRIMARY KEY (hook_id, number)
);
CREATE INDEX delivery_by_event ON webhooks.delivery (hook_id, event_id);

-- Orders what has no conversation's position.
CREATE SEQUENCE webhooks.number;

GRANT USAGE ON SCHEMA webhooks TO strata_webhooks, strata_conversations, strata_metadata;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks.hook, webhooks.outbox, webhooks.lane, webhooks.delivery TO strata_webhooks;
GRANT USAGE ON SEQUENCE webhooks.number TO strata_webhooks;
