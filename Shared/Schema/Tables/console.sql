-- SPDX-License-Identifier: Apache-2.0
-- The console: its operators, their sessions, and the audit log. Only digests of secrets are stored.

-- Rows are made by `strata operator`, as the database's owner.
CREATE TABLE console.operator (
    name          text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
    -- The scrypt hash: scrypt$N$r$p$salt$hash. NULL: the operator signs in by links only.
    password_hash text,
    role          text NOT NULL CHECK (role IN ('viewer', 'operator')),
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- NULL: the operator may sign in.
    disabled_at   timestamptz
);

CREATE TABLE console.session (
    -- SHA-256 of the cookie.
    digest       bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    operator     text COLLATE "C" NOT NULL REFERENCES console.operator (name),
    -- The token that every change of this session must carry.
    csrf         text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A time of use, at most a minute before the last one.
    last_used_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at   timestamptz NOT NULL,
    address      text NOT NULL
);
CREATE INDEX session_by_operator ON console.session (operator);
CREATE INDEX session_by_expiry ON console.session (expires_at);
CREATE INDEX session_by_use ON console.session (last_used_at);

-- Unused links that sign an operator in once: at most one for each operator.
CREATE TABLE console.sign_in_link (
    -- SHA-256 of the token in the link.
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    operator   text COLLATE "C" NOT NULL REFERENCES console.operator (name),
    expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_link_by_operator ON console.sign_in_link (operator);
CREATE INDEX sign_in_link_by_expiry ON console.sign_in_link (expires_at);

-- Attempts to sign in with a password that did not succeed, or have not yet.
CREATE TABLE console.attempt (
    -- The network that the attempt came from.
    network text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX attempt_by_network ON console.attempt (network, at);
CREATE INDEX attempt_by_time ON console.attempt (at);

-- Sign-ins and changes. The service's role can only add rows and read them.
CREATE TABLE console.audit (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Empty: the command `strata operator`, a backup, or a sign-in under an unknown name.
    operator text COLLATE "C" NOT NULL,
    address  text NOT NULL,
    action   text NOT NULL,
    app_id   uuid,
    target   text,
    detail   jsonb,
    -- NULL: the change was begun, and its outcome is not known.
    outcome  text
);
CREATE INDEX audit_by_time ON console.audit (at);
CREATE INDEX audit_backups ON console.audit (at) WHERE action = 'backup';

GRANT SELECT ON console.operator TO strata_console;
GRANT SELECT, INSERT, UPDATE, DELETE ON console.session TO strata_console;
GRANT SELECT, DELETE ON console.sign_in_link TO strata_console;
GRANT SELECT, INSERT, DELETE ON console.attempt TO strata_console;
GRANT SELECT, INSERT ON console.audit TO strata_console;
