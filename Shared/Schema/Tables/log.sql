-- SPDX-License-Identifier: Apache-2.0
-- The change log of conversations, and the users' own logs. In the order of positions, times never decrease, neither
-- within a conversation nor within a user's log.

-- Changes of conversations, in partitions of one week. The primary key of a partitioned table must contain the
-- partition key, so it includes the time.
--
-- Kinds:               operations:
--  1 created           participants
--  2 participants      those added and removed
--  3 metadata          the effects of the patch
--  4 deleted for all
--  5 message created
--  6 message deleted
--  7 receipts          the changed ordinals, by user
--  8 all read
--  9 parts changed     the parts
CREATE TABLE conversations.change (
    conversation_id   uuid NOT NULL,
    position          bigint NOT NULL,
    kind              smallint NOT NULL,
    -- The user who made the change. The empty text: the app's own server.
    actor             text COLLATE "C" NOT NULL,
    -- The connection and the request that caused the change. NULL: the request came over REST.
    origin_connection bigint,
    origin_request    bigint,
    -- The message of kinds 5, 6 and 9.
    message_id        uuid,
    ordinal           bigint,
    -- The conversation's message_count after the change.
    message_count     bigint NOT NULL,
    -- Small values that the kind needs. Never a copy of a message.
    operations        jsonb,
    created_at        timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, position, created_at)
) PARTITION BY RANGE (created_at);
CREATE INDEX change_by_time ON conversations.change (created_at);

-- Rows outside of all weekly partitions. Empty unless the creation of partitions failed for weeks.
CREATE TABLE conversations.change_rest PARTITION OF conversations.change DEFAULT;

-- The partitions of this week and the next two. conversations.maintain_partitions creates the later ones.
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

-- The time since which the log is complete. One row.
CREATE TABLE conversations.log_begin (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    at      timestamptz NOT NULL
);
INSERT INTO conversations.log_begin (at) VALUES ('-infinity');

-- The head of each user's own log: changes that belong to a user and to no conversation.
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

-- The position and the time of an entry in a log.
CREATE TYPE conversations.log_place AS ("position" bigint, created_at timestamptz);

-- A result row of functions that read logs.
--
-- Entries:
--  0 about the whole answer     3 a user's counts
--  1 a change                   4 a skipped change
--  2 a change of a user's log   5 the last message of a user for whom it differs from the others' after the
--                                 deletion in entry 1
--
-- `m_…` is a message: the message of kinds 5 and 9; after a deletion (kind 6, and entry 5) the present last message.
CREATE TYPE conversations.log_row AS (
    entry bigint, app_id uuid, conversation_id uuid, "position" bigint, kind bigint, actor text,
    origin_connection bigint, origin_request bigint, message_id uuid, ordinal bigint, message_count bigint,
    operations jsonb, created_at timestamptz, user_id text,
    -- Entry 0: the answer reaches the heads of all logs. Entry 2, kind 1: the conversation is at present not on the
    -- user's list. Entry 3: the user takes part.
    flag boolean,
    uncounted bigint, hidden bigint,
    -- Entry 3: the conversation is on the user's list.
    is_listed boolean,
    -- Entry 1, kinds 1 and 2: the conversation's present state.
    conversation_created_at timestamptz, is_distinct boolean, receipt_policy bigint, conversation_position bigint,
    participants text[], m_present boolean, m_message_id uuid, m_conversation_id uuid, m_position bigint,
    m_ordinal bigint, m_sender text, m_sent_at timestamptz, m_parts bytea, m_notification text, m_recipients text[],
    m_statuses bigint[], m_updated_at timestamptz, m_receipt_policy bigint,
    -- Entry 1, kind 5: the message has been deleted since.
    m_deleted boolean,
    m_sender_name text);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    conversations.change, conversations.change_rest, conversations.log_begin, conversations.user_log,
    conversations.user_change
TO strata_conversations;
