-- SPDX-License-Identifier: Apache-2.0
-- Conversations.
--
-- A position is the number of a change in its conversation's log, an ordinal the number of a message. Both are dense
-- and begin with 1.

-- The row that every change of a conversation locks and updates. The fill factor and columns without an index keep such
-- an update on its page (HOT).
CREATE TABLE conversations.conversation (
    id               uuid PRIMARY KEY,
    app_id           uuid NOT NULL,
    created_at       timestamptz NOT NULL,
    created_by       text COLLATE "C" NOT NULL,
    -- True if the conversation is unique for its participants: a create with the same participants finds it.
    is_distinct      boolean NOT NULL,
    -- Fixed at creation. Bit 1: delivery receipts are reported only to the recipient. Bit 2: read receipts are reported
    -- only to the reader.
    receipt_policy   bigint NOT NULL DEFAULT 0,
    -- The position of the latest change.
    position         bigint NOT NULL DEFAULT 0,
    last_change_at   timestamptz NOT NULL,
    -- The number of messages ever sent, including deleted ones: the ordinal of the latest one.
    message_count    bigint NOT NULL DEFAULT 0,
    -- The ordinal of the newest message that was not deleted for all. 0: none.
    last_ordinal     bigint NOT NULL DEFAULT 0,
    -- The position of the deletion for all. NULL: the conversation exists.
    deleted_position bigint,
    deleted_at       timestamptz,
    -- Messages deleted for all.
    deleted_count    bigint NOT NULL DEFAULT 0,
    -- True if a participant may have hidden the conversation until its next message.
    has_hidden       boolean NOT NULL DEFAULT false,
    -- True if the conversation's values are in metadata.index_entry. Never cleared. The column is here because a writer
    -- holds this row's lock anyway, so apps without indexes need no further lock.
    is_indexed       boolean NOT NULL DEFAULT false
) WITH (fillfactor = 40);
CREATE INDEX conversation_deleted ON conversations.conversation (app_id, deleted_at) WHERE deleted_at IS NOT NULL;

-- The distinct conversation of a set of participants. Two racing creates conflict on its key.
CREATE TABLE conversations.distinct_set (
    app_id          uuid NOT NULL,
    -- The digest of the sorted participants: conversations.distinct_digest.
    digest          bytea NOT NULL,
    conversation_id uuid NOT NULL,
    PRIMARY KEY (app_id, digest)
);

-- The conversations in which a user is or was a participant: a directory for lists and first loads.
CREATE TABLE conversations.user_conversation (
    app_id          uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    conversation_id uuid NOT NULL,
    -- The time at which the conversation was created.
    created_at      timestamptz NOT NULL,
    -- True if the conversation is on the user's list. Triggers keep it equal to conversations.is_visible.
    is_listed       boolean NOT NULL DEFAULT true,
    PRIMARY KEY (app_id, user_id, conversation_id)
);
-- A user's list, newest first.
CREATE INDEX user_conversation_listed ON conversations.user_conversation (
    app_id, user_id, created_at DESC, conversation_id DESC) WHERE is_listed;

-- The result row of a conversation as one user sees it. `last_…` is the last message that the user sees.
CREATE TYPE conversations.view_row AS (
    conversation_id uuid, created_at timestamptz, is_distinct boolean, position bigint, participants text[],
    is_participant boolean,
    message_count bigint, uncounted bigint, hidden bigint,
    last_message_id uuid, last_position bigint, last_ordinal bigint, last_sender text, last_sent_at timestamptz,
    last_parts bytea, last_notification text, last_recipients text[], last_statuses bigint[],
    last_updated_at timestamptz, receipt_policy bigint, last_sender_name text,
    -- The metadata tree. NULL: not read, or too large for the answer.
    paths text[], vals text[]);

GRANT SELECT, INSERT, UPDATE, DELETE ON
    conversations.conversation, conversations.distinct_set, conversations.user_conversation TO strata_conversations;
