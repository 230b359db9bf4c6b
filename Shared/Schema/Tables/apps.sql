-- SPDX-License-Identifier: Apache-2.0
-- Apps, their keys and their server tokens.
--
-- No table that users write refers to an app by a foreign key: every sign-in would take a shared lock on the app's row.

CREATE TABLE conversations.app (
    id                  uuid PRIMARY KEY,
    name                text NOT NULL,
    -- The issuer that the app's identity tokens must name.
    provider_id         uuid NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT now(),
    suspended           boolean NOT NULL DEFAULT false,
    -- The time at which the app's deletion began. A deleted app is suspended and stays so. NULL: not being deleted.
    deleting_since      timestamptz,
    -- The lifetime of an unused session in seconds. NULL: the service's setting.
    session_ttl         bigint,
    -- The count in the badge that comes from conversations: unread_messages, unread_conversations,
    -- external_unread_count or disabled.
    badge_counts        text NOT NULL DEFAULT 'unread_messages',
    -- True if unread announcements count towards the badge.
    badge_announcements boolean NOT NULL DEFAULT false,
    -- The users who may add another user to a conversation:
    -- - anyone.
    -- - followed: those whom the other user follows.
    -- - server: only the app's own server.
    added_by            text NOT NULL DEFAULT 'anyone' CHECK (added_by IN ('anyone', 'followed', 'server')),
    -- The maximum number of additions in an hour by which one user adds another user, who does not explicitly follow
    -- them, to conversations.
    stranger_additions  bigint NOT NULL DEFAULT 60 CHECK (stranger_additions BETWEEN 0 AND 10000)
);

-- Public keys that verify an app's identity tokens.
CREATE TABLE conversations.app_key (
    -- The `kid` in a token's header.
    id         uuid PRIMARY KEY,
    app_id     uuid NOT NULL REFERENCES conversations.app ON DELETE CASCADE,
    -- PEM with a SubjectPublicKeyInfo or a PKCS#1 key; RSA, at least 2048 bits.
    public_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX app_key_by_app ON conversations.app_key (app_id);

-- Credentials of an app's own server. Only their digests are stored.
CREATE TABLE conversations.server_token (
    -- SHA-256 of the token.
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    app_id     uuid NOT NULL REFERENCES conversations.app ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The id by which a token is revoked. It reveals nothing about the token.
    id         uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    -- A name for people. An app is created with a token named "first".
    name       text NOT NULL DEFAULT 'first' CHECK (char_length(name) BETWEEN 1 AND 128),
    -- NULL: the token does not expire.
    expires_at timestamptz
);
CREATE INDEX server_token_by_app ON conversations.server_token (app_id);

GRANT SELECT ON conversations.app, conversations.app_key, conversations.server_token TO strata_conversations;
GRANT UPDATE (session_ttl, badge_counts, badge_announcements, added_by,
    stranger_additions) ON conversations.app TO strata_conversations;
