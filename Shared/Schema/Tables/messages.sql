-- SPDX-License-Identifier: Apache-2.0

-- Messages that were not deleted for all.
CREATE TABLE conversations.message (
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL,
    id              uuid NOT NULL,
    -- The position of the message's creation.
    position        bigint NOT NULL,
    -- The empty text: the app's own server sent it, under `sender_name`.
    sender          text COLLATE "C" NOT NULL,
    sent_at         timestamptz NOT NULL,
    parts           bytea NOT NULL,
    -- The notification that the sender asked for, as JSON.
    notification    text,
    -- The last time at which a part was changed. NULL: never.
    updated_at      timestamptz,
    -- A copy of the conversation's policy, so that a message can be read without its conversation.
    receipt_policy  bigint NOT NULL DEFAULT 0,
    sender_name     text,
    -- Participants who do not see the message because of a block when it was sent. NULL: none. Its ordinal is also in
    -- their `hidden`, as if they had deleted the message from their devices. This column keeps their receipts for it
    -- from other participants.
    hidden_from     text[],
    PRIMARY KEY (conversation_id, ordinal)
);

-- Every message id that was ever used, with the message's conversation and ordinal. The row outlives its message. It
-- makes ids unique, and finds a message by its id alone.
CREATE TABLE conversations.message_place (
    message_id      uuid PRIMARY KEY,
    app_id          uuid NOT NULL,
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL
);

-- Former parts of messages, for users who left before the parts were changed.
CREATE TABLE conversations.kept_parts (
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL,
    -- The position of the change that replaced these parts.
    until_position  bigint NOT NULL,
    parts           bytea NOT NULL,
    updated_at      timestamptz,
    PRIMARY KEY (conversation_id, ordinal, until_position)
);

-- The result row of a message as one user sees it. Statuses are in the order of the recipients: 0 sent, 1 delivered, 2
-- read. If other users see another status than the recipient, 4 × (the others' status + 1) is added.
CREATE TYPE conversations.message_row AS (
    message_id uuid, conversation_id uuid, position bigint, ordinal bigint, sender text, sent_at timestamptz,
    parts bytea, notification text, recipients text[], statuses bigint[], updated_at timestamptz, receipt_policy bigint,
    sender_name text);

-- The result of a message's deletion. The first row is the outcome; rows with the outcome 'override' follow.
CREATE TYPE conversations.message_deletion AS (
    outcome text, conversation_id uuid, "position" bigint, created_at timestamptz, message_count bigint, ordinal bigint,
    last_changed boolean, number_users text[], number_uncounted bigint[], number_hidden bigint[], user_position bigint,
    user_created_at timestamptz,
    -- In an override: a present participant who has hidden messages, and therefore sees another last message than the
    -- others. At most a few rows.
    override_user text,
    -- The present last message, of all participants or of `override_user`.
    message conversations.message_row,
    -- In the first row: former participants who saw the message, and the positions and times of their log entries.
    -- Times are in microseconds since 1970.
    former_users text[], former_positions bigint[], former_times bigint[],
    -- The deleted message's `hidden_from`.
    hidden_from text[]);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.message, conversations.message_place,
    conversations.kept_parts TO strata_conversations;
