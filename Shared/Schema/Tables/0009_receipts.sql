-- SPDX-License-Identifier: Apache-2.0
-- How far messages came with their recipients.

-- The ordinal, put together with its neighbours in `p_set` if nothing but the user's own messages lies between: they count as read anyway, and a set that
-- is joined stays one range however long the conversation. Looks at most 64 messages to each side.
CREATE FUNCTION conversations.joined_range(p_conversation uuid, p_user text, p_set int8multirange, p_ordinal bigint) RETURNS int8multirange
LANGUAGE plpgsql STABLE AS $$
DECLARE
    below bigint := upper(p_set * int8multirange(int8range(p_ordinal - 64, p_ordinal)));
    above bigint := lower(p_set * int8multirange(int8range(p_ordinal + 1, p_ordinal + 65)));
BEGIN
    IF below IS NULL OR below < p_ordinal AND EXISTS (
        SELECT FROM conversations.message m
        WHERE m.conversation_id = p_conversation AND m.ordinal >= below AND m.ordinal < p_ordinal AND m.sender <> p_user)
    THEN
        below := p_ordinal;
    END IF;
    IF above IS NULL OR above > p_ordinal + 1 AND EXISTS (
        SELECT FROM conversations.message m
        WHERE m.conversation_id = p_conversation AND m.ordinal > p_ordinal AND m.ordinal < above AND m.sender <> p_user)
    THEN
        above := p_ordinal + 1;
    END IF;
    RETURN int8multirange(int8range(below, above));
END
$$;

