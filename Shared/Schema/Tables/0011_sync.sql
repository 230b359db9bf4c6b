-- SPDX-License-Identifier: Apache-2.0
-- What gateways read to bring their clients up to date. STABLE functions: all of an answer is from one snapshot.
--
-- Within a conversation, and within a user's log, time never runs against position, so that what happened since a time is a run of positions at the end.

-- A message already committed may be 30 s older than a clock read before: transactions last, and clocks differ.
CREATE FUNCTION conversations.margin() RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN interval '30 seconds';

-- What moved lately. Entries: 0 as_of, always, first; 1 a conversation's head; 2 a user added at a position; 3 the head of a user's log.
CREATE FUNCTION conversations.heads(p_since timestamptz)
RETURNS TABLE (entry bigint, app_id uuid, user_id text, conversation_id uuid, "position" bigint, as_of timestamptz)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    since timestamptz := coalesce(p_since, statement_timestamp()) - conversations.margin();
BEGIN
    RETURN QUERY SELECT 0::bigint, NULL::uuid, NULL::text, NULL::uuid, NULL::bigint, statement_timestamp();
    RETURN QUERY
    SELECT 1::bigint, NULL::uuid, NULL::text, h.conversation_id, max(h.position), NULL::timestamptz
    FROM conversations.change h WHERE h.created_at >= since GROUP BY h.conversation_id;
    RETURN QUERY
    SELECT 2::bigint, c.app_id, a.id, h.conversation_id, max(h.position), NULL::timestamptz
    FROM conversations.change h
    CROSS JOIN LATERAL jsonb_array_elements_text(h.operations -> CASE h.kind WHEN 1 THEN 'participants' ELSE 'added' END) a(id)
    JOIN conversations.conversation c ON c.id = h.conversation_id
    WHERE h.created_at >= since AND h.kind IN (1, 2)
    GROUP BY c.app_id, a.id, h.conversation_id;
    RETURN QUERY
    SELECT 3::bigint, u.app_id, u.user_id::text, NULL::uuid, max(u.position), NULL::timestamptz
    FROM conversations.user_change u WHERE u.created_at >= since GROUP BY u.app_id, u.user_id;
END
$$;

-- Where a user's conversations and his own log stand, and stood at `p_since` (NULL: as they stand; a margin for clocks and for
-- transactions under way is the caller's). The first row, without a conversation, is
-- about his own log, and says whether the log still holds all since then. A conversation that was deleted for all, or that he removed from his
-- list after leaving it, is there only if that happened since.
CREATE FUNCTION conversations.baseline(p_app uuid, p_user text, p_since timestamptz)
RETURNS TABLE (
    conversation_id uuid, "position" bigint, after bigint, uncounted bigint, hidden bigint, message_count bigint, is_participant boolean,
    oldest_at timestamptz, as_of timestamptz, complete boolean)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    since timestamptz := p_since;
BEGIN
    RETURN QUERY
    SELECT NULL::uuid, coalesce(l.position, 0), coalesce(l.position, 0) - coalesce(n.count, 0), NULL::bigint, NULL::bigint, NULL::bigint, NULL::boolean,
        n.oldest, statement_timestamp(), since IS NULL OR since >= (SELECT b.at FROM conversations.log_begin b)
    FROM (SELECT) one
    LEFT JOIN conversations.user_log l ON l.app_id = p_app AND l.user_id = p_user
    LEFT JOIN LATERAL (
        SELECT count(*) AS count, min(u.created_at) AS oldest FROM conversations.user_change u
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.created_at >= since AND l.last_change_at >= since) n ON true;

    RETURN QUERY
    SELECT s.id, s.ends, least(s.ends, coalesce(n.first - 1, s.ends)), s.uncounted, s.hidden_count, s.message_count, s.participates,
        n.oldest, NULL::timestamptz, NULL::boolean
    FROM (
        SELECT c.id, coalesce(p.left_position, c.position) AS ends, p.first_joined, p.uncounted, p.hidden_count, c.last_change_at,
            coalesce(p.left_ordinal, c.message_count) AS message_count, p.left_position IS NULL AND c.deleted_position IS NULL AS participates,
            p.left_position IS NULL AND c.deleted_position IS NULL OR conversations.is_visible(c, p) AS is_listed
        FROM conversations.user_conversation u
        JOIN conversations.conversation c ON c.id = u.conversation_id
        JOIN conversations.participant p ON p.conversation_id = u.conversation_id AND p.user_id = u.user_id
        WHERE u.app_id = p_app AND u.user_id = p_user) s
    -- Only where something happened at all is the log looked at.
    LEFT JOIN LATERAL (
        SELECT min(h.position) AS first, min(h.created_at) AS oldest FROM conversations.change h
        WHERE h.conversation_id = s.id AND h.created_at >= since AND h.position >= s.first_joined AND h.position <= s.ends
            AND s.last_change_at >= since) n ON true
    WHERE s.is_listed OR n.first IS NOT NULL;
END
$$;
