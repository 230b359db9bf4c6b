-- SPDX-License-Identifier: Apache-2.0
-- Blocks between users. A block acts in both directions.

-- Two rows for each pair of users, one for each of the two. So one lookup by primary key finds out if a user is part of
-- a block. Both rows are removed when neither user blocks the other.
CREATE TABLE conversations.block (
    app_id     uuid NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    other_id   text COLLATE "C" NOT NULL,
    -- True if `user_id` has blocked `other_id`. False: only `other_id` has blocked `user_id`.
    is_own     boolean NOT NULL,
    -- The time at which `is_own` was set last. An erasure keeps blocks that are newer than it.
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (app_id, user_id, other_id)
);
-- A user's own block list, without the rows of users who have blocked that user.
CREATE INDEX block_own ON conversations.block (app_id, user_id, other_id) WHERE is_own;

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.block TO strata_conversations;
