-- SPDX-License-Identifier: Apache-2.0
-- Erasure of users and of the content of their messages.

-- Running erasures. The cursor lets the work continue after an interruption.
CREATE TABLE conversations.erasure (
    app_id          uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    -- Messages and contents up to this time are erased, and also those of the following seconds, in which a gateway may
    -- still accept an ended session.
    requested_at    timestamptz NOT NULL,
    -- The next time at which there is work.
    not_before      timestamptz NOT NULL,
    -- The cursor: all conversations with smaller ids are done. NULL: none.
    conversation_id uuid,
    -- The cursor: messages of `conversation_id` up to this ordinal are done.
    ordinal         bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, user_id)
);
CREATE INDEX erasure_due ON conversations.erasure (app_id, not_before);

-- Conversations in which the app's own server has sent messages for a user who never took part, such as a bot. An
-- erasure finds the messages through these rows.
CREATE TABLE conversations.outside_sending (
    conversation_id uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    app_id          uuid NOT NULL,
    -- The time of the first such message; during the user's erasure, of the latest one.
    recorded_at     timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX outside_sending_by_user ON conversations.outside_sending (app_id, user_id, conversation_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.erasure, conversations.outside_sending TO strata_conversations;
