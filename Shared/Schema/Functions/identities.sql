-- SPDX-License-Identifier: Apache-2.0
-- Identities: the properties of users, set by the app and by the users' tokens.

-- Returns the properties of an identity that a token can contain, by the names of the claims.
CREATE OR REPLACE FUNCTION conversations.identity_properties(i conversations.identity) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object(
        'display_name', i.display_name, 'avatar_url', i.avatar_url, 'first_name', i.first_name, 'last_name',
        i.last_name,
        'phone_number', i.phone_number, 'email_address', i.email_address, 'public_key', i.public_key, 'metadata',
        i.metadata)
$$;

-- Locks a quota of a user until the transaction ends, so that two concurrent calls cannot both use the last place.
CREATE OR REPLACE FUNCTION conversations.lock_quota(p_app uuid, p_user text, p_kind text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(p_kind || ' ' || p_app || ' ' || p_user, 0))
$$;

-- True if anything refers to a user: a session, a conversation, a follow, a log, a device, a badge, an announcement, a
-- block.
CREATE OR REPLACE FUNCTION conversations.is_needed(p_app uuid, p_user text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversations.session s WHERE s.app_id = p_app AND s.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.user_conversation u WHERE u.app_id = p_app AND u.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.follow f
            WHERE f.app_id = p_app AND f.followed = p_user AND f.is_followed AND NOT f.is_met)
        OR EXISTS (SELECT FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND NOT f.is_met)
        OR EXISTS (SELECT FROM conversations.user_log l WHERE l.app_id = p_app AND l.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.badge b WHERE b.app_id = p_app AND b.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.announcement_recipient r WHERE r.app_id = p_app AND r.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user);
END
$$;

-- Creates a minimal identity for each of these users that has none, and returns all of them.
--
-- It inserts in the order of the keys, to prevent deadlocks between calls. It uses several statements, so that it sees
-- rows that others create in between. Each identity is found by an index lookup, because for many users the planner
-- might otherwise read all identities of the app.
--
-- A doomed identity is kept. Other existing identities are not updated, because even an update without a change locks
-- the row. Then its user could not sign in until the caller's transaction ends. (An identity that is not doomed now is
-- not doomed before its next check, which sees the caller's rows.)
CREATE OR REPLACE FUNCTION conversations.ensure_identities(p_app uuid, p_users text[])
RETURNS SETOF conversations.identity
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    users text[] := conversations.sorted_users(p_users);
BEGIN
    INSERT INTO conversations.identity AS i (app_id, user_id)
    SELECT p_app, w.id FROM unnest(users) WITH ORDINALITY w(id, n)
    WHERE (SELECT x.is_doomed FROM conversations.identity x WHERE x.app_id = p_app AND x.user_id = w.id) IS NOT FALSE
    ORDER BY w.n
    ON CONFLICT (app_id, user_id) DO UPDATE SET is_doomed = false WHERE i.is_doomed;
    RETURN QUERY
    SELECT i.* FROM unnest(users) w(id)
    CROSS JOIN LATERAL (SELECT x.* FROM conversations.identity x
        WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i;
END
$$;

-- Checks bare identities, each once a day, and removes those to which nothing referred in two consecutive checks. A
-- call that mentions an identity in between keeps it (ensure_identities). Call again while looked_at is not 0.
-- Concurrent sweeps are safe.
CREATE OR REPLACE FUNCTION conversations.sweep_identities(p_limit bigint, OUT looked_at bigint, OUT removed bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    i conversations.identity;
    needed boolean;
BEGIN
    looked_at := 0;
    removed := 0;
    FOR i IN
        SELECT * FROM conversations.identity x
        WHERE x.display_name IS NULL AND x.avatar_url IS NULL AND x.first_name IS NULL AND x.last_name IS NULL
            AND x.phone_number IS NULL
            AND x.email_address IS NULL AND x.public_key IS NULL AND NOT x.is_bot AND x.metadata = '{}'
            AND NOT x.suspended
            AND x.examined_at < now() - interval '1 day' AND NOT conversations.is_away(x.app_id)
        ORDER BY x.examined_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    LOOP
        looked_at := looked_at + 1;
        needed := conversations.is_needed(i.app_id, i.user_id);
        IF i.is_doomed AND NOT needed THEN
            DELETE FROM conversations.follow f WHERE f.app_id = i.app_id AND f.user_id = i.user_id AND f.is_met;
            DELETE FROM conversations.follow f WHERE f.app_id = i.app_id AND f.followed = i.user_id AND f.is_followed
                AND f.is_met;
            DELETE FROM conversations.identity x WHERE x.app_id = i.app_id AND x.user_id = i.user_id;
            removed := removed + 1;
        ELSE
            UPDATE conversations.identity x SET examined_at = now(), is_doomed = NOT needed
            WHERE x.app_id = i.app_id AND x.user_id = i.user_id;
        END IF;
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.identity_properties, conversations.lock_quota, conversations.is_needed,
    conversations.ensure_identities, conversations.sweep_identities TO strata_conversations;