-- Receipts of one conversation, of several users over several messages, as one change; statuses: 1 delivered, 2 read. `results` are in the order asked:
-- 'ok' had an effect, 'none' had none, 'not_found', 'access_denied' to a former participant. The rest is about those with an effect; `audiences`: 0 everybody,
-- 1 sender and reader (in conversations of more than `p_limit` participants, and where receipts of one kind are switched off), 2 the reader.
CREATE FUNCTION conversations.give_receipts(
    p_app uuid, p_conversation uuid, p_users text[], p_messages uuid[], p_statuses bigint[], p_limit bigint, p_oc bigint, p_or bigint,
    OUT results text[], OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT users text[], OUT messages uuid[],
    OUT ordinals bigint[], OUT statuses bigint[], OUT senders text[], OUT audiences bigint[], OUT number_users text[], OUT number_uncounted bigint[],
    OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c record;
    p conversations.participant;
    m record;
    given record;
    altered boolean;
    uncounted_before bigint;
    audience bigint;
    is_narrow boolean;
    effects jsonb := '[]';
BEGIN
    results := array_fill('not_found'::text, ARRAY[cardinality(p_users)]);
    SELECT x.id, x.deleted_position, x.receipt_policy INTO c
    FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    IF NOT FOUND OR c.deleted_position IS NOT NULL THEN RETURN; END IF;
    is_narrow := c.receipt_policy <> 0
        OR (SELECT cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = p_conversation) > p_limit;
    users := '{}'; messages := '{}'; ordinals := '{}'; statuses := '{}'; senders := '{}'; audiences := '{}';
    number_users := '{}'; number_uncounted := '{}'; number_hidden := '{}';

    -- By user, so that a row is read and written once however many messages he read.
    FOR given IN
        SELECT g.user_id, array_agg(g.message_id ORDER BY g.n) AS ids, array_agg(g.status ORDER BY g.n) AS kinds, array_agg(g.n ORDER BY g.n) AS places
        FROM unnest(p_users, p_messages, p_statuses) WITH ORDINALITY g(user_id, message_id, status, n)
        GROUP BY g.user_id ORDER BY min(g.n)
    LOOP
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = given.user_id;
        CONTINUE WHEN NOT FOUND;
        altered := false;
        uncounted_before := p.uncounted;
        FOR m IN
            SELECT x.id, x.ordinal, x.sender, g.status, g.place
            FROM unnest(given.ids, given.kinds, given.places) WITH ORDINALITY g(message_id, status, place, n)
            JOIN conversations.message_place l ON l.message_id = g.message_id AND l.conversation_id = p_conversation
            JOIN conversations.message x ON x.conversation_id = p_conversation AND x.ordinal = l.ordinal
            ORDER BY x.ordinal, g.n
        LOOP
            CONTINUE WHEN NOT conversations.may_see(p, m.ordinal);
            IF p.left_position IS NOT NULL THEN
                results[m.place] := 'access_denied';
                CONTINUE;
            END IF;
            results[m.place] := 'none';
            CONTINUE WHEN m.sender = given.user_id OR p.read @> m.ordinal OR m.status = 1 AND p.delivered @> m.ordinal;
            IF m.status = 2 THEN
                p.read := p.read + conversations.joined_range(p_conversation, given.user_id, p.read, m.ordinal);
                -- Where reading is not shown, that it was delivered still is.
                IF c.receipt_policy & 2 = 0 THEN p.delivered := p.delivered - p.read; END IF;
                p.uncounted := p.uncounted + 1;
            ELSE
                p.delivered := p.delivered + conversations.joined_range(p_conversation, given.user_id, p.delivered, m.ordinal);
            END IF;
            audience := CASE WHEN c.receipt_policy & m.status <> 0 THEN 2 WHEN is_narrow THEN 1 ELSE 0 END;
            results[m.place] := 'ok';
            altered := true;
            users := users || given.user_id;
            messages := messages || m.id;
            ordinals := ordinals || m.ordinal;
            statuses := statuses || m.status;
            senders := senders || m.sender::text;
            audiences := audiences || audience;
            effects := effects || jsonb_build_object(
                'user', given.user_id, 'message_id', m.id, 'ordinal', m.ordinal, 'status', m.status, 'sender', m.sender, 'audience', audience);
        END LOOP;
        CONTINUE WHEN NOT altered;
        UPDATE conversations.participant x SET read = p.read, delivered = p.delivered, uncounted = p.uncounted
        WHERE x.conversation_id = p_conversation AND x.user_id = given.user_id;
        CONTINUE WHEN p.uncounted = uncounted_before;
        number_users := number_users || given.user_id;
        number_uncounted := number_uncounted || p.uncounted;
        number_hidden := number_hidden || p.hidden_count;
    END LOOP;

    IF cardinality(users) = 0 THEN RETURN; END IF;
    SELECT a.position, a.created_at, a.message_count INTO give_receipts.position, give_receipts.created_at, give_receipts.message_count
    FROM conversations.append_change(
        p_conversation, 7::smallint, users[1], p_oc, p_or, NULL::uuid, NULL::bigint, effects) a;
END
$$;

-- Which conversations these messages are in, each with the user who asks about it, by its number among them; those he does not see left out, so that nothing
-- is done for them that is not done for those that are none.
CREATE FUNCTION conversations.locate_messages(p_app uuid, p_users text[], p_messages uuid[]) RETURNS TABLE (number bigint, conversation_id uuid)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
BEGIN
    RETURN QUERY
    SELECT g.n, l.conversation_id
    FROM unnest(p_users, p_messages) WITH ORDINALITY g(user_id, message_id, n)
    JOIN conversations.message_place l ON l.message_id = g.message_id AND l.app_id = p_app
    JOIN conversations.participant p ON p.conversation_id = l.conversation_id AND p.user_id = g.user_id
    WHERE conversations.may_see(p, l.ordinal);
END
$$;

-- The ordinal of the newest message that was sent at this position or before; 0: none. A binary search: positions and ordinals rise together.
CREATE FUNCTION conversations.ordinal_at(p_conversation uuid, p_position bigint, p_count bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    low bigint := 0;
    high bigint := p_count + 1;
    middle bigint;
    probe record;
BEGIN
    WHILE low + 1 < high LOOP
        middle := (low + high) / 2;
        SELECT m.ordinal, m.position INTO probe FROM conversations.message m
        WHERE m.conversation_id = p_conversation AND m.ordinal >= middle AND m.ordinal < high ORDER BY m.ordinal LIMIT 1;
        IF FOUND AND probe.position <= p_position THEN low := probe.ordinal; ELSE high := middle; END IF;
    END LOOP;
    RETURN low;
END
$$;

-- All messages up to a position, or all (NULL), are read. Outcomes: 'ok', 'none', 'not_found', 'access_denied'. `told`: in conversations of more than `p_limit`
-- participants the senders of what was read now, where reading is not shown nobody; NULL: everybody is told.
CREATE FUNCTION conversations.mark_all_read(
    p_app uuid, p_actor text, p_conversation uuid, p_up_to bigint, p_limit bigint, p_oc bigint, p_or bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT up_to bigint, OUT uncounted bigint,
    OUT hidden bigint, OUT told text[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c record;
    p conversations.participant;
    last_read bigint;
    newly bigint := 0;
BEGIN
    SELECT b.outcome INTO outcome FROM conversations.begin_change(p_app, p_conversation, p_actor) b;
    IF outcome <> 'ok' THEN RETURN; END IF;
    SELECT x.position, x.message_count, x.receipt_policy INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;

    up_to := least(coalesce(p_up_to, c.position), c.position);
    last_read := CASE WHEN up_to = c.position THEN c.message_count ELSE conversations.ordinal_at(p_conversation, up_to, c.message_count) END;
    IF last_read = c.message_count THEN
        newly := c.message_count - p.uncounted;
    ELSIF last_read > p.hidden_ordinal THEN
        newly := (
            SELECT count(*)
            FROM unnest(int8multirange(int8range(p.hidden_ordinal + 1, last_read, '[]')) - p.read - p.hidden) g(gap)
            JOIN conversations.message m ON m.conversation_id = p_conversation AND m.ordinal >= lower(g.gap) AND m.ordinal < upper(g.gap)
            WHERE m.sender <> p_actor);
    END IF;
    IF newly = 0 THEN
        outcome := 'none';
        RETURN;
    END IF;

    IF c.receipt_policy & 2 <> 0 THEN
        told := '{}';
    ELSIF c.receipt_policy <> 0 OR (SELECT cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = p_conversation) > p_limit THEN
        told := ARRAY(
            SELECT DISTINCT m.sender::text
            FROM unnest(int8multirange(int8range(p.hidden_ordinal + 1, last_read, '[]')) - p.read - p.hidden) g(gap)
            JOIN conversations.message m ON m.conversation_id = p_conversation AND m.ordinal >= lower(g.gap) AND m.ordinal < upper(g.gap)
            WHERE m.sender <> p_actor);
    END IF;
    uncounted := p.uncounted + newly;
    hidden := p.hidden_count;
    UPDATE conversations.participant x
    SET read = p.read + int8multirange(int8range(1, last_read, '[]')),
        delivered = CASE WHEN c.receipt_policy & 2 = 0 THEN p.delivered - int8multirange(int8range(1, last_read, '[]')) ELSE p.delivered END,
        uncounted = mark_all_read.uncounted
    WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    SELECT a.position, a.created_at, a.message_count
    INTO mark_all_read.position, mark_all_read.created_at, mark_all_read.message_count
    FROM conversations.append_change(
        p_conversation, 8::smallint, p_actor, p_oc, p_or, NULL::uuid, NULL::bigint,
        jsonb_build_object('user', p_actor, 'up_to', mark_all_read.up_to, 'told', mark_all_read.told)) a;
END
$$;
