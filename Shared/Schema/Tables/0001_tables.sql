-- SPDX-License-Identifier: Apache-2.0
-- Conversations: what they are, who is in them, their messages and the log of their changes.
--
-- Everything a hot statement touches has the conversation's id as its first key column, so that the tables can be split by it. The exceptions are
-- directories with keys of their own: distinct_set, message_place, and what is kept by user.
-- A position is a conversation's change number, an ordinal its message number; both dense from 1. Sets of ordinals are multiranges.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_conversations') THEN CREATE ROLE strata_conversations LOGIN; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_metadata') THEN CREATE ROLE strata_metadata LOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- roles belong to the cluster: another database's migration made them at this moment
END
$$;

CREATE SCHEMA conversations;

-- The row every change of a conversation locks. Updated by each of them and indexed by nothing they alter, so that updates stay on the page.
CREATE TABLE conversations.conversation (
    id               uuid PRIMARY KEY,
    app_id           uuid NOT NULL,
    created_at       timestamptz NOT NULL,
    created_by       text COLLATE "C" NOT NULL,
    is_distinct      boolean NOT NULL,
    -- Fixed at creation. Bits: 1 delivery receipts are the recipient's own business, 2 read receipts are.
    receipt_policy   bigint NOT NULL DEFAULT 0,
    position         bigint NOT NULL DEFAULT 0,
    last_change_at   timestamptz NOT NULL,
    -- Messages it has had, those deleted included; the ordinal of the next one less 1.
    message_count    bigint NOT NULL DEFAULT 0,
    -- Of the newest message that is not deleted; 0: none.
    last_ordinal     bigint NOT NULL DEFAULT 0,
    -- Where it was deleted for all.
    deleted_position bigint,
    deleted_at       timestamptz
) WITH (fillfactor = 40);
CREATE INDEX conversation_deleted ON conversations.conversation (deleted_at) WHERE deleted_at IS NOT NULL;

-- Its present participants, sorted: one row to read where otherwise there would be hundreds. Written when somebody comes or goes.
CREATE TABLE conversations.roster (
    conversation_id uuid PRIMARY KEY,
    user_ids        text[] COLLATE "C" NOT NULL
);

-- Everybody who is or was a participant.
CREATE TABLE conversations.participant (
    conversation_id uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    app_id          uuid NOT NULL,
    -- The positions of his first and of his latest coming.
    first_joined    bigint NOT NULL,
    joined          bigint NOT NULL,
    -- Of a former participant: the position of his leaving, and how many messages there were then. He sees nothing later.
    left_position   bigint,
    left_ordinal    bigint,
    -- He deleted the conversation from his devices: all up to this position and this ordinal. It stays when newer messages bring the conversation back.
    hidden_up_to    bigint NOT NULL DEFAULT 0,
    hidden_ordinal  bigint NOT NULL DEFAULT 0,
    -- Whether the conversation is off his list for as long as he sees no message in it.
    is_hidden       boolean NOT NULL DEFAULT false,
    -- Ordinals of messages he hid one by one, above hidden_ordinal.
    hidden          int8multirange NOT NULL DEFAULT '{}',
    -- Ordinals he has read, and those delivered and not read. His own messages may be in them, where that joins ranges; they count as read anyway.
    read            int8multirange NOT NULL DEFAULT '{}',
    delivered       int8multirange NOT NULL DEFAULT '{}',
    -- Messages, up to where he left, that do not count as unread: own, read, hidden or deleted for all.
    uncounted       bigint NOT NULL,
    -- Messages, up to where he left, that he does not see: hidden or deleted for all.
    hidden_count    bigint NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
) WITH (fillfactor = 70);

-- The conversations a user is or was in, by user: lists and baselines.
CREATE TABLE conversations.user_conversation (
    app_id          uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    conversation_id uuid NOT NULL,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_id, conversation_id)
);

-- Messages that are not deleted for all.
CREATE TABLE conversations.message (
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL,
    id              uuid NOT NULL,
    position        bigint NOT NULL,
    sender          text COLLATE "C" NOT NULL,
    sent_at         timestamptz NOT NULL,
    parts           bytea NOT NULL,
    notification    text,
    -- When its sender changed a part last.
    updated_at      timestamptz,
    -- The conversation's, so that a message can be read without it.
    receipt_policy  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation_id, ordinal)
);

-- What somebody who left goes on seeing of the others: who had taken part, up to which message, and what had come with each of them.
CREATE TABLE conversations.kept_receipts (
    conversation_id uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    users           text[] COLLATE "C" NOT NULL,
    left_ordinals   bigint[] NOT NULL,
    reads           int8multirange[] NOT NULL,
    delivereds      int8multirange[] NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);

-- Parts of messages that were changed after somebody who had seen them left, and until which position.
CREATE TABLE conversations.kept_parts (
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL,
    until_position  bigint NOT NULL,
    parts           bytea NOT NULL,
    updated_at      timestamptz,
    PRIMARY KEY (conversation_id, ordinal, until_position)
);

-- Every message id ever used, and where: makes ids unique, and finds a message by its id alone. Outlives the message.
CREATE TABLE conversations.message_place (
    message_id      uuid PRIMARY KEY,
    app_id          uuid NOT NULL,
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL
);

-- The distinct conversation of a set of participants: where two racing creations meet.
CREATE TABLE conversations.distinct_set (
    app_id          uuid NOT NULL,
    digest          bytea NOT NULL,
    conversation_id uuid NOT NULL,
    PRIMARY KEY (app_id, digest)
);

-- The change log. Kinds: 1 conversation created, 2 participants changed, 3 metadata changed, 4 conversation deleted, 5 message created,
-- 6 message deleted, 7 receipts, 8 all read, 9 parts changed.
CREATE TABLE conversations.change (
    conversation_id   uuid NOT NULL,
    position          bigint NOT NULL,
    kind              smallint NOT NULL,
    actor             text COLLATE "C" NOT NULL,
    origin_connection bigint,
    origin_request    bigint,
    message_id        uuid,
    ordinal           bigint,
    message_count     bigint NOT NULL,
    operations        jsonb,
    created_at        timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, position, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX change_by_time ON conversations.change (created_at);

-- Should nobody have made partitions for too long. Empty otherwise.
CREATE TABLE conversations.change_rest PARTITION OF conversations.change DEFAULT;

-- Where the log begins: all changes since then are there.
CREATE TABLE conversations.log_begin (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    at      timestamptz NOT NULL
);
INSERT INTO conversations.log_begin (at) VALUES ('-infinity');

-- A user's own log: what belongs to him and to no conversation. Kinds: 1 conversation hidden, 2 conversation shown, 3 message hidden,
-- 4 identity changed (his own, or that of somebody he follows), 5 followed, 6 unfollowed, 7 announced, 8 announcement delivered or read,
-- 9 announcement removed.
CREATE TABLE conversations.user_log (
    app_id         uuid NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    position       bigint NOT NULL,
    last_change_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_id)
) WITH (fillfactor = 60);

CREATE TABLE conversations.user_change (
    app_id     uuid NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    position   bigint NOT NULL,
    kind       smallint NOT NULL,
    operations jsonb,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_id, position)
);
CREATE INDEX user_change_by_time ON conversations.user_change (created_at);
