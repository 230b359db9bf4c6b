-- SPDX-License-Identifier: Apache-2.0
-- Statements whose plans do not depend on statistics.
--
-- Statistics are wrong when it hurts most: after a bulk load, in the first hours of a week's new partition of the log, after a restore. So a statement that
-- is asked for often, or when a socket opens, leaves the planner no choice:
--
-- * Rows that belong to a row are looked up in a LATERAL subquery with OFFSET 0, which is executed for each row by itself. Its conditions name the whole
--   front of the one index that serves them.
-- * The log has two indexes. What is read by position has ORDER BY position, what is read by time ORDER BY created_at, and the function forbids sorting
--   (SET enable_sort = off), so that only the index with that order is left.
-- * Whole tables are never read: the services' sessions forbid it, and so do these functions.

-- A place in a log.
CREATE TYPE conversations.log_place AS ("position" bigint, created_at timestamptz);

-- The first change of a conversation from `p_since` on, among the positions from `p_low` to `p_high`; NULL: there is none. Time never runs against
-- position, so it is searched for by position, from the end: the cost grows with the logarithm of the number of changes since then. The time is named only
-- so that the log's older partitions are left alone.
CREATE FUNCTION conversations.first_change_since(p_conversation uuid, p_since timestamptz, p_low bigint, p_high bigint) RETURNS conversations.log_place
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    -- What is at or below `low` was before that time, what is at or above `high` was not.
    low bigint := p_low - 1;
    high bigint := p_high + 1;
    reach bigint := 32;
    middle bigint;
    place conversations.log_place;
BEGIN
    LOOP
        -- A few positions are read at once, instead of one more step.
        middle := CASE WHEN high - low <= 33 THEN low + 1 ELSE greatest((low + high) / 2, high - reach) END;
        SELECT h.position, h.created_at INTO place FROM conversations.change h
        WHERE h.conversation_id = p_conversation AND h.position >= middle
            AND h.position <= CASE WHEN high - low <= 33 THEN least(high, p_high) ELSE middle END AND h.created_at >= p_since
        ORDER BY h.position LIMIT 1;
        IF high - low <= 33 THEN RETURN place; END IF;
        IF FOUND THEN high := middle; ELSE low := middle; END IF;
        reach := reach * 8;
    END LOOP;
END
$$;

-- The same of a user's own log.
CREATE FUNCTION conversations.first_user_change_since(p_app uuid, p_user text, p_since timestamptz, p_high bigint) RETURNS conversations.log_place
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    low bigint := 0;
    high bigint := p_high + 1;
    reach bigint := 32;
    middle bigint;
    place conversations.log_place;
BEGIN
    LOOP
        middle := CASE WHEN high - low <= 33 THEN low + 1 ELSE greatest((low + high) / 2, high - reach) END;
        SELECT u.position, u.created_at INTO place FROM conversations.user_change u
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.position >= middle
            AND u.position <= CASE WHEN high - low <= 33 THEN least(high, p_high) ELSE middle END AND u.created_at >= p_since
        ORDER BY u.position LIMIT 1;
        IF high - low <= 33 THEN RETURN place; END IF;
        IF FOUND THEN high := middle; ELSE low := middle; END IF;
        reach := reach * 8;
    END LOOP;
END
$$;

-- As before, by these.
CREATE OR REPLACE FUNCTION conversations.baseline(p_app uuid, p_user text, p_since timestamptz)
RETURNS TABLE (
    conversation_id uuid, "position" bigint, after bigint, uncounted bigint, hidden bigint, message_count bigint, is_participant boolean,
    oldest_at timestamptz, as_of timestamptz, complete boolean)
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    own conversations.user_log;
    place conversations.log_place;
