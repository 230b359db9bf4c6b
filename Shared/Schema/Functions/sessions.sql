-- SPDX-License-Identifier: Apache-2.0
-- Sign-in, and expiry of sessions and nonces.

-- Sets the properties of an identity that these claims of a token name, and returns the identity.
CREATE OR REPLACE FUNCTION conversations.with_claims(p_app uuid, p_user text, p_claims jsonb)
RETURNS conversations.identity
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    profile conversations.identity;
BEGIN
    UPDATE conversations.identity i SET
        display_name = coalesce(p_claims ->> 'display_name', i.display_name),
        avatar_url = coalesce(p_claims ->> 'avatar_url', i.avatar_url),
        first_name = coalesce(p_claims ->> 'first_name', i.first_name),
        last_name = coalesce(p_claims ->> 'last_name', i.last_name),
        phone_number = coalesce(p_claims ->> 'phone_number', i.phone_number),
        email_address = coalesce(p_claims ->> 'email_address', i.email_address),
        public_key = coalesce(p_claims ->> 'public_key', i.public_key),
        metadata = coalesce(p_claims -> 'metadata', i.metadata)
    WHERE i.app_id = p_app AND i.user_id = p_user
    RETURNING i.* INTO profile;
    RETURN profile;
END
$$;

-- Completes a sign-in after the token was verified: marks the nonce as used, updates the identity from the token, and
-- opens the session. Any outcome other than 'ok' has written nothing and leaves the nonce unused.
--
-- `p_claims` contains only properties that the token names. `changed` are those that differ from an existing identity.
-- A change is an entry (kind 4: identity_changed) in the logs of the user and of all followers, which `told_…` returns.
-- The session has the app's lifetime; `p_lifetime_seconds` is the default for apps without one.
CREATE OR REPLACE FUNCTION conversations.sign_in(
    p_app uuid, p_user text, p_nonce bytea, p_nonce_expires_at timestamptz, p_session bytea, p_lifetime_seconds bigint,
    p_claims jsonb,
    OUT outcome text, OUT profile conversations.identity, OUT changed jsonb, OUT told_users text[],
    OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    app_suspended boolean;
    app_ttl bigint;
    existed boolean;
BEGIN
    SELECT a.suspended, a.session_ttl INTO app_suspended, app_ttl FROM conversations.app a WHERE a.id = p_app;
    IF NOT FOUND THEN outcome := 'invalid_app_id'; RETURN; END IF;
    IF app_suspended THEN outcome := 'app_suspended'; RETURN; END IF;

    SELECT i.* INTO profile FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
    existed := FOUND;
    IF existed AND profile.suspended THEN outcome := 'user_suspended'; profile := NULL; RETURN; END IF;

    -- The second of two sign-ins with one nonce waits here for the first, and finds its row.
    INSERT INTO conversations.used_nonce (digest, expires_at) VALUES (p_nonce, p_nonce_expires_at)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN outcome := 'nonce_used'; profile := NULL; RETURN; END IF;

    IF NOT existed THEN
        INSERT INTO conversations.identity AS i (
            app_id, user_id, display_name, avatar_url, first_name, last_name, phone_number, email_address, public_key,
            metadata)
        VALUES (
            p_app, p_user, p_claims ->> 'display_name', p_claims ->> 'avatar_url', p_claims ->> 'first_name',
            p_claims ->> 'last_name',
            p_claims ->> 'phone_number', p_claims ->> 'email_address', p_claims ->> 'public_key',
            coalesce(p_claims -> 'metadata', '{}'))
        ON CONFLICT DO NOTHING
        RETURNING i.* INTO profile;
        IF NOT FOUND THEN
            -- A concurrent request of another user has created this identity.
            SELECT i.* INTO profile FROM conversations.identity i
            WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
            existed := true;
        END IF;
    END IF;

    IF existed THEN
        SELECT jsonb_object_agg(claim.key, claim.value) INTO changed
        FROM jsonb_each(p_claims) AS claim
        WHERE claim.value IS DISTINCT FROM conversations.identity_properties(profile) -> claim.key;
        IF changed IS NOT NULL THEN
            profile := conversations.with_claims(p_app, p_user, changed);
            SELECT told.* INTO told_users, told_positions, told_at
            FROM conversations.tell_identity(p_app, p_user, true) told;
        END IF;
    END IF;

    INSERT INTO conversations.session (digest, app_id, user_id, expires_at)
    VALUES (p_session, p_app, p_user, now() + coalesce(app_ttl, p_lifetime_seconds) * interval '1 second');
    outcome := 'ok';
END $$;

-- Deletes expired nonces and sessions. Nonces are deleted an hour late, so that they do not become usable again if
-- clocks differ. Returns the number of rows; call again while it is large. Concurrent sweeps are safe.
CREATE OR REPLACE FUNCTION conversations.sweep_accounts(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET strata.sweeping = 'on' AS $$
DECLARE
    nonces bigint;
    sessions bigint;
BEGIN
    DELETE FROM conversations.used_nonce WHERE digest IN (
        SELECT digest FROM conversations.used_nonce
        WHERE expires_at < now() - interval '1 hour' LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS nonces = ROW_COUNT;
    DELETE FROM conversations.session WHERE digest IN (
        SELECT digest FROM conversations.session WHERE expires_at < now() LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS sessions = ROW_COUNT;
    RETURN nonces + sessions;
END $$;

GRANT EXECUTE ON FUNCTION
    conversations.with_claims, conversations.sign_in, conversations.sweep_accounts TO strata_conversations;
