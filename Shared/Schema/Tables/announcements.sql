-- SPDX-License-Identifier: Apache-2.0
-- Announcements: messages of an app's own server to many users, outside of conversations.

CREATE TABLE conversations.announcement (
    id            uuid PRIMARY KEY,
    app_id        uuid NOT NULL,
    -- The sender: either a name, or one of the app's users.
    sender_name   text,
    sender_user   text COLLATE "C",
    sent_at       timestamptz NOT NULL,
    parts         bytea NOT NULL,
    notification  text,
    -- The digest of the request, which identifies a repetition.
    digest        bytea
);
-- Announcements whose parts are removed when their sender is erased.
CREATE INDEX announcement_by_sender ON conversations.announcement (app_id, sender_user, sent_at)
    WHERE sender_user IS NOT NULL AND octet_length(parts) > 0;

CREATE TABLE conversations.announcement_recipient (
    app_id          uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    announcement_id uuid NOT NULL,
    -- The position of the announcement in the user's own log: the order of the user's list.
    position        bigint NOT NULL,
    -- 0 sent, 1 delivered, 2 read.
    status          bigint NOT NULL DEFAULT 0,
    is_removed      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (app_id, user_id, announcement_id)
);
CREATE INDEX announcement_by_position ON conversations.announcement_recipient (app_id, user_id, position);
CREATE INDEX announcement_recipient_by_announcement ON conversations.announcement_recipient (announcement_id, user_id);

-- The result row of an announcement as its recipient sees it.
CREATE TYPE conversations.announcement_row AS (
    announcement_id uuid, "position" bigint, sender_name text, sender_user text, sent_at timestamptz, parts bytea,
    notification text, status bigint);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.announcement,
    conversations.announcement_recipient TO strata_conversations;
