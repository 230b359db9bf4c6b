-- SPDX-License-Identifier: Apache-2.0
-- Blocks: which users have blocked which others.
--
-- A block acts in both directions, so each pair of users has two rows, one below each of them: whether a user is in any such pair, and in one with a certain
-- other user, is one look at the primary key. Both rows go when neither of the two blocks the other any more.

CREATE TABLE conversations.block (
    app_id     uuid NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    other_id   text COLLATE "C" NOT NULL,
    -- Whether `user_id` has blocked `other_id`; otherwise only the other way round.
    is_own     boolean NOT NULL,
    PRIMARY KEY (app_id, user_id, other_id)
);
-- A user's own list. Others may have blocked any number of times.
CREATE INDEX block_own ON conversations.block (app_id, user_id, other_id) WHERE is_own;
GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.block TO strata_conversations;

-- The participants who do not see a message, since there was a block between them and its sender when it was sent. NULL: none. They have its ordinal in `hidden`, too,
-- as if they had deleted it from their devices; this column says that others are not to learn anything of them by it.
ALTER TABLE conversations.message ADD COLUMN hidden_from text[];

-- The position of the first message that a block hid from the participant since they came last; NULL, or before that: there is none. What "all" they have read is to
-- others would include it.
ALTER TABLE conversations.participant ADD COLUMN first_kept bigint;
ALTER TYPE conversations.message_deletion ADD ATTRIBUTE hidden_from text[];