BEGIN
    SELECT * INTO own FROM conversations.user_log l WHERE l.app_id = p_app AND l.user_id = p_user;
    IF own.last_change_at >= p_since THEN
        place := conversations.first_user_change_since(p_app, p_user, p_since, own.position);
    END IF;
    "position" := coalesce(own.position, 0);
    after := coalesce(place.position - 1, own.position, 0);
    oldest_at := place.created_at;
    as_of := statement_timestamp();
    complete := p_since IS NULL OR p_since >= (SELECT b.at FROM conversations.log_begin b);
    RETURN NEXT;

    RETURN QUERY
    SELECT s.id, s.ends, coalesce((s.first).position - 1, s.ends), s.uncounted, s.hidden_count, s.message_count, s.participates,
        (s.first).created_at, NULL::timestamptz, NULL::boolean
    FROM (
        SELECT u.conversation_id AS id, p.ends, p.uncounted, p.hidden_count, u.is_listed, p.message_count,
            p.is_present AND c.deleted_position IS NULL AS participates,
            CASE WHEN n.position > p.first_joined AND n.position = p.ends - 63
                THEN conversations.first_change_since(u.conversation_id, p_since, p.first_joined, n.position)
                ELSE (n.position, n.created_at)::conversations.log_place END AS first
        FROM conversations.user_conversation u
        CROSS JOIN LATERAL (
            SELECT x.position, x.message_count, x.deleted_position, x.last_change_at
            FROM conversations.conversation x WHERE x.id = u.conversation_id OFFSET 0) c
        CROSS JOIN LATERAL (
            SELECT x.first_joined, x.uncounted, x.hidden_count, x.left_position IS NULL AS is_present,
                coalesce(x.left_position, c.position) AS ends, coalesce(x.left_ordinal, c.message_count) AS message_count
            FROM conversations.participant x WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user OFFSET 0) p
        -- Only where something happened at all is the log looked at: its last 64 positions, which are enough nearly always.
        LEFT JOIN LATERAL (
            SELECT h.position, h.created_at FROM conversations.change h
            WHERE c.last_change_at >= p_since AND h.conversation_id = u.conversation_id AND h.position >= greatest(p.first_joined, p.ends - 63)
                AND h.position <= p.ends AND h.created_at >= p_since
            ORDER BY h.position LIMIT 1) n ON true
        WHERE u.app_id = p_app AND u.user_id = p_user OFFSET 0) s
    WHERE s.participates OR s.is_listed OR (s.first).position IS NOT NULL;
END
$$;

-- As before, by time.
CREATE OR REPLACE FUNCTION conversations.heads(p_since timestamptz)
RETURNS TABLE (entry bigint, app_id uuid, user_id text, conversation_id uuid, "position" bigint, as_of timestamptz)
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    since timestamptz := coalesce(p_since, statement_timestamp()) - conversations.margin();
BEGIN
    RETURN QUERY SELECT 0::bigint, NULL::uuid, NULL::text, NULL::uuid, NULL::bigint, statement_timestamp();
    RETURN QUERY
    SELECT 1::bigint, NULL::uuid, NULL::text, h.conversation_id, max(h.position), NULL::timestamptz
    FROM (
        SELECT x.conversation_id, x.position FROM conversations.change x WHERE x.created_at >= since ORDER BY x.created_at OFFSET 0) h
    GROUP BY h.conversation_id;
    RETURN QUERY
    SELECT 2::bigint, c.app_id, a.id, h.conversation_id, max(h.position), NULL::timestamptz
    FROM (
        SELECT x.conversation_id, x.position, x.kind, x.operations FROM conversations.change x
        WHERE x.created_at >= since AND x.kind IN (1, 2) ORDER BY x.created_at OFFSET 0) h
    CROSS JOIN LATERAL jsonb_array_elements_text(h.operations -> CASE h.kind WHEN 1 THEN 'participants' ELSE 'added' END) a(id)
    CROSS JOIN LATERAL (SELECT x.app_id FROM conversations.conversation x WHERE x.id = h.conversation_id OFFSET 0) c
    GROUP BY c.app_id, a.id, h.conversation_id;
    RETURN QUERY
    SELECT 3::bigint, u.app_id, u.user_id::text, NULL::uuid, max(u.position), NULL::timestamptz
    FROM (
        SELECT x.app_id, x.user_id, x.position FROM conversations.user_change x WHERE x.created_at >= since ORDER BY x.created_at OFFSET 0) u
    GROUP BY u.app_id, u.user_id;
