-- SPDX-License-Identifier: Apache-2.0
-- Messages that an app's own server has sent later.

-- What send_message will be given, and when. A row goes in the transaction that sends its message.
CREATE TABLE conversations.delayed_message (
    id              uuid PRIMARY KEY,
    app_id          uuid NOT NULL,
    conversation_id uuid NOT NULL,
    -- NULL: the message has a name instead.
    actor           text COLLATE "C",
    sender_name     text,
    parts           bytea NOT NULL,
    notification    text,
    contents        uuid[],
    due_at          timestamptz NOT NULL,
    -- When something is to be done next: the sender is shown as typing, once more, or the message is sent.
    next_at         timestamptz NOT NULL
);
CREATE INDEX delayed_message_next ON conversations.delayed_message (next_at, id);
-- Of which an app has only so many.
CREATE INDEX delayed_message_by_app ON conversations.delayed_message (app_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.delayed_message TO strata_conversations;
