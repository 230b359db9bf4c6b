-- SPDX-License-Identifier: Apache-2.0
-- Users who are being erased. What is left to do is found by the place that the work has come to, so that it goes on after an interruption.
--
-- requested_at: messages and contents of until then are erased, and those of some seconds more, while gateways may still use an ended session.
-- not_before: when there is something to do again.
-- conversation_id, ordinal: the messages of this conversation up to this one have been looked at, and all conversations with smaller ids. NULL: none.
CREATE TABLE conversations.erasure (
    app_id          uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    requested_at    timestamptz NOT NULL,
    not_before      timestamptz NOT NULL,
    conversation_id uuid,
    ordinal         bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, user_id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.erasure TO strata_conversations;