END
$$;

-- As before, each log a scan of its own.
CREATE OR REPLACE FUNCTION conversations.read_logs(
    p_app uuid, p_user text, p_conversations uuid[], p_afters bigint[], p_user_after bigint, p_limit bigint)
RETURNS SETOF conversations.log_row
LANGUAGE plpgsql STABLE ROWS 500 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    entry conversations.log_row;
    c conversations.conversation;
    p conversations.participant;
    found_row record;
    n bigint := 0;
    conversation uuid;
BEGIN
    FOR found_row IN
        SELECT x.h, x.u, count(*) OVER () AS count
        FROM (
            SELECT r.h, NULL::conversations.user_change AS u, r.created_at, k.id, r.position
            FROM unnest(p_conversations, p_afters) k(id, after)
            CROSS JOIN LATERAL (
                SELECT x.position FROM conversations.conversation x WHERE x.id = k.id AND x.app_id = p_app OFFSET 0) y
            CROSS JOIN LATERAL (
                SELECT x.first_joined, x.left_position FROM conversations.participant x
                WHERE x.conversation_id = k.id AND x.user_id = p_user OFFSET 0) z
            CROSS JOIN LATERAL (
                SELECT l AS h, l.created_at, l.position FROM conversations.change l
                WHERE l.conversation_id = k.id AND l.position > greatest(k.after, z.first_joined - 1)
                    AND l.position <= coalesce(z.left_position, y.position)
                ORDER BY l.position LIMIT p_limit + 1) r
            UNION ALL
            (SELECT NULL::conversations.change, l, l.created_at, NULL::uuid, l.position
            FROM conversations.user_change l
            WHERE l.app_id = p_app AND l.user_id = p_user AND l.position > p_user_after
            ORDER BY l.position LIMIT p_limit + 1)
            ORDER BY 3, 4, 5 LIMIT p_limit + 1) x
        ORDER BY x.created_at, x.id, x.position
    LOOP
        IF n = 0 THEN
            entry := NULL;
            entry.entry := 0;
            entry.met_heads := found_row.count <= p_limit;
            RETURN NEXT entry;
        END IF;
        n := n + 1;
        EXIT WHEN n > p_limit;
        IF (found_row.u).position IS NOT NULL THEN
            RETURN NEXT conversations.user_change_entry(found_row.u);
            CONTINUE;
        END IF;
        IF c.id IS DISTINCT FROM (found_row.h).conversation_id THEN
            SELECT * INTO c FROM conversations.conversation x WHERE x.id = (found_row.h).conversation_id;
            SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = c.id AND x.user_id = p_user;
        END IF;
        RETURN NEXT conversations.change_for(found_row.h, c, p);
    END LOOP;
    IF n = 0 THEN
        entry.entry := 0;
        entry.met_heads := true;
        RETURN NEXT entry;
    END IF;
    FOREACH conversation IN ARRAY p_conversations LOOP
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = conversation AND x.user_id = p_user AND x.app_id = p_app;
        CONTINUE WHEN NOT FOUND;
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = conversation;
        CONTINUE WHEN c.deleted_position IS NOT NULL;
        RETURN NEXT conversations.numbers_entry(c, p);
    END LOOP;
END
$$;

-- As before, each message looked up by itself.
CREATE OR REPLACE FUNCTION conversations.locate_messages(p_app uuid, p_users text[], p_messages uuid[])
RETURNS TABLE (number bigint, conversation_id uuid)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
BEGIN
    RETURN QUERY
    SELECT g.n, l.conversation_id
    FROM unnest(p_users, p_messages) WITH ORDINALITY g(user_id, message_id, n)
    CROSS JOIN LATERAL (
        SELECT x.conversation_id, x.ordinal FROM conversations.message_place x
        WHERE x.message_id = g.message_id AND x.app_id = p_app OFFSET 0) l
    CROSS JOIN LATERAL (
        SELECT x AS row FROM conversations.participant x
        WHERE x.conversation_id = l.conversation_id AND x.user_id = g.user_id OFFSET 0) p
    WHERE conversations.may_see(p.row, l.ordinal);
