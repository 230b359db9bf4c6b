-- Accounts: who may talk, and as whom. Apps and their keys, single-use nonces, sessions, identities.
--
-- Secrets are kept as digests only: of a session token, a server token and a nonce there is nothing here that could be presented again.
-- Times are the database's. Nothing refers to an app by a foreign key on the paths users take: a shared lock on one row by every sign-in
-- would make the busiest app's row a bottleneck, and an app is suspended, not removed.

CREATE SCHEMA IF NOT EXISTS conversations;

CREATE TABLE conversations.app (
    id          uuid PRIMARY KEY,
    name        text NOT NULL,
    -- The issuer its identity tokens must name.
    provider_id uuid NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    suspended   boolean NOT NULL DEFAULT false
);

CREATE TABLE conversations.app_key (
    -- What a token's header calls `kid`.
    id         uuid PRIMARY KEY,
    app_id     uuid NOT NULL REFERENCES conversations.app ON DELETE CASCADE,
    -- RSA, 2048 bits or more; PEM with a SubjectPublicKeyInfo or a PKCS#1 key.
    public_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX app_key_by_app ON conversations.app_key (app_id);

-- What an application's own server shows instead of a session.
CREATE TABLE conversations.server_token (
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    app_id     uuid NOT NULL REFERENCES conversations.app ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX server_token_by_app ON conversations.server_token (app_id);

-- Nonces that were used and have not expired yet. Those not yet used are nowhere: they carry their own proof.
CREATE TABLE conversations.used_nonce (
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    expires_at timestamptz NOT NULL
);
CREATE INDEX used_nonce_by_expiry ON conversations.used_nonce (expires_at);

CREATE TABLE conversations.session (
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    app_id     uuid NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX session_by_user ON conversations.session (app_id, user_id);
CREATE INDEX session_by_expiry ON conversations.session (expires_at);

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
    -- At most 16 keys, each with a string.
    metadata      jsonb NOT NULL DEFAULT '{}',
    suspended     boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, user_id)
);

-- Creates a minimal identity for each of these users that has none, and returns all of them. In the order of the keys, so that two calls cannot
-- wait for each other in a circle; in two statements, so that rows others created meanwhile are seen.
CREATE FUNCTION conversations.ensure_identities(p_app uuid, p_users text[]) RETURNS SETOF conversations.identity
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO conversations.identity (app_id, user_id)
    SELECT p_app, wanted.id FROM (SELECT DISTINCT id COLLATE "C" AS id FROM unnest(p_users) AS id) AS wanted ORDER BY wanted.id
    ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT * FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = ANY (p_users);
END $$;

-- The properties of an identity that a token can carry, by the names of its claims.
CREATE FUNCTION conversations.identity_properties(i conversations.identity) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object(
        'display_name', i.display_name, 'avatar_url', i.avatar_url, 'first_name', i.first_name, 'last_name', i.last_name,
        'phone_number', i.phone_number, 'email_address', i.email_address, 'public_key', i.public_key, 'metadata', i.metadata)
$$;

-- The last step of a sign-in, when the token has proved genuine: uses up the nonce, writes what the token says about the user, opens the session.
-- Anything but 'ok' has written nothing, and has left the nonce unused. `p_claims` holds only properties the token names; `changed` those of them
-- that differ from what an existing identity had, which then is an entry of his log and of those of all who follow him (kind 4: identity_changed):
-- `told_` says which.
CREATE FUNCTION conversations.sign_in(
    p_app uuid, p_user text, p_nonce bytea, p_nonce_expires_at timestamptz, p_session bytea, p_lifetime_seconds bigint, p_claims jsonb,
    OUT outcome text, OUT profile conversations.identity, OUT changed jsonb, OUT told_users text[], OUT told_positions bigint[],
    OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    app_suspended boolean;
    existed boolean;
BEGIN
    SELECT a.suspended INTO app_suspended FROM conversations.app a WHERE a.id = p_app;
    IF NOT FOUND THEN outcome := 'invalid_app_id'; RETURN; END IF;
    IF app_suspended THEN outcome := 'app_suspended'; RETURN; END IF;

    SELECT i.* INTO profile FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
    existed := FOUND;
    IF existed AND profile.suspended THEN outcome := 'user_suspended'; profile := NULL; RETURN; END IF;

    -- Of two sign-ins with one nonce the second waits here for the first, and finds its row.
    INSERT INTO conversations.used_nonce (digest, expires_at) VALUES (p_nonce, p_nonce_expires_at) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN outcome := 'nonce_used'; profile := NULL; RETURN; END IF;

    IF NOT existed THEN
        INSERT INTO conversations.identity AS i (
            app_id, user_id, display_name, avatar_url, first_name, last_name, phone_number, email_address, public_key, metadata)
        VALUES (
            p_app, p_user, p_claims ->> 'display_name', p_claims ->> 'avatar_url', p_claims ->> 'first_name', p_claims ->> 'last_name',
            p_claims ->> 'phone_number', p_claims ->> 'email_address', p_claims ->> 'public_key', coalesce(p_claims -> 'metadata', '{}'))
        ON CONFLICT DO NOTHING
        RETURNING i.* INTO profile;
        IF NOT FOUND THEN
            -- Somebody mentioned this user in the meantime.
            SELECT i.* INTO profile FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
            existed := true;
        END IF;
    END IF;

    IF existed THEN
        SELECT jsonb_object_agg(claim.key, claim.value) INTO changed
        FROM jsonb_each(p_claims) AS claim
        WHERE claim.value IS DISTINCT FROM conversations.identity_properties(profile) -> claim.key;
        IF changed IS NOT NULL THEN
            UPDATE conversations.identity i SET
                display_name = coalesce(changed ->> 'display_name', i.display_name), avatar_url = coalesce(changed ->> 'avatar_url', i.avatar_url),
                first_name = coalesce(changed ->> 'first_name', i.first_name), last_name = coalesce(changed ->> 'last_name', i.last_name),
                phone_number = coalesce(changed ->> 'phone_number', i.phone_number),
                email_address = coalesce(changed ->> 'email_address', i.email_address),
                public_key = coalesce(changed ->> 'public_key', i.public_key), metadata = coalesce(changed -> 'metadata', i.metadata)
            WHERE i.app_id = p_app AND i.user_id = p_user
            RETURNING i.* INTO profile;
            SELECT array_agg(told.user_id), array_agg(told.position), array_agg(told.created_at) INTO told_users, told_positions, told_at
            FROM conversations.append_user_changes(
                p_app, ARRAY(SELECT f.user_id FROM conversations.followers(p_app, p_user) f) || p_user, 4::smallint,
                jsonb_build_object('user', p_user)) AS told;
        END IF;
    END IF;

    INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
    VALUES (p_session, p_app, p_user, now() + p_lifetime_seconds * interval '1 second');
    outcome := 'ok';
END $$;

-- Removes some of what has expired: nonces an hour late, so that clocks may differ without a nonce becoming usable again. Returns how many rows
-- it removed, to be called again while that is many. Several may sweep at once.
CREATE FUNCTION conversations.sweep_accounts(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    nonces bigint;
    sessions bigint;
BEGIN
    DELETE FROM conversations.used_nonce WHERE digest IN (
        SELECT digest FROM conversations.used_nonce WHERE expires_at < now() - interval '1 hour' LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS nonces = ROW_COUNT;
    DELETE FROM conversations.session WHERE digest IN (
        SELECT digest FROM conversations.session WHERE expires_at < now() LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS sessions = ROW_COUNT;
    RETURN nonces + sessions;
END $$;

GRANT USAGE ON SCHEMA conversations TO strata_conversations;
GRANT SELECT ON conversations.app, conversations.app_key, conversations.server_token TO strata_conversations;
GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.used_nonce, conversations.session, conversations.identity TO strata_conversations;
REVOKE ALL ON FUNCTION conversations.ensure_identities(uuid, text[]), conversations.identity_properties(conversations.identity),
    conversations.sign_in(uuid, text, bytea, timestamptz, bytea, bigint, jsonb), conversations.sweep_accounts(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.ensure_identities(uuid, text[]), conversations.identity_properties(conversations.identity),
    conversations.sign_in(uuid, text, bytea, timestamptz, bytea, bigint, jsonb), conversations.sweep_accounts(bigint) TO strata_conversations;
