-- SPDX-License-Identifier: Apache-2.0
-- Queries by which gateways bring their clients up to date. The functions are STABLE, so that an answer comes from one
-- snapshot.
--
-- In the order of positions, times never decrease, neither within a conversation nor within a user's log. So everything
-- since a time is a run of positions at the end.

-- Returns the safety margin of replays. A committed message may be 30 s older than a clock that was read before,
-- because transactions take time and clocks differ.
CREATE OR REPLACE FUNCTION conversations.margin() RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN interval '30 seconds';

-- Returns the first change of a conversation since `p_since`, among the positions from `p_low` to `p_high`; NULL: none.
-- Times never decrease with positions, so it searches by position, from the end. The cost is logarithmic in the number
-- of changes since then. The condition on the time only excludes the log's older partitions.
CREATE OR REPLACE FUNCTION conversations.first_change_since(
    p_conversation uuid, p_since timestamptz, p_low bigint, p_high bigint) RETURNS conversations.log_place
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    -- Invariant: changes at or below `low` are before that time, and changes at or above `high` are not.
    low bigint := p_low - 1;
    high bigint := p_high + 1;
    reach bigint := 32;
    middle bigint;
    place conversations.log_place;
BEGIN
    LOOP
        -- Read the last few positions at once, instead of further steps.
        middle := CASE WHEN high - low <= 33 THEN low + 1 ELSE greatest((low + high) / 2, high - reach) END;
        SELECT h.position, h.created_at INTO place FROM conversations.change h
        WHERE h.conversation_id = p_conversation AND h.position >= middle
            AND h.position <= CASE WHEN high - low <= 33 THEN least(high, p_high) ELSE middle END
            AND h.created_at >= p_since
        ORDER BY h.position LIMIT 1;
        IF high - low <= 33 THEN RETURN place; END IF;
        IF FOUND THEN high := middle; ELSE low := middle; END IF;
        reach := reach * 8;
    END LOOP;
END
$$;

-- Returns the first change of a user's own log since `p_since`, with the same search as first_change_since.
CREATE OR REPLACE FUNCTION conversations.first_user_change_since(
    p_app uuid, p_user text, p_since timestamptz, p_high bigint) RETURNS conversations.log_place
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
            AND u.position <= CASE WHEN high - low <= 33 THEN least(high, p_high) ELSE middle END
            AND u.created_at >= p_since
        ORDER BY u.position LIMIT 1;
        IF high - low <= 33 THEN RETURN place; END IF;
        IF FOUND THEN high := middle; ELSE low := middle; END IF;
        reach := reach * 8;
    END LOOP;
END
$$;

-- Returns the heads of the logs that have grown since a time. Entries: 0 as_of, always the first; 1 a conversation's
-- head; 2 a user who was added at a position; 3 the head of a user's log. The log is read in the order of time, from
-- one index.
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
        SELECT x.conversation_id, x.position FROM conversations.change x WHERE x.created_at >= since
        ORDER BY x.created_at OFFSET 0) h
    GROUP BY h.conversation_id;
    RETURN QUERY
    SELECT 2::bigint, c.app_id, a.id, h.conversation_id, max(h.position), NULL::timestamptz
    FROM (
        SELECT x.conversation_id, x.position, x.kind, x.operations FROM conversations.change x
        WHERE x.created_at >= since AND x.kind IN (conversations.kind_created(), conversations.kind_participants())
        ORDER BY x.created_at OFFSET 0) h
    CROSS JOIN LATERAL jsonb_array_elements_text(
        h.operations -> CASE h.kind WHEN conversations.kind_created() THEN 'participants' ELSE 'added' END) a(id)
    CROSS JOIN LATERAL (SELECT x.app_id FROM conversations.conversation x WHERE x.id = h.conversation_id OFFSET 0) c
    GROUP BY c.app_id, a.id, h.conversation_id;
    RETURN QUERY
    SELECT 3::bigint, u.app_id, u.user_id::text, NULL::uuid, max(u.position), NULL::timestamptz
    FROM (
        SELECT x.app_id, x.user_id, x.position FROM conversations.user_change x WHERE x.created_at >= since
        ORDER BY x.created_at OFFSET 0) u
    GROUP BY u.app_id, u.user_id;
END
$$;

-- Returns the positions of a user's conversations and own log, now and at `p_since` (NULL: now). The caller subtracts a
-- margin for clocks and open transactions.
--
-- The first row, without a conversation, describes the user's own log, and whether the log is complete since then.
-- Conversations that were deleted for all, or that the user left and then removed from the list, are included only if
-- that happened since.
CREATE OR REPLACE FUNCTION conversations.baseline(p_app uuid, p_user text, p_since timestamptz)
RETURNS TABLE (
    conversation_id uuid, "position" bigint, after bigint, uncounted bigint, hidden bigint, message_count bigint,
    is_participant boolean, oldest_at timestamptz, as_of timestamptz, complete boolean)
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
    SELECT s.id, s.ends, coalesce((s.first).position - 1, s.ends), s.uncounted, s.hidden_count, s.message_count,
        s.participates,
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
                coalesce(x.left_position, c.position) AS ends,
                coalesce(x.left_ordinal, c.message_count) AS message_count
            FROM conversations.participant x WHERE x.conversation_id = u.conversation_id
                AND x.user_id = p_user OFFSET 0) p
        -- Read the log only of conversations that changed since: the last 64 positions, which are nearly always
        -- sufficient.
        LEFT JOIN LATERAL (
            SELECT h.position, h.created_at FROM conversations.change h
            WHERE c.last_change_at >= p_since AND h.conversation_id = u.conversation_id
                AND h.position >= greatest(p.first_joined, p.ends - 63)
                AND h.position <= p.ends AND h.created_at >= p_since
            ORDER BY h.position LIMIT 1) n ON true
        WHERE u.app_id = p_app AND u.user_id = p_user OFFSET 0) s
    WHERE s.participates OR s.is_listed OR (s.first).position IS NOT NULL;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.margin, conversations.first_change_since, conversations.first_user_change_since, conversations.heads,
    conversations.baseline TO strata_conversations;
