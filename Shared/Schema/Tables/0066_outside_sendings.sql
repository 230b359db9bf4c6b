-- SPDX-License-Identifier: Apache-2.0
-- Where an app's own server has sent messages for a user, a bot, who never took part in the conversation: without this they would not be found when the user
-- is erased. One row for each such conversation, however many messages there are.
--
-- recorded_at: when the first of them was sent; while the user is being erased, the latest.
CREATE TABLE conversations.outside_sending (
    conversation_id uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    app_id          uuid NOT NULL,
    recorded_at     timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX outside_sending_by_user ON conversations.outside_sending (app_id, user_id, conversation_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.outside_sending TO strata_conversations;