END
$$;

-- As before, conversation by conversation.
CREATE OR REPLACE FUNCTION conversations.met(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT DISTINCT q.user_id::text
    FROM conversations.user_conversation u
    CROSS JOIN LATERAL (
        SELECT x.first_joined, x.left_position FROM conversations.participant x
        WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user OFFSET 0) p
    CROSS JOIN LATERAL (
        SELECT x.user_id, x.first_joined, x.left_position FROM conversations.participant x
        WHERE x.conversation_id = u.conversation_id OFFSET 0) q
    WHERE u.app_id = p_app AND u.user_id = p_user AND q.user_id <> p_user
        AND (p.left_position IS NULL OR p.left_position > q.first_joined) AND (q.left_position IS NULL OR q.left_position > p.first_joined);
END
$$;

CREATE OR REPLACE FUNCTION conversations.have_met(p_app uuid, p_user text, p_other text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.user_conversation u
        CROSS JOIN LATERAL (
            SELECT x.first_joined, x.left_position FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_other OFFSET 0) q
        CROSS JOIN LATERAL (
            SELECT x.first_joined, x.left_position FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user OFFSET 0) p
        WHERE u.app_id = p_app AND u.user_id = p_user
            AND (p.left_position IS NULL OR p.left_position > q.first_joined) AND (q.left_position IS NULL OR q.left_position > p.first_joined));
END
$$;

CREATE OR REPLACE FUNCTION conversations.are_together(p_app uuid, p_user text, p_other text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.user_conversation u
        CROSS JOIN LATERAL (
            SELECT FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_other AND x.left_position IS NULL OFFSET 0) q
        CROSS JOIN LATERAL (
            SELECT FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user AND x.left_position IS NULL OFFSET 0) p
        CROSS JOIN LATERAL (
            SELECT FROM conversations.conversation x WHERE x.id = u.conversation_id AND x.deleted_position IS NULL OFFSET 0) c
        WHERE u.app_id = p_app AND u.user_id = p_user);
END
$$;

-- As before, each user's row looked up by itself.
CREATE OR REPLACE FUNCTION conversations.followed(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT m.user_id FROM conversations.met(p_app, p_user) m
    WHERE (
        SELECT f.is_followed FROM conversations.follow f
        WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = m.user_id) IS NOT FALSE
    UNION
    SELECT f.followed::text FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.is_followed;
END
$$;

CREATE OR REPLACE FUNCTION conversations.followers(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT m.user_id FROM conversations.met(p_app, p_user) m
    WHERE (
        SELECT f.is_followed FROM conversations.follow f
        WHERE f.app_id = p_app AND f.user_id = m.user_id AND f.followed = p_user) IS NOT FALSE
    UNION
    SELECT f.user_id::text FROM conversations.follow f WHERE f.app_id = p_app AND f.followed = p_user AND f.is_followed;
END
$$;

CREATE OR REPLACE FUNCTION conversations.sees_content(p_user text, p_content uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.content_reference r
        CROSS JOIN LATERAL (
            SELECT x AS row FROM conversations.participant x
            WHERE x.conversation_id = r.conversation_id AND x.user_id = p_user OFFSET 0) p
        CROSS JOIN LATERAL (
            SELECT FROM conversations.conversation x WHERE x.id = r.conversation_id AND x.deleted_position IS NULL OFFSET 0) c
        WHERE r.content_id = p_content AND conversations.may_see(p.row, r.ordinal));
END
$$;

CREATE OR REPLACE FUNCTION conversations.get_content(p_app uuid, p_user text, p_content uuid)
RETURNS TABLE (content_id uuid, mime_type text, size bigint, is_uploaded boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    found_row conversations.content;
BEGIN
    SELECT * INTO found_row FROM conversations.content x WHERE x.id = p_content AND x.app_id = p_app AND NOT x.is_doomed;
    IF found_row.owner = p_user OR found_row.id IS NOT NULL AND conversations.sees_content(p_user, p_content) THEN
        content_id := found_row.id;
        mime_type := found_row.mime_type;
        size := found_row.size;
        is_uploaded := found_row.uploaded_at IS NOT NULL;
        RETURN NEXT;
    END IF;
END
$$;

-- As before, each identity looked up by itself: among many users of an app the planner may prefer to read the identities of all.
CREATE OR REPLACE FUNCTION conversations.ensure_identities(p_app uuid, p_users text[]) RETURNS SETOF conversations.identity
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    users text[] := conversations.sorted_users(p_users);
BEGIN
    INSERT INTO conversations.identity (app_id, user_id) SELECT p_app, w.id FROM unnest(users) WITH ORDINALITY w(id, n) ORDER BY w.n
    ON CONFLICT DO NOTHING;
    RETURN QUERY
    SELECT i.* FROM unnest(users) w(id)
    CROSS JOIN LATERAL (SELECT x.* FROM conversations.identity x WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i;
END
$$;

CREATE OR REPLACE FUNCTION conversations.list_followed(p_app uuid, p_user text, p_page_size bigint, p_from text)
RETURNS TABLE (outcome text, total bigint, profile conversations.identity)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    users text[] := ARRAY(SELECT f.user_id FROM conversations.followed(p_app, p_user) f);
    from_time timestamptz;
BEGIN
    IF p_from IS NOT NULL THEN
        SELECT i.created_at INTO from_time FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_from;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, 0::bigint, NULL::conversations.identity;
            RETURN;
        END IF;
    END IF;
    outcome := 'ok';
    total := (
        SELECT count(*) FROM unnest(users) w(id)
        CROSS JOIN LATERAL (SELECT FROM conversations.identity x WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i);
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, i.row
    FROM unnest(users) w(id)
    CROSS JOIN LATERAL (SELECT x AS row FROM conversations.identity x WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i
    WHERE p_from IS NULL OR ((i.row).created_at, (i.row).user_id) < (from_time, p_from)
    ORDER BY (i.row).created_at DESC, (i.row).user_id DESC LIMIT p_page_size;
END
$$;

-- As before, user by user.
CREATE OR REPLACE FUNCTION conversations.follow_again(c conversations.conversation, p_users text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    everybody text[] := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
    ended record;
BEGIN
    FOR ended IN
        SELECT e.id AS user_id, f.followed
        FROM unnest(everybody) e(id)
        CROSS JOIN LATERAL (
            SELECT x.followed FROM conversations.follow x WHERE x.app_id = c.app_id AND x.user_id = e.id AND NOT x.is_followed OFFSET 0) f
        WHERE f.followed = ANY (everybody) AND (e.id = ANY (p_users) OR f.followed = ANY (p_users))
        ORDER BY e.id COLLATE "C", f.followed
    LOOP
        DELETE FROM conversations.follow f
        WHERE f.app_id = c.app_id AND f.user_id = ended.user_id AND f.followed = ended.followed AND NOT coalesce(f.is_followed, true);
    END LOOP;
END
$$;

ALTER FUNCTION conversations.read_changes SET enable_seqscan = off;
ALTER FUNCTION conversations.read_changes SET enable_bitmapscan = off;
ALTER FUNCTION conversations.read_changes SET enable_sort = off;
ALTER FUNCTION conversations.list_announcements SET enable_seqscan = off;
ALTER FUNCTION conversations.list_announcements SET enable_bitmapscan = off;
ALTER FUNCTION conversations.list_announcements SET enable_sort = off;

REVOKE ALL ON FUNCTION conversations.first_change_since, conversations.first_user_change_since FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.first_change_since, conversations.first_user_change_since TO strata_conversations;
