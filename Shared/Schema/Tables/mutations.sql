-- SPDX-License-Identifier: Apache-2.0
-- Idempotent changes: the client sends an idempotency key with a change, and a repetition gets the first answer.

-- Changes that were carried out under an idempotency key. A refusal has no row: it changed nothing and may be tried
-- again.
CREATE TABLE conversations.mutation (
    app_id        uuid NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    -- The idempotency key.
    id            uuid NOT NULL,
    -- The fingerprint of the request. If a later request has the same key and another fingerprint, the client made a
    -- mistake.
    fingerprint   bigint NOT NULL,
    outcome       text NOT NULL,
    -- The change's positions in the conversation's log and in the user's own log.
    position      bigint,
    user_position bigint,
    -- The id of the created object (a conversation, a message, a part), if the request does not contain it.
    object        uuid,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_id, id)
);
CREATE INDEX mutation_by_time ON conversations.mutation (created_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.mutation TO strata_conversations;
