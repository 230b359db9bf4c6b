-- SPDX-License-Identifier: Apache-2.0
-- Sessions of users, and the nonces that open them. Only digests of secrets are stored.

CREATE TABLE conversations.session (
    -- SHA-256 of the session token.
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    app_id     uuid NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    -- The last time at which use prolonged the session: at most once a day. NULL: never.
    used_at    timestamptz
);
CREATE INDEX session_by_user ON conversations.session (app_id, user_id);
CREATE INDEX session_by_expiry ON conversations.session (expires_at);

-- Nonces that were used and have not expired. Unused nonces are not stored, because their signature proves them
-- genuine.
CREATE TABLE conversations.used_nonce (
    -- SHA-256 of the nonce.
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX used_nonce_by_expiry ON conversations.used_nonce (expires_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.used_nonce, conversations.session TO strata_conversations;
