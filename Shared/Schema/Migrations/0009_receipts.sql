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

-- Receipts of one conversation, of several users over several messages, as one change; statuses: 1 delivered, 2 read. Returned are those that had an
-- effect. Outcomes: 'ok', 'none'; and if there was only one receipt: 'not_found', 'access_denied' to a former participant.
CREATE FUNCTION conversations.give_receipts(
    p_app uuid, p_conversation uuid, p_users text[], p_messages uuid[], p_statuses bigint[], p_oc bigint, p_or bigint,
    OUT outcome text, OUT conversation_id uuid, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT users text[],
    OUT messages uuid[], OUT ordinals bigint[], OUT statuses bigint[], OUT senders text[], OUT participant_count bigint, OUT number_users text[],
    OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c record;
    p conversations.participant;
    m record;
    given record;
    altered boolean;
    uncounted_before bigint;
    effects jsonb := '[]';
BEGIN
    outcome := 'not_found';
    SELECT x.id, x.deleted_position INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    IF NOT FOUND OR c.deleted_position IS NOT NULL THEN RETURN; END IF;
    conversation_id := p_conversation;
    users := '{}'; messages := '{}'; ordinals := '{}'; statuses := '{}'; senders := '{}';
    number_users := '{}'; number_uncounted := '{}'; number_hidden := '{}';

    -- By user, so that a row is read and written once however many messages he read.
    FOR given IN
        SELECT g.user_id, array_agg(g.message_id ORDER BY g.n) AS ids, array_agg(g.status ORDER BY g.n) AS kinds, min(g.n) AS n
        FROM unnest(p_users, p_messages, p_statuses) WITH ORDINALITY g(user_id, message_id, status, n)
        GROUP BY g.user_id ORDER BY min(g.n)
    LOOP
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = given.user_id;
        CONTINUE WHEN NOT FOUND;
        altered := false;
        uncounted_before := p.uncounted;
        FOR m IN
            SELECT x.id, x.ordinal, x.sender, g.status
            FROM unnest(given.ids, given.kinds) WITH ORDINALITY g(message_id, status, n)
            JOIN conversations.message_place l ON l.message_id = g.message_id AND l.conversation_id = p_conversation
            JOIN conversations.message x ON x.conversation_id = p_conversation AND x.ordinal = l.ordinal
            ORDER BY x.ordinal, g.n
        LOOP
            CONTINUE WHEN NOT conversations.may_see(p, m.ordinal);
            IF p.left_position IS NOT NULL THEN
                outcome := 'access_denied';
                CONTINUE;
            END IF;
            outcome := 'none';
            CONTINUE WHEN m.sender = given.user_id OR p.read @> m.ordinal OR m.status = 1 AND p.delivered @> m.ordinal;
            IF m.status = 2 THEN
                p.read := p.read + conversations.joined_range(p_conversation, given.user_id, p.read, m.ordinal);
                p.delivered := p.delivered - p.read;
                p.uncounted := p.uncounted + 1;
            ELSE
                p.delivered := p.delivered + conversations.joined_range(p_conversation, given.user_id, p.delivered, m.ordinal);
            END IF;
            altered := true;
            users := users || given.user_id;
            messages := messages || m.id;
            ordinals := ordinals || m.ordinal;
            statuses := statuses || m.status;
            senders := senders || m.sender::text;
            effects := effects || jsonb_build_object('user', given.user_id, 'message_id', m.id, 'ordinal', m.ordinal, 'status', m.status);
        END LOOP;
        CONTINUE WHEN NOT altered;
        UPDATE conversations.participant x SET read = p.read, delivered = p.delivered, uncounted = p.uncounted
        WHERE x.conversation_id = p_conversation AND x.user_id = given.user_id;
        CONTINUE WHEN p.uncounted = uncounted_before;
        number_users := number_users || given.user_id;
        number_uncounted := number_uncounted || p.uncounted;
        number_hidden := number_hidden || p.hidden_count;
    END LOOP;

    IF cardinality(users) = 0 THEN
        IF cardinality(p_users) > 1 THEN outcome := 'none'; END IF;
        RETURN;
    END IF;
    outcome := 'ok';
    participant_count := (SELECT cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = p_conversation);
    SELECT a.position, a.created_at, a.message_count INTO give_receipts.position, give_receipts.created_at, give_receipts.message_count
    FROM conversations.append_change(
        p_conversation, 7::smallint, users[1], p_oc, p_or, NULL::uuid, NULL::bigint, effects) a;
END
$$;

-- One receipt, by the message's id alone.
CREATE FUNCTION conversations.give_receipt(
    p_app uuid, p_actor text, p_message uuid, p_status bigint, p_oc bigint, p_or bigint,
    OUT outcome text, OUT conversation_id uuid, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT users text[],
    OUT messages uuid[], OUT ordinals bigint[], OUT statuses bigint[], OUT senders text[], OUT participant_count bigint, OUT number_users text[],
    OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    place uuid := (SELECT x.conversation_id FROM conversations.message_place x WHERE x.message_id = p_message AND x.app_id = p_app);
BEGIN
    -- An unknown message is in no conversation, which is not found.
    SELECT r.* INTO outcome, conversation_id, "position", created_at, message_count, users, messages, ordinals, statuses, senders, participant_count,
        number_users, number_uncounted, number_hidden
    FROM conversations.give_receipts(p_app, place, ARRAY[p_actor], ARRAY[p_message], ARRAY[p_status], p_oc, p_or) r;
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

-- All messages up to a position, or all (NULL), are read. Outcomes: 'ok', 'none', 'not_found', 'access_denied'.
CREATE FUNCTION conversations.mark_all_read(
    p_app uuid, p_actor text, p_conversation uuid, p_up_to bigint, p_oc bigint, p_or bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT up_to bigint, OUT uncounted bigint,
    OUT hidden bigint)
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
    SELECT x.position, x.message_count INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
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

    uncounted := p.uncounted + newly;
    hidden := p.hidden_count;
    UPDATE conversations.participant x
    SET read = p.read + int8multirange(int8range(1, last_read, '[]')),
        delivered = p.delivered - int8multirange(int8range(1, last_read, '[]')),
        uncounted = mark_all_read.uncounted
    WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    SELECT a.position, a.created_at, a.message_count
    INTO mark_all_read.position, mark_all_read.created_at, mark_all_read.message_count
    FROM conversations.append_change(
        p_conversation, 8::smallint, p_actor, p_oc, p_or, NULL::uuid, NULL::bigint,
        jsonb_build_object('user', p_actor, 'up_to', mark_all_read.up_to)) a;
END
$$;
