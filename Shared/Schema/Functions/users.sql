-- SPDX-License-Identifier: Apache-2.0
-- Administration of users by an app's own server: identities, suspension, sessions and badges.

-- True if more than the id of a user is known.
CREATE OR REPLACE FUNCTION conversations.has_identity(i conversations.identity) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(
    (i).display_name IS NOT NULL OR (i).avatar_url IS NOT NULL OR (i).first_name IS NOT NULL
        OR (i).last_name IS NOT NULL
        OR (i).phone_number IS NOT NULL OR (i).email_address IS NOT NULL OR (i).public_key IS NOT NULL OR (i).is_bot
        OR (i).metadata <> '{}', false);

-- Appends the change of a user's identity (kind 4) to the logs of all followers, and with `p_own` to the user's own
-- log. Call it last in a function, because it locks all of these logs. Times are microseconds since 1970.
CREATE OR REPLACE FUNCTION conversations.tell_identity(
    p_app uuid, p_user text, p_own boolean, OUT told_users text[], OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT coalesce(array_agg(t.user_id), '{}'), coalesce(array_agg(t.position), '{}'),
        coalesce(array_agg(t.created_at), '{}')
    INTO told_users, told_positions, told_at
    FROM conversations.append_user_changes(
        p_app, ARRAY(SELECT f.user_id FROM conversations.followers(p_app, p_user) f) || CASE
            WHEN p_own THEN ARRAY[p_user] ELSE '{}' END,
        conversations.user_kind_identity(), jsonb_build_object('user', p_user)) t;
END
$$;

-- Writes an identity. A previously unknown user has no device and no follower, so no log gets an entry.
--
-- `p_mode`:
-- - 'create', 'replace': sets all properties; those missing in `p_values` become NULL.
-- - 'patch': sets the properties in `p_values`.
-- - 'delete': keeps only the id.
--
-- The metadata becomes `p_metadata`. If that is NULL, a patch keeps the metadata. Then `p_keys` sets keys of it; null
-- removes a key.
--
-- Outcomes:
-- - 'ok'.
-- - 'none': nothing changed.
-- - 'id_in_use': the identity to create exists.
-- - 'not_found': the identity to patch or delete does not exist.
-- - 'too_many_keys': more than 16 keys of metadata.
CREATE OR REPLACE FUNCTION conversations.write_identity(
    p_app uuid, p_user text, p_mode text, p_values jsonb, p_metadata jsonb, p_keys jsonb,
    OUT outcome text, OUT profile conversations.identity, OUT told_users text[], OUT told_positions bigint[],
    OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    blank CONSTANT jsonb := '{
        "display_name": null, "avatar_url": null, "first_name": null, "last_name": null, "phone_number": null,
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
        -- A row created above is removed by the sweep of bare identities.
        outcome := 'too_many_keys';
        profile := NULL;
        RETURN;
    END IF;
    IF profile IS NOT DISTINCT FROM before THEN outcome := 'none'; RETURN; END IF;
    UPDATE conversations.identity i SET
        display_name = profile.display_name, avatar_url = profile.avatar_url, first_name = profile.first_name,
        last_name = profile.last_name,
        phone_number = profile.phone_number, email_address = profile.email_address, public_key = profile.public_key,
        is_bot = profile.is_bot,
        metadata = profile.metadata, is_doomed = false
    WHERE i.app_id = p_app AND i.user_id = p_user;
    outcome := 'ok';
    IF was_unknown THEN RETURN; END IF;
    SELECT t.* INTO told_users, told_positions, told_at FROM conversations.tell_identity(p_app, p_user, true) t;
END
$$;

-- Suspends a user, or lifts the suspension. Sessions stay, but are invalid during the suspension. Outcomes: 'ok';
-- 'none', if nothing changed; 'not_found'.
CREATE OR REPLACE FUNCTION conversations.suspend_user(p_app uuid, p_user text, p_suspended boolean) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE conversations.identity i SET suspended = p_suspended
    WHERE i.app_id = p_app AND i.user_id = p_user AND i.suspended <> p_suspended;
    IF FOUND THEN RETURN 'ok'; END IF;
    RETURN CASE WHEN EXISTS (SELECT FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user)
        THEN 'none' ELSE 'not_found' END;
END
$$;

-- Returns the id of a session, for uses in which its token must stay secret. The digest is made of 256 random bits, so
-- the id reveals nothing about either.
CREATE OR REPLACE FUNCTION conversations.session_id(p_digest bytea) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Set the bits of version 8 and variant 1 (RFC 9562): derived from a hash.
RETURN encode(
    set_byte(
        set_byte(substr(sha256('session '::bytea || p_digest), 1, 16), 6,
            get_byte(sha256('session '::bytea || p_digest), 6) & 15 | 128), 8,
        get_byte(sha256('session '::bytea || p_digest), 8) & 63 | 128), 'hex')::uuid;

-- Lists one page of a user's unexpired sessions, newest first. The first row has the outcome, 'ok' or 'unknown_cursor',
-- and the total.
CREATE OR REPLACE FUNCTION conversations.list_sessions(p_app uuid, p_user text, p_page_size bigint, p_from uuid)
RETURNS TABLE (outcome text, total bigint, session_id uuid, created_at timestamptz, used_at timestamptz,
    expires_at timestamptz)
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
            RETURN QUERY SELECT 'unknown_cursor'::text, 0::bigint, NULL::uuid, NULL::timestamptz, NULL::timestamptz,
                NULL::timestamptz;
            RETURN;
        END IF;
    END IF;
    RETURN QUERY SELECT 'ok'::text, cardinality(ids)::bigint, NULL::uuid, NULL::timestamptz, NULL::timestamptz,
        NULL::timestamptz;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, conversations.session_id(s.digest), s.created_at,
        coalesce(s.used_at, s.created_at), s.expires_at
    FROM conversations.session s
    WHERE s.app_id = p_app AND s.user_id = p_user AND s.expires_at > now()
    ORDER BY s.created_at DESC, s.digest OFFSET place LIMIT p_page_size;
END
$$;

-- Ends a user's session with this id (NULL: all), and returns the digests of the ended ones.
CREATE OR REPLACE FUNCTION conversations.end_sessions(p_app uuid, p_user text, p_id uuid) RETURNS TABLE (digest bytea)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    DELETE FROM conversations.session s
    WHERE s.app_id = p_app AND s.user_id = p_user AND (p_id IS NULL OR conversations.session_id(s.digest) = p_id)
    RETURNING s.digest;
END
$$;

-- Ends sessions like end_sessions and returns one row, so that it can be called with an idempotency key. Outcomes:
-- 'ok'; 'not_found', if the session does not exist.
CREATE OR REPLACE FUNCTION conversations.end_user_sessions(
    p_app uuid, p_user text, p_id uuid, OUT outcome text, OUT digests bytea[])
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT coalesce(array_agg(e.digest), '{}') INTO digests FROM conversations.end_sessions(p_app, p_user, p_id) e;
    outcome := CASE WHEN p_id IS NULL OR cardinality(digests) > 0 THEN 'ok' ELSE 'not_found' END;
END
$$;

-- Changes settings of an app. NULL means unchanged, except for `p_ttl` if `p_sets_ttl` is true: NULL then selects the
-- service's setting.
CREATE OR REPLACE FUNCTION conversations.set_app(
    p_app uuid, p_sets_ttl boolean, p_ttl bigint, p_badge_counts text, p_badge_announcements boolean, p_added_by text,
    p_stranger_additions bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE conversations.app a SET
        session_ttl = CASE WHEN p_sets_ttl THEN p_ttl ELSE a.session_ttl END,
        badge_counts = coalesce(p_badge_counts, a.badge_counts),
        badge_announcements = coalesce(p_badge_announcements, a.badge_announcements),
        added_by = coalesce(p_added_by, a.added_by),
        stranger_additions = coalesce(p_stranger_additions, a.stranger_additions)
    WHERE a.id = p_app;
    RETURN CASE WHEN FOUND THEN 'ok' ELSE 'not_found' END;
END
$$;

-- Shortens the sessions of an app that end later than the app's present lifetime allows, for up to `p_limit` users with
-- ids above `p_after`. Returns the last of these users, to continue from; NULL: none.
CREATE OR REPLACE FUNCTION conversations.shorten_sessions(p_app uuid, p_after text, p_limit bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ttl bigint := (SELECT a.session_ttl FROM conversations.app a WHERE a.id = p_app);
    users text[];
BEGIN
    IF ttl IS NULL THEN RETURN NULL; END IF;
    users := ARRAY(
        SELECT DISTINCT s.user_id FROM conversations.session s
        WHERE s.app_id = p_app AND s.user_id > p_after COLLATE "C"
        ORDER BY s.user_id LIMIT p_limit);
    UPDATE conversations.session s SET expires_at = now() + ttl * interval '1 second'
    WHERE s.digest IN (
        SELECT x.digest FROM unnest(users) u(id)
        CROSS JOIN LATERAL (
            SELECT y.digest, y.expires_at FROM conversations.session y
            WHERE y.app_id = p_app AND y.user_id = u.id FOR UPDATE SKIP LOCKED) x
        WHERE x.expires_at > now() + ttl * interval '1 second');
    RETURN users[cardinality(users)];
END
$$;

-- Returns the number of conversations with unread messages, and of these messages. Each conversation is found by an
-- index lookup.
CREATE OR REPLACE FUNCTION conversations.unread_totals(
    p_app uuid, p_user text, OUT conversations bigint, OUT messages bigint)
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
        CROSS JOIN LATERAL (SELECT x.message_count FROM conversations.conversation x
            WHERE x.id = u.conversation_id OFFSET 0) c
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed) n;
END
$$;

CREATE OR REPLACE FUNCTION conversations.unread_announcements(p_app uuid, p_user text) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM conversations.announcement_recipient r
        WHERE r.app_id = p_app AND r.user_id = p_user AND NOT r.is_removed AND r.status < 2);
END
$$;

-- Returns the unread counts of a user, and the badge calculated from them by the app's settings. `badge` NULL: the app
-- shows none. No row: the app has no such user. If `p_counts` is false, only counts that the badge needs are
-- calculated.
CREATE OR REPLACE FUNCTION conversations.get_badge(p_app uuid, p_user text, p_counts boolean DEFAULT true)
RETURNS TABLE (external_unread_count bigint, unread_conversation_count bigint, unread_message_count bigint,
    badge bigint)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    settings record;
    announcements bigint := 0;
BEGIN
    IF NOT EXISTS (SELECT FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user) THEN
        RETURN;
    END IF;
    SELECT a.badge_counts, a.badge_announcements INTO settings FROM conversations.app a WHERE a.id = p_app;
    external_unread_count := coalesce((
        SELECT b.external_unread_count FROM conversations.badge b WHERE b.app_id = p_app AND b.user_id = p_user), 0);
    IF p_counts OR settings.badge_counts IN ('unread_messages', 'unread_conversations') THEN
        SELECT t.conversations, t.messages INTO unread_conversation_count, unread_message_count
        FROM conversations.unread_totals(p_app, p_user) t;
    END IF;
    IF settings.badge_announcements AND settings.badge_counts <> 'disabled' THEN
        announcements := conversations.unread_announcements(p_app, p_user);
    END IF;
    badge := announcements + external_unread_count + CASE settings.badge_counts
        WHEN 'unread_messages' THEN unread_message_count WHEN 'unread_conversations' THEN unread_conversation_count
        WHEN 'external' THEN 0 END;
    RETURN NEXT;
END
$$;

-- Sets the unread count from outside of conversations and pushes the new badge. Outcomes: 'ok'; 'none', if nothing
-- changed; 'not_found'.
CREATE OR REPLACE FUNCTION conversations.set_badge(p_app uuid, p_user text, p_count bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before bigint;
BEGIN
    -- Erasing the user waits for this lock, and this call waits for a running erasure.
    PERFORM FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
    IF NOT FOUND THEN RETURN 'not_found'; END IF;
    before := coalesce(
        (SELECT b.external_unread_count FROM conversations.badge b WHERE b.app_id = p_app AND b.user_id = p_user), 0);
    IF before = p_count THEN RETURN 'none'; END IF;
    INSERT INTO conversations.badge (app_id, user_id, external_unread_count) VALUES (p_app, p_user, p_count)
    ON CONFLICT (app_id, user_id) DO UPDATE SET external_unread_count = excluded.external_unread_count;
    PERFORM conversations.push_badge(p_app, p_user);
    RETURN 'ok';
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.has_identity, conversations.tell_identity, conversations.write_identity, conversations.suspend_user,
    conversations.session_id, conversations.list_sessions, conversations.end_sessions, conversations.end_user_sessions,
    conversations.set_app, conversations.shorten_sessions, conversations.unread_totals,
    conversations.unread_announcements, conversations.get_badge, conversations.set_badge TO strata_conversations;
