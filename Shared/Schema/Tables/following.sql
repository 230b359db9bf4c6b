-- SPDX-License-Identifier: Apache-2.0
-- Following: a user receives the changed identities and the presence of the users they follow.
--
-- Users who were in one conversation at the same time follow each other without a row.

-- Explicit follows and unfollows, by a user or by the app for them. An unfollow ends when the two users meet in a
-- conversation again.
CREATE TABLE conversations.follow (
    app_id      uuid NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    followed    text COLLATE "C" NOT NULL,
    -- False: an unfollow.
    is_followed boolean NOT NULL,
    -- True if the row replaces a removed conversation in which the two met. Such a row counts towards no quota and
    -- keeps no identity, because a third user may have brought the two together.
    is_met      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (app_id, user_id, followed)
);
CREATE INDEX follow_by_followed ON conversations.follow (app_id, followed) WHERE is_followed;
CREATE INDEX follow_ended ON conversations.follow (app_id, user_id) WHERE NOT is_followed;
CREATE INDEX follow_chosen ON conversations.follow (app_id, user_id) WHERE is_followed AND NOT is_met;

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.follow TO strata_conversations;
