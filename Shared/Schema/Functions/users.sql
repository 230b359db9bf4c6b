-- SPDX-License-Identifier: Apache-2.0
-- Users as an app's own server manages them: their identities, whether they are suspended, their sessions and badges.

-- Whether anything is known of a user but the id.
CREATE OR REPLACE FUNCTION conversations.has_identity(i conversations.identity) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    (i).display_name IS NOT NULL OR (i).avatar_url IS NOT NULL OR (i).first_name IS NOT NULL OR (i).last_name IS NOT NULL
        OR (i).phone_number IS NOT NULL OR (i).email_address IS NOT NULL OR (i).public_key IS NOT NULL OR (i).is_bot OR (i).metadata <> '{}', false);

-- Tells all who follow a user, and with `p_own` the user's other devices, that the user's identity is another one now (kind 4). The last thing a function
-- does: it locks the logs of all of them. Times are microseconds since 1970.
CREATE OR REPLACE FUNCTION conversations.tell_identity(
    p_app uuid, p_user text, p_own boolean, OUT told_users text[], OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT coalesce(array_agg(t.user_id), '{}'), coalesce(array_agg(t.position), '{}'), coalesce(array_agg(t.created_at), '{}')
    INTO told_users, told_positions, told_at
    FROM conversations.append_user_changes(
        p_app, ARRAY(SELECT f.user_id FROM conversations.followers(p_app, p_user) f) || CASE WHEN p_own THEN ARRAY[p_user] ELSE '{}' END,
        4::smallint, jsonb_build_object('user', p_user)) t;
END
$$;

-- Writes an identity. `p_mode`: 'create' and 'replace' set all properties, those that `p_values` does not have to NULL; 'patch' sets those that `p_values`
-- has; 'delete' leaves the id. The metadata becomes `p_metadata`, or stays where that is NULL in a patch; then `p_keys` sets keys of it, and removes those
-- that are null. Outcomes: 'ok'; 'none', if nothing is different; 'id_in_use' for the creation of what exists; 'not_found' for a patch or the deletion of
-- what does not; 'too_many_keys' for more than 16 keys of metadata. A user who was not known before has no device and no follower: none are told.
CREATE OR REPLACE FUNCTION conversations.write_identity(
    p_app uuid, p_user text, p_mode text, p_values jsonb, p_metadata jsonb, p_keys jsonb,
    OUT outcome text, OUT profile conversations.identity, OUT told_users text[], OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    blank CONSTANT jsonb := '{"display_name": null, "avatar_url": null, "first_name": null, "last_name": null, "phone_number": null,
        "email_address": null, "public_key": null, "is_bot": false}';
    before conversations.identity;
    was_unknown boolean := false;
    existed boolean;
BEGIN
    SELECT i.* INTO before FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
    IF NOT FOUND AND p_mode IN ('create', 'replace') THEN
        INSERT INTO conversations.identity (app_id, user_id) VALUES (p_app, p_user) ON CONFLICT DO NOTHING;
        was_unknown := FOUND;
        SELECT i.* INTO before FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
    END IF;
    existed := conversations.has_identity(before);
    IF p_mode = 'create' AND existed THEN outcome := 'id_in_use'; RETURN; END IF;
    IF p_mode IN ('patch', 'delete') AND NOT existed THEN outcome := 'not_found'; RETURN; END IF;

    profile := jsonb_populate_record(before, CASE WHEN p_mode = 'patch' THEN p_values ELSE blank || p_values END);
    profile.metadata := coalesce(p_metadata, CASE WHEN p_mode = 'patch' THEN before.metadata ELSE '{}' END);
    profile.metadata := jsonb_strip_nulls(profile.metadata || coalesce(p_keys, '{}'));
    IF (SELECT count(*) FROM jsonb_object_keys(profile.metadata)) > 16 THEN
        -- What was made for it is removed with the identities of which only the id is known.
        outcome := 'too_many_keys';
        profile := NULL;
        RETURN;
    END IF;
    IF profile IS NOT DISTINCT FROM before THEN outcome := 'none'; RETURN; END IF;
    UPDATE conversations.identity i SET
        display_name = profile.display_name, avatar_url = profile.avatar_url, first_name = profile.first_name, last_name = profile.last_name,
        phone_number = profile.phone_number, email_address = profile.email_address, public_key = profile.public_key, is_bot = profile.is_bot,
        metadata = profile.metadata, is_doomed = false
    WHERE i.app_id = p_app AND i.user_id = p_user;
    outcome := 'ok';
    IF was_unknown THEN RETURN; END IF;
    SELECT t.* INTO told_users, told_positions, told_at FROM conversations.tell_identity(p_app, p_user, true) t;
END
$$;

-- Suspends a user, or lifts the suspension. Sessions stay, and are good for nothing meanwhile. Outcomes: 'ok'; 'none', if it was so before; 'not_found'.
CREATE OR REPLACE FUNCTION conversations.suspend_user(p_app uuid, p_user text, p_suspended boolean) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE conversations.identity i SET suspended = p_suspended
    WHERE i.app_id = p_app AND i.user_id = p_user AND i.suspended <> p_suspended;
    IF FOUND THEN RETURN 'ok'; END IF;
    RETURN CASE WHEN EXISTS (SELECT FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user) THEN 'none' ELSE 'not_found' END;
END
$$;

-- What a session is called where its token must not be told. The digest is that of 256 random bits, so the id tells nothing of either.
CREATE OR REPLACE FUNCTION conversations.session_id(p_digest bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- The bits of version 8, variant 1 (RFC 9562): made from a hash.
RETURN encode(
    set_byte(set_byte(substr(sha256('session '::bytea || p_digest), 1, 16), 6, get_byte(sha256('session '::bytea || p_digest), 6) & 15 | 128), 8,
        get_byte(sha256('session '::bytea || p_digest), 8) & 63 | 128), 'hex')::uuid;

-- A page of the sessions of a user that have not ended, the newest first. The first row has the outcome, 'ok' or 'unknown_cursor', and how many there are.
CREATE OR REPLACE FUNCTION conversations.list_sessions(p_app uuid, p_user text, p_page_size bigint, p_from uuid)
RETURNS TABLE (outcome text, total bigint, session_id uuid, created_at timestamptz, used_at timestamptz, expires_at timestamptz)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    ids uuid[];
    place bigint := 0;
BEGIN
    ids := ARRAY(
        SELECT conversations.session_id(s.digest) FROM conversations.session s
        WHERE s.app_id = p_app AND s.user_id = p_user AND s.expires_at > now() ORDER BY s.created_at DESC, s.digest);
    IF p_from IS NOT NULL THEN
        place := array_position(ids, p_from);
        IF place IS NULL THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, 0::bigint, NULL::uuid, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz;
            RETURN;
        END IF;
    END IF;
    RETURN QUERY SELECT 'ok'::text, cardinality(ids)::bigint, NULL::uuid, NULL::timestamptz, NULL::timestamptz, NULL::timestamptz;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, conversations.session_id(s.digest), s.created_at, coalesce(s.used_at, s.created_at), s.expires_at
    FROM conversations.session s
    WHERE s.app_id = p_app AND s.user_id = p_user AND s.expires_at > now()
    ORDER BY s.created_at DESC, s.digest OFFSET place LIMIT p_page_size;
END
$$;

-- Ends the session of a user that is called so, or with NULL all of that user's, and returns their digests.
CREATE OR REPLACE FUNCTION conversations.end_sessions(p_app uuid, p_user text, p_id uuid) RETURNS TABLE (digest bytea)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    DELETE FROM conversations.session s
    WHERE s.app_id = p_app AND s.user_id = p_user AND (p_id IS NULL OR conversations.session_id(s.digest) = p_id) RETURNING s.digest;
END
$$;

-- The same as one row, so that it can be done once under a name. Outcomes: 'ok'; 'not_found', if the session that is meant there is not.
CREATE OR REPLACE FUNCTION conversations.end_user_sessions(p_app uuid, p_user text, p_id uuid, OUT outcome text, OUT digests bytea[])
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT coalesce(array_agg(e.digest), '{}') INTO digests FROM conversations.end_sessions(p_app, p_user, p_id) e;
    outcome := CASE WHEN p_id IS NULL OR cardinality(digests) > 0 THEN 'ok' ELSE 'not_found' END;
END
$$;

-- Settings of an app. What is NULL stays, but a session's time where `p_sets_ttl` says that it is set: then NULL is what the service is set to.
CREATE OR REPLACE FUNCTION conversations.set_app(
    p_app uuid, p_sets_ttl boolean, p_ttl bigint, p_badge_counts text, p_badge_announcements boolean, p_added_by text,
    p_stranger_additions bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE conversations.app a SET
        session_ttl = CASE WHEN p_sets_ttl THEN p_ttl ELSE a.session_ttl END, badge_counts = coalesce(p_badge_counts, a.badge_counts),
        badge_announcements = coalesce(p_badge_announcements, a.badge_announcements), added_by = coalesce(p_added_by, a.added_by),
        stranger_additions = coalesce(p_stranger_additions, a.stranger_additions)
    WHERE a.id = p_app;
    RETURN CASE WHEN FOUND THEN 'ok' ELSE 'not_found' END;
END
$$;

-- Shortens the sessions of an app that would live for longer than the app's sessions do now, of at most `p_limit` users whose ids are above `p_after`.
-- Returns the last of these users, to go on with; NULL: there is none.
CREATE OR REPLACE FUNCTION conversations.shorten_sessions(p_app uuid, p_after text, p_limit bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ttl bigint := (SELECT a.session_ttl FROM conversations.app a WHERE a.id = p_app);
    users text[];
BEGIN
    IF ttl IS NULL THEN RETURN NULL; END IF;
    users := ARRAY(
        SELECT DISTINCT s.user_id FROM conversations.session s WHERE s.app_id = p_app AND s.user_id > p_after COLLATE "C"
        ORDER BY s.user_id LIMIT p_limit);
    UPDATE conversations.session s SET expires_at = now() + ttl * interval '1 second'
    WHERE s.digest IN (
        SELECT x.digest FROM unnest(users) u(id)
        CROSS JOIN LATERAL (
            SELECT y.digest, y.expires_at FROM conversations.session y WHERE y.app_id = p_app AND y.user_id = u.id FOR UPDATE SKIP LOCKED) x
        WHERE x.expires_at > now() + ttl * interval '1 second');
    RETURN users[cardinality(users)];
END
$$;

-- What a user has not read: conversations with unread messages in them, and these messages. Each conversation is looked up by itself.
CREATE OR REPLACE FUNCTION conversations.unread_totals(p_app uuid, p_user text, OUT conversations bigint, OUT messages bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    SELECT count(*) FILTER (WHERE n.unread > 0), coalesce(sum(n.unread) FILTER (WHERE n.unread > 0), 0)
    INTO unread_totals.conversations, unread_totals.messages
    FROM (
        SELECT coalesce(p.left_ordinal, c.message_count) - p.uncounted AS unread
        FROM conversations.user_conversation u
        CROSS JOIN LATERAL (
            SELECT x.left_ordinal, x.uncounted FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user OFFSET 0) p
        CROSS JOIN LATERAL (SELECT x.message_count FROM conversations.conversation x WHERE x.id = u.conversation_id OFFSET 0) c
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed) n;
END
$$;

-- Announcements that a user has not read.
CREATE OR REPLACE FUNCTION conversations.unread_announcements(p_app uuid, p_user text) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM conversations.announcement_recipient r
        WHERE r.app_id = p_app AND r.user_id = p_user AND NOT r.is_removed AND r.status < 2);
END
$$;

-- The counts of a user, and the number on the app's icon that follows from them by the app's settings; `badge` NULL: the app shows none. No row: the app has
-- not heard of the user. Not `p_counts`: only the number is wanted, and what it does not need is not counted.
CREATE OR REPLACE FUNCTION conversations.get_badge(p_app uuid, p_user text, p_counts boolean DEFAULT true)
RETURNS TABLE (external_unread_count bigint, unread_conversation_count bigint, unread_message_count bigint, badge bigint)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    settings record;
    announcements bigint := 0;
BEGIN
    IF NOT EXISTS (SELECT FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user) THEN RETURN; END IF;
    SELECT a.badge_counts, a.badge_announcements INTO settings FROM conversations.app a WHERE a.id = p_app;
    external_unread_count := coalesce((
        SELECT b.external_unread_count FROM conversations.badge b WHERE b.app_id = p_app AND b.user_id = p_user), 0);
    IF p_counts OR settings.badge_counts IN ('unread_messages', 'unread_conversations') THEN
        SELECT t.conversations, t.messages INTO unread_conversation_count, unread_message_count FROM conversations.unread_totals(p_app, p_user) t;
    END IF;
    IF settings.badge_announcements AND settings.badge_counts <> 'disabled' THEN
        announcements := conversations.unread_announcements(p_app, p_user);
    END IF;
    badge := announcements + external_unread_count + CASE settings.badge_counts
        WHEN 'unread_messages' THEN unread_message_count WHEN 'unread_conversations' THEN unread_conversation_count WHEN 'external' THEN 0 END;
    RETURN NEXT;
END
$$;

-- Sets what is unread outside of conversations, and pushes the number that follows from it. Outcomes: 'ok'; 'none', if it was so before; 'not_found'.
CREATE OR REPLACE FUNCTION conversations.set_badge(p_app uuid, p_user text, p_count bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before bigint;
BEGIN
    -- Erasing the user waits for this lock, and this for the erasing.
    PERFORM FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
    IF NOT FOUND THEN RETURN 'not_found'; END IF;
    before := coalesce((SELECT b.external_unread_count FROM conversations.badge b WHERE b.app_id = p_app AND b.user_id = p_user), 0);
    IF before = p_count THEN RETURN 'none'; END IF;
    INSERT INTO conversations.badge (app_id, user_id, external_unread_count) VALUES (p_app, p_user, p_count)
    ON CONFLICT (app_id, user_id) DO UPDATE SET external_unread_count = excluded.external_unread_count;
    PERFORM conversations.push_badge(p_app, p_user);
    RETURN 'ok';
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.has_identity, conversations.tell_identity, conversations.write_identity, conversations.suspend_user, conversations.session_id,
    conversations.list_sessions, conversations.end_sessions, conversations.end_user_sessions, conversations.set_app, conversations.shorten_sessions,
    conversations.unread_totals, conversations.unread_announcements, conversations.get_badge, conversations.set_badge TO strata_conversations;
