-- SPDX-License-Identifier: Apache-2.0
-- Changes that a client may repeat: the client names each with an idempotency key, and a repetition gets the first answer.

-- Changes that were carried out under an idempotency key. A refusal has no row: it changed nothing and may be tried again.
CREATE TABLE conversations.mutation (
    app_id        uuid NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    -- The idempotency key.
    id            uuid NOT NULL,
    -- The request's: the same key with another request is the client's mistake.
    fingerprint   bigint NOT NULL,
    outcome       text NOT NULL,
    -- The change's positions in the conversation's log and in the user's own log.
    position      bigint,
    user_position bigint,
    -- The id of the created object, where the request does not contain it: a conversation, a message, a part.
    object        uuid,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_id, id)
);
CREATE INDEX mutation_by_time ON conversations.mutation (created_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.mutation TO strata_conversations;
