-- SPDX-License-Identifier: Apache-2.0
-- Identities: what the application and the users themselves say about a user.

-- The properties of an identity that a token can carry, by the names of its claims.
CREATE OR REPLACE FUNCTION conversations.identity_properties(i conversations.identity) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object(
        'display_name', i.display_name, 'avatar_url', i.avatar_url, 'first_name', i.first_name, 'last_name', i.last_name,
        'phone_number', i.phone_number, 'email_address', i.email_address, 'public_key', i.public_key, 'metadata', i.metadata)
$$;

-- Locks what a user may have only so much of, until the transaction ends: two calls at once cannot both find room for one more.
CREATE OR REPLACE FUNCTION conversations.lock_quota(p_app uuid, p_user text, p_kind text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(p_kind || ' ' || p_app || ' ' || p_user, 0))
$$;

-- Whether anything refers to a user: a session, a conversation, a follower, a log of their own, a device, a badge, an announcement, a block.
CREATE OR REPLACE FUNCTION conversations.is_needed(p_app uuid, p_user text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversations.session s WHERE s.app_id = p_app AND s.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.user_conversation u WHERE u.app_id = p_app AND u.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.follow f WHERE f.app_id = p_app AND f.followed = p_user AND f.is_followed AND NOT f.is_met)
        OR EXISTS (SELECT FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND NOT f.is_met)
        OR EXISTS (SELECT FROM conversations.user_log l WHERE l.app_id = p_app AND l.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.badge b WHERE b.app_id = p_app AND b.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.announcement_recipient r WHERE r.app_id = p_app AND r.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user);
END
$$;

-- Creates a minimal identity for each of these users that has none, and returns all of them. In the order of the keys, so that two calls cannot
-- wait for each other in a circle; in several statements, so that rows others created meanwhile are seen. Each identity is looked up by itself: among many
-- users of an app the planner may prefer to read the identities of all.
--
-- An identity that was about to be removed stays. One that needs nothing is not touched: to update it, even to nothing, is to lock it, and then its user
-- could not sign in until the end of the caller's transaction. (One that is found to stay now is not doomed before its next look, which finds what the
-- caller writes.)
CREATE OR REPLACE FUNCTION conversations.ensure_identities(p_app uuid, p_users text[]) RETURNS SETOF conversations.identity
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
    CROSS JOIN LATERAL (SELECT x.* FROM conversations.identity x WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i;
END
$$;

-- Looks at identities of which only the id is known, each once a day, and removes those that twice in a row nothing referred to. A call that mentions one in
-- between keeps it (ensure_identities). To be called again while it looked at some. Several may sweep at once.
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
        WHERE x.display_name IS NULL AND x.avatar_url IS NULL AND x.first_name IS NULL AND x.last_name IS NULL AND x.phone_number IS NULL
            AND x.email_address IS NULL AND x.public_key IS NULL AND NOT x.is_bot AND x.metadata = '{}' AND NOT x.suspended
            AND x.examined_at < now() - interval '1 day'
        ORDER BY x.examined_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    LOOP
        looked_at := looked_at + 1;
        needed := conversations.is_needed(i.app_id, i.user_id);
        IF i.is_doomed AND NOT needed THEN
            DELETE FROM conversations.follow f WHERE f.app_id = i.app_id AND f.user_id = i.user_id AND f.is_met;
            DELETE FROM conversations.follow f WHERE f.app_id = i.app_id AND f.followed = i.user_id AND f.is_followed AND f.is_met;
            DELETE FROM conversations.identity x WHERE x.app_id = i.app_id AND x.user_id = i.user_id;
            removed := removed + 1;
        ELSE
            UPDATE conversations.identity x SET examined_at = now(), is_doomed = NOT needed WHERE x.app_id = i.app_id AND x.user_id = i.user_id;
        END IF;
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.identity_properties, conversations.lock_quota, conversations.is_needed, conversations.ensure_identities,
    conversations.sweep_identities TO strata_conversations;
