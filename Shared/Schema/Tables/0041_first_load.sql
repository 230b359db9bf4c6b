-- SPDX-License-Identifier: Apache-2.0
-- A user's conversations together with their newest messages: a client's first load. STABLE functions: all of an answer is from one snapshot.

-- These messages of a conversation, as they are shown to its participants, newest first. `message_at` reads the participants once for each message; this reads
-- them once for all.
CREATE FUNCTION conversations.messages_at(p_conversation uuid, p_ordinals bigint[]) RETURNS SETOF conversations.message_row
LANGUAGE plpgsql STABLE ROWS 20 AS $$
DECLARE
    others record;
BEGIN
    SELECT array_agg(p.user_id) AS users, array_agg(p.left_ordinal) AS left_ordinals, array_agg(p.read) AS reads,
        array_agg(p.delivered) AS delivereds, array_agg(p.packed_up_to) AS packed
    INTO others
    FROM (
        SELECT x.user_id, CASE WHEN x.left_position IS NOT NULL THEN x.left_ordinal END AS left_ordinal, x.read, x.delivered, x.packed_up_to
        FROM conversations.participant x WHERE x.conversation_id = p_conversation ORDER BY x.user_id) p;
    RETURN QUERY
    SELECT m.id, m.conversation_id, m.position, m.ordinal, m.sender::text, m.sent_at, m.parts, m.notification, r.users, r.statuses, m.updated_at,
        m.receipt_policy
    -- Ordinals that follow each other are one look at the index.
    FROM unnest((SELECT range_agg(int8range(o.ordinal, o.ordinal, '[]')) FROM unnest(p_ordinals) o(ordinal))) u(run)
    CROSS JOIN LATERAL (
        SELECT x.* FROM conversations.message x
        WHERE x.conversation_id = p_conversation AND x.ordinal >= lower(u.run) AND x.ordinal < upper(u.run) ORDER BY x.ordinal OFFSET 0) m
    CROSS JOIN LATERAL (
        SELECT array_agg(p.id ORDER BY p.n) AS users,
            array_agg(conversations.recipient_status(
                    m.receipt_policy, p.id = m.sender, p.has_read @> m.ordinal OR b.has_read, p.has_received @> m.ordinal OR b.has_received)
                ORDER BY p.n) AS statuses
        FROM unnest(others.users, others.left_ordinals, others.reads, others.delivereds, others.packed) WITH ORDINALITY
            p(id, left_ordinal, has_read, has_received, packed_up_to, n)
        LEFT JOIN LATERAL (
            SELECT get_bit(k.read, (m.ordinal % 1024)::int) = 1 AS has_read, get_bit(k.delivered, (m.ordinal % 1024)::int) = 1 AS has_received
            FROM conversations.receipt_block k
            WHERE p.packed_up_to >= m.ordinal AND k.conversation_id = p_conversation AND k.block = m.ordinal / 1024 AND k.user_id = p.id
                AND k.until_position = 9223372036854775807
            OFFSET 0) b ON true
        WHERE p.left_ordinal IS NULL OR p.left_ordinal >= m.ordinal) r
    ORDER BY m.ordinal DESC;
END
$$;

-- The newest messages this participant sees, of those before `p_before`, newest first, with what each takes in an answer, about.
CREATE FUNCTION conversations.visible_sizes(p conversations.participant, p_before bigint, p_limit bigint)
RETURNS TABLE (ordinal bigint, sender text, bytes bigint)
LANGUAGE plpgsql STABLE ROWS 20 AS $$
BEGIN
    IF isempty(p.hidden) AND p.packed_up_to = 0 THEN
        RETURN QUERY
        SELECT m.ordinal, m.sender::text, 256::bigint + octet_length(m.parts) FROM conversations.message m
        WHERE m.conversation_id = p.conversation_id AND m.ordinal > p.hidden_ordinal AND m.ordinal < p_before
        ORDER BY m.ordinal DESC LIMIT p_limit;
    ELSE
        RETURN QUERY
        SELECT o.ordinal, m.sender, m.bytes
        FROM conversations.visible_ordinals(p, p_before, p_limit) o(ordinal)
        CROSS JOIN LATERAL (
            SELECT x.sender::text, 256::bigint + octet_length(x.parts) AS bytes FROM conversations.message x
            WHERE x.conversation_id = p.conversation_id AND x.ordinal = o.ordinal OFFSET 0) m
        ORDER BY o.ordinal DESC;
    END IF;
END
$$;

