-- SPDX-License-Identifier: Apache-2.0
-- Identities: the users of an app and their profiles.

CREATE TABLE conversations.identity (
    app_id        uuid NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    display_name  text,
    avatar_url    text,
    first_name    text,
    last_name     text,
    phone_number  text,
    email_address text,
    public_key    text,
    is_bot        boolean NOT NULL DEFAULT false,
    -- An object with at most 16 keys and strings as values.
    metadata      jsonb NOT NULL DEFAULT '{}',
    suspended     boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- The last time at which maintenance checked if a bare identity is still needed.
    examined_at   timestamptz NOT NULL DEFAULT now(),
    -- True if the check found that the identity is unreferenced. The next check may remove it; until then it counts as
    -- absent.
    is_doomed     boolean NOT NULL DEFAULT false,
    PRIMARY KEY (app_id, user_id)
);

-- Bare identities: users who were mentioned and have no profile.
CREATE INDEX identity_bare ON conversations.identity (examined_at)
WHERE display_name IS NULL AND avatar_url IS NULL AND first_name IS NULL AND last_name IS NULL AND phone_number IS NULL
    AND email_address IS NULL
    AND public_key IS NULL AND NOT is_bot AND metadata = '{}' AND NOT suspended;

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.identity TO strata_conversations;
