-- SPDX-License-Identifier: Apache-2.0
-- Devices that receive push notifications, and the number on an app's icon.

-- Push tokens, one for each device. A device belongs to the user who signed in on it last.
CREATE TABLE conversations.push_token (
    app_id         uuid NOT NULL,
    device_id      text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    -- apns or gcm.
    type           text NOT NULL,
    token          text NOT NULL,
    apns_bundle_id text,
    gcm_sender_id  text,
    ios_version    text,
    updated_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, device_id)
);
CREATE INDEX push_token_by_user ON conversations.push_token (app_id, user_id);

-- Unread counts from outside of conversations, set by the app's own server.
CREATE TABLE conversations.badge (
    app_id                uuid NOT NULL,
    user_id               text COLLATE "C" NOT NULL,
    external_unread_count bigint NOT NULL,
    PRIMARY KEY (app_id, user_id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.push_token, conversations.badge TO strata_conversations;