-- Which messages before the last one a load shows of a conversation, newest first, and what they take in an answer, about. `p_messages` with the last one, or,
-- where it is NULL, all from the first unread one on, at most `p_most`. `is_cut`: there were more, and the number or the bytes did not suffice.
CREATE FUNCTION conversations.earlier_ordinals(
    p conversations.participant, view conversations.view_row, p_messages bigint, p_most bigint, p_bytes bigint,
    OUT ordinals bigint[], OUT bytes bigint, OUT is_cut boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    before bigint := view.last_ordinal;
    missing bigint := coalesce(p_messages, p_most) - 1;
    -- Those that are still to come; the search ends with the last of them.
    unread bigint := view.message_count - view.uncounted;
    -- What the recipients of a message take, at most: all who are or were participants.
    recipients bigint := 64 * (SELECT count(*) FROM conversations.participant x WHERE x.conversation_id = p.conversation_id);
    step bigint;
    seen bigint;
    m record;
BEGIN
    ordinals := '{}';
    bytes := 0;
    is_cut := false;
    IF before IS NULL THEN RETURN; END IF;
    IF view.last_sender <> p.user_id AND NOT conversations.has_read(p, before) THEN unread := unread - 1; END IF;
    WHILE p_messages IS NOT NULL OR unread > 0 LOOP
        IF missing <= 0 THEN
            is_cut := p_messages IS NULL;
            RETURN;
        END IF;
        step := CASE WHEN p_messages IS NULL THEN least(missing, unread + 20) ELSE missing END;
        seen := 0;
        FOR m IN SELECT s.* FROM conversations.visible_sizes(p, before, step) s LOOP
            IF bytes + m.bytes + recipients > p_bytes THEN
                is_cut := true;
                RETURN;
            END IF;
            ordinals := ordinals || m.ordinal;
            bytes := bytes + m.bytes + recipients;
            before := m.ordinal;
            seen := seen + 1;
            CONTINUE WHEN p_messages IS NOT NULL OR m.sender = p.user_id OR conversations.has_read(p, m.ordinal);
            unread := unread - 1;
            IF unread <= 0 THEN RETURN; END IF;
        END LOOP;
        IF seen < step OR p_messages IS NOT NULL THEN RETURN; END IF;
        missing := missing - seen;
    END LOOP;
END
$$;

-- A page of a user's conversations, each with messages. First a row with the outcome, 'ok' or 'unknown_cursor', and the number of conversations on the whole
-- list; then for each conversation a row with its view, and rows with the messages before its last one, newest first. `p_messages`: as many of the newest
-- ones, the last one included; NULL: all from the first unread one on, or only the last one where all are read. `is_cut`: of this conversation there were
-- more than `p_most` of these, or more than `p_bytes` hold. The page ends before a conversation for which there is no room. If there are conversations behind
-- the page, the last row has the outcome 'more'.
--
-- Generic plans, here and in the functions above: for the arrays that they unnest, the planner would make a new plan each time, which costs more than the plan.
CREATE FUNCTION conversations.load_conversations(
    p_app uuid, p_user text, p_by_last_message boolean, p_page_size bigint, p_from_id uuid, p_messages bigint, p_most bigint, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, is_cut boolean, view conversations.view_row, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 1000 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ids uuid[] := conversations.listed_ids(p_app, p_user, p_by_last_message, p_page_size + 1, p_from_id);
    page_id uuid;
    c conversations.conversation;
    p conversations.participant;
    earlier record;
    ordinal bigint;
    own bigint;
    used bigint := 0;
    done bigint := 0;
BEGIN
    outcome := CASE WHEN ids IS NULL THEN 'unknown_cursor' ELSE 'ok' END;
    total := CASE WHEN ids IS NULL THEN 0 ELSE conversations.listed_count(p_app, p_user) END;
    RETURN NEXT;
    IF ids IS NULL THEN RETURN; END IF;
    outcome := NULL;
    total := NULL;
    FOREACH page_id IN ARRAY ids[1:p_page_size] LOOP
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = page_id;
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = page_id AND x.user_id = p_user;
        view := conversations.view_of(c, p);
        own := conversations.view_bytes(view) + 64 * coalesce(cardinality(view.last_recipients), 0);
        EXIT WHEN used > 0 AND used + own > p_bytes;
        earlier := conversations.earlier_ordinals(p, view, p_messages, p_most, p_bytes - own);
        EXIT WHEN used > 0 AND used + own + earlier.bytes > p_bytes;
        used := used + own + earlier.bytes;
        done := done + 1;
        is_cut := earlier.is_cut;
        RETURN NEXT;
        is_cut := NULL;
        view := NULL;
        CONTINUE WHEN earlier.ordinals = '{}';
        IF p.left_position IS NULL THEN
            RETURN QUERY
            SELECT NULL::text, NULL::bigint, NULL::boolean, NULL::conversations.view_row, m FROM conversations.messages_at(page_id, earlier.ordinals) m;
        ELSE
            FOREACH ordinal IN ARRAY earlier.ordinals LOOP
                message := conversations.message_for(p, ordinal);
                RETURN NEXT;
            END LOOP;
            message := NULL;
        END IF;
    END LOOP;
    IF cardinality(ids) > done THEN
        outcome := 'more';
        view := NULL;
        RETURN NEXT;
    END IF;
END
$$;

REVOKE ALL ON FUNCTION conversations.messages_at, conversations.visible_sizes, conversations.earlier_ordinals,
    conversations.load_conversations FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.messages_at, conversations.visible_sizes, conversations.earlier_ordinals,
    conversations.load_conversations TO strata_conversations;
