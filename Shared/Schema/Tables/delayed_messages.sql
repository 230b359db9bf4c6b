-- SPDX-License-Identifier: Apache-2.0
-- Delayed messages of an app's own server.

-- The arguments of a later send_message. A row is deleted in the transaction that sends its message.
CREATE TABLE conversations.delayed_message (
    id              uuid PRIMARY KEY,
    app_id          uuid NOT NULL,
    conversation_id uuid NOT NULL,
    -- The sending user. NULL: the message has a `sender_name`.
    actor           text COLLATE "C",
    sender_name     text,
    parts           bytea NOT NULL,
    notification    text,
    contents        uuid[],
    due_at          timestamptz NOT NULL,
    -- The time of the next attempt. Later than `due_at` after a failure.
    next_at         timestamptz NOT NULL,
    -- The next time at which the sender is shown as typing. NULL: never again.
    typing_at       timestamptz
);
-- The order of due messages of all apps.
CREATE INDEX delayed_message_next ON conversations.delayed_message (next_at);
CREATE INDEX delayed_message_typing ON conversations.delayed_message (typing_at) WHERE typing_at IS NOT NULL;
CREATE INDEX delayed_message_next_of_app ON conversations.delayed_message (app_id, next_at, due_at, id);
CREATE INDEX delayed_message_typing_of_app ON conversations.delayed_message (app_id, typing_at)
WHERE typing_at IS NOT NULL;
-- The order within a conversation, in which no message overtakes another. Also used to count an app's delayed messages.
CREATE INDEX delayed_message_in_order ON conversations.delayed_message (app_id, conversation_id, due_at, id);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.delayed_message TO strata_conversations;
