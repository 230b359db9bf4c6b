-- SPDX-License-Identifier: Apache-2.0
-- Messages that an app's own server has sent later.

-- What send_message will be given, and when. A row goes in the transaction that sends its message.
--
-- due_at: when it is to be sent. next_at: when that is tried; later than due_at once it has failed.
-- typing_at: when its sender is to be shown as typing, once more. NULL: not any more, or not at all.
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
    next_at         timestamptz NOT NULL,
    typing_at       timestamptz
);
CREATE INDEX delayed_message_next ON conversations.delayed_message (next_at, due_at, id);
CREATE INDEX delayed_message_typing ON conversations.delayed_message (typing_at) WHERE typing_at IS NOT NULL;
-- Of which an app has only so many. Those of a conversation are put off together.
CREATE INDEX delayed_message_by_app ON conversations.delayed_message (app_id, conversation_id);
GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.delayed_message TO strata_conversations;
