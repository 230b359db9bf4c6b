-- SPDX-License-Identifier: Apache-2.0
-- The change log of conversations, and the users' own logs. Within a conversation and within a user's log, times never run against positions.

-- Changes of conversations, in partitions of one week. The time is in the key because a partitioned table's key contains the partition's.
--
-- Kinds:               operations:
--  1 created           participants
--  2 participants      those added and removed
--  3 metadata          the effects of the patch
--  4 deleted for all
--  5 message created
--  6 message deleted
--  7 receipts          what has moved, by user
--  8 all read
--  9 parts changed     the parts
CREATE TABLE conversations.change (
    conversation_id   uuid NOT NULL,
    position          bigint NOT NULL,
    kind              smallint NOT NULL,
    -- The empty text: the app's own server.
    actor             text COLLATE "C" NOT NULL,
    -- The connection and the request that asked for the change. NULL: it came over REST.
    origin_connection bigint,
    origin_request    bigint,
    -- The message of kinds 5, 6 and 9.
    message_id        uuid,
    ordinal           bigint,
    -- The conversation's after the change.
    message_count     bigint NOT NULL,
    -- Small values that the kind needs. Never a copy of a message.
    operations        jsonb,
    created_at        timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, position, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX change_by_time ON conversations.change (created_at);

-- The rows that fit no week's partition. Empty, unless partitions were not made for weeks.
CREATE TABLE conversations.change_rest PARTITION OF conversations.change DEFAULT;

-- The partitions of this week and the next two. conversations.maintain_partitions makes the later ones.
DO $$
DECLARE
    one_week CONSTANT interval := '168 hours';
    week timestamptz := date_trunc('week', now(), 'UTC');
BEGIN
    FOR n IN 0..2 LOOP
        EXECUTE format('CREATE TABLE conversations.%I PARTITION OF conversations.change FOR VALUES FROM (%L) TO (%L)',
            'change_' || to_char(week AT TIME ZONE 'UTC', 'YYYYMMDD'), week, week + one_week);
        week := week + one_week;
    END LOOP;
END
$$;

-- The time since which all changes are in the log. One row.
CREATE TABLE conversations.log_begin (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    at      timestamptz NOT NULL
);
INSERT INTO conversations.log_begin (at) VALUES ('-infinity');

-- The end of each user's own log: changes that belong to a user and to no conversation.
CREATE TABLE conversations.user_log (
    app_id         uuid NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    position       bigint NOT NULL,
    last_change_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_id)
) WITH (fillfactor = 60);

-- Changes in the users' own logs.
--
-- Kinds:
--  1 conversation hidden             7 announcement received
--  2 conversation shown again        8 announcement delivered or read
--  3 message hidden                  9 announcement removed
--  4 identity changed, own or        20 message deleted for all, in a conversation that the user has left
--    of a followed user              21 conversation deleted for all that the user has left
--  5 followed a user                 22 own block list changed
--  6 unfollowed a user               23 blocked or unblocked by another user; clients are not told
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

-- A place in a log.
CREATE TYPE conversations.log_place AS ("position" bigint, created_at timestamptz);

-- An entry of an answer that reads logs.
--
-- Entries:
--  0 about the whole answer     3 a user's counts
--  1 a change                   4 a change that is skipped
--  2 a change of a user's log   5 the last message of a user who, after the deletion in entry 1, sees another one than the others
--
-- `m_…` is a message: the one of kinds 5 and 9; after a deletion (kind 6, and entry 5) the last one now.
CREATE TYPE conversations.log_row AS (
    entry bigint, app_id uuid, conversation_id uuid, "position" bigint, kind bigint, actor text, origin_connection bigint, origin_request bigint,
    message_id uuid, ordinal bigint, message_count bigint, operations jsonb, created_at timestamptz, user_id text,
    -- Entry 0: the answer reaches the heads of all logs. Entry 2, kind 1: the conversation is not on the user's list now. Entry 3: the user takes part.
    flag boolean,
    uncounted bigint, hidden bigint,
    -- Entry 3: the conversation is on the user's list.
    is_listed boolean,
    -- Entry 1, kinds 1 and 2: the conversation as it is now.
    conversation_created_at timestamptz, is_distinct boolean, receipt_policy bigint, conversation_position bigint, participants text[],
    m_present boolean, m_message_id uuid, m_conversation_id uuid, m_position bigint, m_ordinal bigint, m_sender text, m_sent_at timestamptz,
    m_parts bytea, m_notification text, m_recipients text[], m_statuses bigint[], m_updated_at timestamptz, m_receipt_policy bigint,
    -- Entry 1, kind 5: the message was deleted since.
    m_deleted boolean,
    m_sender_name text);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    conversations.change, conversations.change_rest, conversations.log_begin, conversations.user_log, conversations.user_change
TO strata_conversations;
