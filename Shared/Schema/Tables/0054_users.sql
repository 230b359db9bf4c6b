-- SPDX-License-Identifier: Apache-2.0
-- What an app's own server decides about the app and its users.
--
-- session.used_at: when the session was prolonged last, which its use does at most once a day; NULL: never.
-- app.session_ttl: seconds for which a session of this app lives that is not used; NULL: as the service is set.
-- app.badge_counts, app.badge_announcements: what the number on an app's icon is made of, beside the app's own external_unread_count.
-- announcement.digest: of what was asked for, so that a repetition of the same request is known; NULL: sent by an earlier release.
ALTER TABLE conversations.session ADD COLUMN used_at timestamptz;
ALTER TABLE conversations.app
    ADD COLUMN session_ttl bigint,
    ADD COLUMN badge_counts text NOT NULL DEFAULT 'unread_messages',
    ADD COLUMN badge_announcements boolean NOT NULL DEFAULT false;
ALTER TABLE conversations.announcement ADD COLUMN digest bytea;

-- What is unread outside of conversations, as the app's own server says.
CREATE TABLE conversations.badge (
    app_id                uuid NOT NULL,
    user_id               text COLLATE "C" NOT NULL,
    external_unread_count bigint NOT NULL,
    PRIMARY KEY (app_id, user_id)
);

GRANT UPDATE (session_ttl, badge_counts, badge_announcements) ON conversations.app TO strata_conversations;
GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.badge TO strata_conversations;
