-- SPDX-License-Identifier: Apache-2.0
-- Receipts: delivered and read.

-- Returns the ordinal of the newest message sent at this position or before; 0: none. It uses a binary search, because
-- positions and ordinals increase together.
CREATE OR REPLACE FUNCTION conversations.ordinal_at(p_conversation uuid, p_position bigint, p_count bigint)
RETURNS bigint
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
        WHERE m.conversation_id = p_conversation AND m.ordinal >= middle AND m.ordinal < high
        ORDER BY m.ordinal LIMIT 1;
        IF FOUND AND probe.position <= p_position THEN low := probe.ordinal; ELSE high := middle; END IF;
    END LOOP;
    RETURN low;
END
$$;

-- Finds the conversations of these messages, each for its user, by the message's number in the arrays. Messages that
-- the user does not see are omitted, so that they cause the same work as messages that do not exist. Each message is
-- found by an index lookup.
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

-- Returns receipts by user, in the order of each user's first one. `places` are their numbers in the arrays. The
-- planner inlines this function.
CREATE OR REPLACE FUNCTION conversations.receipts_by_user(p_users text[], p_messages uuid[], p_statuses bigint[])
RETURNS TABLE (user_id text, ids uuid[], statuses bigint[], places bigint[])
LANGUAGE sql STABLE ROWS 10 AS $$
    SELECT g.user_id, array_agg(g.message_id ORDER BY g.n), array_agg(g.status ORDER BY g.n),
        array_agg(g.n ORDER BY g.n)
    FROM unnest(p_users, p_messages, p_statuses) WITH ORDINALITY g(user_id, message_id, status, n)
    GROUP BY g.user_id ORDER BY min(g.n)
$$;

-- Returns a participant's receipts for messages that the participant sees: `places` and `results` of all; the other
-- columns contain only receipts with an effect. The columns are those of give_receipts. `effects`: the receipts in the
-- form of a change. `read` and `delivered`: the ordinals by status. `is_narrow`: only the sender and the reader receive
-- the receipts. The planner inlines this function.
CREATE OR REPLACE FUNCTION conversations.effective_receipts(
    p conversations.participant, p_messages uuid[], p_statuses bigint[], p_places bigint[], p_receipt_policy bigint,
    is_narrow boolean)
RETURNS TABLE (
    places bigint[], results text[], ids uuid[], ordinals bigint[], statuses bigint[], senders text[],
    audiences bigint[], hidden_froms text[], read bigint[], delivered bigint[], effects jsonb)
LANGUAGE sql STABLE ROWS 1 AS $$
    -- Select the visible messages with their former status, which includes earlier receipts of this batch. OFFSET 0
    -- makes each a lookup of one row.
    SELECT array_agg(s.place),
        array_agg(CASE WHEN (p).left_position IS NOT NULL THEN 'access_denied' WHEN s.is_new THEN 'ok' ELSE 'none' END),
        array_agg(s.id) FILTER (WHERE s.is_new), array_agg(s.ordinal) FILTER (WHERE s.is_new),
        array_agg(s.status) FILTER (WHERE s.is_new), array_agg(s.sender) FILTER (WHERE s.is_new),
        array_agg(s.audience) FILTER (WHERE s.is_new),
        array_agg(coalesce(array_to_string(s.hidden_from, chr(10)), '')) FILTER (WHERE s.is_new),
        array_agg(s.ordinal) FILTER (WHERE s.is_new AND s.status = 2),
        array_agg(s.ordinal) FILTER (WHERE s.is_new AND s.status = 1),
        jsonb_agg(jsonb_build_object(
            'user', (p).user_id, 'message_id', s.id, 'ordinal', s.ordinal, 'status', s.status, 'sender', s.sender,
            'audience', s.audience)
            || CASE WHEN s.hidden_from IS NULL THEN '{}' ELSE jsonb_build_object('hidden_from', s.hidden_from) END)
            FILTER (WHERE s.is_new)
    FROM (
        SELECT a.place, a.id, a.ordinal, a.status, a.sender::text AS sender, a.hidden_from,
            CASE WHEN p_receipt_policy & a.status <> 0 THEN 2 WHEN is_narrow THEN 1 ELSE 0 END::bigint AS audience,
            a.status > greatest(a.before, max(a.status) OVER (
                PARTITION BY a.ordinal ORDER BY a.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS is_new
        FROM (
            SELECT g.place, g.n, g.status, x.id, x.ordinal, x.sender, x.hidden_from,
                CASE WHEN x.sender = (p).user_id OR (p).read @> x.ordinal OR b.has_read THEN 2
                    WHEN (p).delivered @> x.ordinal OR b.has_received THEN 1 ELSE 0 END AS before
            FROM unnest(p_messages, p_statuses, p_places) WITH ORDINALITY g(message_id, status, place, n)
            CROSS JOIN LATERAL (
                SELECT l.ordinal FROM conversations.message_place l
                WHERE l.message_id = g.message_id AND l.conversation_id = (p).conversation_id OFFSET 0) l
            CROSS JOIN LATERAL (
                SELECT m.id, m.ordinal, m.sender, m.hidden_from FROM conversations.message m
                WHERE m.conversation_id = (p).conversation_id AND m.ordinal = l.ordinal OFFSET 0) x
            LEFT JOIN LATERAL (
                SELECT conversations.has_bit(k.read, x.ordinal) AS has_read,
                    conversations.has_bit(k.delivered, x.ordinal) AS has_received,
                    conversations.has_bit(k.hidden, x.ordinal) AS is_hidden
                FROM conversations.receipt_block k
                WHERE x.ordinal <= (p).packed_up_to AND k.conversation_id = (p).conversation_id
                    AND k.user_id = (p).user_id AND k.block = x.ordinal / conversations.block_size()
                    AND k.until_position = conversations.end_of_log()
                OFFSET 0) b ON true
            WHERE conversations.may_see_by_ranges(p, x.ordinal) AND b.is_hidden IS NOT TRUE) a
        ORDER BY a.ordinal, a.n) s
$$;

-- Adds ordinals to the sets of a participant, of whom they are new, and writes the participant's row. Returns the row.
-- The caller holds the conversation's lock and takes this position.
CREATE OR REPLACE FUNCTION conversations.with_receipts(
    p conversations.participant, p_read bigint[], p_delivered bigint[], p_receipt_policy bigint, p_position bigint)
RETURNS conversations.participant
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_delivered IS NOT NULL THEN
        p.delivered := p.delivered + conversations.joined_ranges(p.conversation_id, p.user_id, p_delivered);
    END IF;
    IF p_read IS NOT NULL THEN
        p.read := p.read + conversations.joined_ranges(p.conversation_id, p.user_id, p_read);
        -- If read receipts are private, the delivery is still shown.
        IF p_receipt_policy & 2 = 0 THEN p.delivered := p.delivered - p.read; END IF;
        p.uncounted := p.uncounted + cardinality(p_read);
    END IF;
    IF conversations.has_many_ranges(p.read) OR conversations.has_many_ranges(p.delivered)
        OR conversations.has_many_ranges(p.hidden)
    THEN
        p := conversations.packed(p, p_position);
    END IF;
    UPDATE conversations.participant x
    SET read = p.read, delivered = p.delivered, packed_up_to = p.packed_up_to, uncounted = p.uncounted
    WHERE x.conversation_id = p.conversation_id AND x.user_id = p.user_id;
    RETURN p;
END
$$;

-- Gives receipts of several users for several messages of one conversation, as one change. Statuses: 1 delivered, 2
-- read. `results` has a result for each receipt, in the given order; all other columns contain only receipts with an
-- effect.
--
-- | Result          | Meaning                                                                             |
-- |-----------------|-------------------------------------------------------------------------------------|
-- | 'ok'            | It had an effect.                                                                   |
-- | 'none'          | It had none.                                                                        |
-- | 'not_found'     | The conversation or the message does not exist, or the user does not see it.        |
-- | 'access_denied' | The user is a former participant.                                                   |
--
-- `audiences`: 0 all participants; 1 the sender and the reader, in conversations of more than `p_limit` participants,
-- and if receipts of one kind are private; 2 the reader. `hidden_froms`: the users from whom a block hides the message,
-- joined by line feeds, which no user id contains; empty: none.
CREATE OR REPLACE FUNCTION conversations.give_receipts(
    p_app uuid, p_conversation uuid, p_users text[], p_messages uuid[], p_statuses bigint[], p_limit bigint,
    p_origin_connection bigint, p_origin_request bigint,
    OUT results text[], OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT users text[],
    OUT messages uuid[], OUT ordinals bigint[], OUT statuses bigint[], OUT senders text[], OUT audiences bigint[],
    OUT number_users text[], OUT number_uncounted bigint[], OUT number_hidden bigint[], OUT hidden_froms text[])
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    c record;
    p conversations.participant;
    given record;
    effective record;
    is_narrow boolean;
    effects jsonb := '[]';
BEGIN
    results := array_fill('not_found'::text, ARRAY[cardinality(p_users)]);
    SELECT x.id, x.deleted_position, x.receipt_policy, x.position INTO c
    FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    IF NOT FOUND OR c.deleted_position IS NOT NULL THEN RETURN; END IF;
    is_narrow := c.receipt_policy <> 0 OR (
        SELECT cardinality(r.user_ids) > p_limit FROM conversations.roster r WHERE r.conversation_id = p_conversation);
    users := '{}'; messages := '{}'; ordinals := '{}'; statuses := '{}'; senders := '{}'; audiences := '{}';
    number_users := '{}'; number_uncounted := '{}'; number_hidden := '{}'; hidden_froms := '{}';

    -- Process the receipts by user, so that each row is read and written once, and each set is merged once.
    FOR given IN SELECT r.* FROM conversations.receipts_by_user(p_users, p_messages, p_statuses) r LOOP
        SELECT * INTO p FROM conversations.participant x
        WHERE x.conversation_id = p_conversation AND x.user_id = given.user_id;
        CONTINUE WHEN NOT FOUND;
        SELECT e.* INTO effective FROM conversations.effective_receipts(
            p, given.ids, given.statuses, given.places, c.receipt_policy, is_narrow) e;
        FOR i IN 1..coalesce(cardinality(effective.places), 0) LOOP
            results[effective.places[i]] := effective.results[i];
        END LOOP;
        CONTINUE WHEN effective.ids IS NULL OR p.left_position IS NOT NULL;
        users := users || array_fill(given.user_id, ARRAY[cardinality(effective.ids)]);
        messages := messages || effective.ids;
        ordinals := ordinals || effective.ordinals;
        statuses := statuses || effective.statuses;
        senders := senders || effective.senders;
        audiences := audiences || effective.audiences;
        hidden_froms := hidden_froms || effective.hidden_froms;
        effects := effects || effective.effects;
        p := conversations.with_receipts(p, effective.read, effective.delivered, c.receipt_policy, c.position + 1);
        CONTINUE WHEN effective.read IS NULL;
        number_users := number_users || given.user_id;
        number_uncounted := number_uncounted || p.uncounted;
        number_hidden := number_hidden || p.hidden_count;
    END LOOP;

    IF cardinality(users) = 0 THEN RETURN; END IF;
    SELECT a.* INTO "position", created_at, message_count
    FROM conversations.append_change(
        p_conversation, conversations.kind_receipts(), users[1], p_origin_connection, p_origin_request, NULL, NULL,
        effects) a;
END
$$;

-- Gives one user's receipts for several messages as one change. `ignored`: the members of `p_messages` that the user
-- does not see in this conversation, in the given order. Statuses and other columns are those of give_receipts.
--
-- Outcomes: 'ok'; 'none', if no receipt has an effect; 'not_found', also if the user does not see the conversation;
-- 'access_denied' to a former participant.
CREATE OR REPLACE FUNCTION conversations.give_receipts_of(
    p_app uuid, p_actor text, p_conversation uuid, p_messages uuid[], p_status bigint, p_limit bigint,
    p_origin_connection bigint, p_origin_request bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT ignored uuid[],
    OUT users text[], OUT messages uuid[], OUT ordinals bigint[], OUT statuses bigint[], OUT senders text[],
    OUT audiences bigint[], OUT number_users text[], OUT number_uncounted bigint[], OUT number_hidden bigint[],
    OUT hidden_froms text[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c conversations.conversation;
    p conversations.participant;
    given record;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    IF c.id IS NULL OR p.user_id IS NULL OR NOT conversations.is_visible(c, p) THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    IF p.left_position IS NOT NULL THEN
        outcome := 'access_denied';
        RETURN;
    END IF;
    SELECT r.* INTO given
    FROM conversations.give_receipts(
        p_app, p_conversation, array_fill(p_actor, ARRAY[cardinality(p_messages)]), p_messages,
        array_fill(p_status, ARRAY[cardinality(p_messages)]), p_limit, p_origin_connection, p_origin_request) r;
    ignored := ARRAY(
        SELECT m.id FROM unnest(p_messages, given.results) WITH ORDINALITY m(id, result, n) WHERE m.result = 'not_found'
        ORDER BY m.n);
    outcome := CASE WHEN given.position IS NULL THEN 'none' ELSE 'ok' END;
    "position" := given.position;
    created_at := given.created_at;
    message_count := given.message_count;
    users := given.users;
    messages := given.messages;
    ordinals := given.ordinals;
    statuses := given.statuses;
    senders := given.senders;
    audiences := given.audiences;
    number_users := given.number_users;
    number_uncounted := given.number_uncounted;
    number_hidden := given.number_hidden;
    hidden_froms := given.hidden_froms;
END
$$;

-- Returns the receipts of a participant who reads all messages up to an ordinal, in the form of a change. Used if a
-- block has hidden messages from the participant, because other users would otherwise take all messages as read. At
-- most the newest 10,000.
CREATE OR REPLACE FUNCTION conversations.named_receipts(
    p conversations.participant, p_ordinal bigint, p_audience bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT jsonb_agg(
            jsonb_build_object(
                'user', p.user_id, 'message_id', s.id, 'ordinal', s.ordinal, 'status', 2, 'sender', s.sender,
                'audience', p_audience)
                || CASE WHEN s.hidden_from IS NULL THEN '{}' ELSE jsonb_build_object('hidden_from', s.hidden_from) END
            ORDER BY s.ordinal)
        FROM (
            SELECT m.id, m.ordinal, m.sender, m.hidden_from
            FROM unnest(int8multirange(int8range(1, p_ordinal, '[]')) - p.read) g(gap)
            CROSS JOIN LATERAL (
                SELECT x.id, x.ordinal, x.sender, x.hidden_from FROM conversations.message x
                WHERE x.conversation_id = p.conversation_id AND x.ordinal >= lower(g.gap) AND x.ordinal < upper(g.gap)
                    AND x.sender <> p.user_id
                    AND conversations.shows_reading(x.hidden_from, x.position, p.user_id, p.joined)
                ORDER BY x.ordinal DESC LIMIT 10000) m
            LEFT JOIN LATERAL (
                SELECT conversations.has_bit(k.read, m.ordinal) AS has_read
                FROM conversations.receipt_block k
                WHERE m.ordinal <= p.packed_up_to AND k.conversation_id = p.conversation_id
                    AND k.block = m.ordinal / conversations.block_size() AND k.user_id = p.user_id
                    AND k.until_position = conversations.end_of_log()
                OFFSET 0) b ON true
            WHERE b.has_read IS NOT TRUE
            ORDER BY m.ordinal DESC LIMIT 10000) s);
END
$$;

-- Marks messages up to an ordinal as read, of which none counts as unread: they are the user's own or deleted. So they
-- are not examined again.
CREATE OR REPLACE FUNCTION conversations.note_nothing_unread(p conversations.participant, p_ordinal bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_ordinal > p.hidden_ordinal AND isempty(p.hidden)
        AND NOT p.read @> int8range(p.hidden_ordinal + 1, p_ordinal, '[]')
    THEN
        UPDATE conversations.participant x
        SET read = p.read + int8multirange(int8range(p.hidden_ordinal + 1, p_ordinal, '[]'))
        WHERE x.conversation_id = p.conversation_id AND x.user_id = p.user_id;
    END IF;
END
$$;

-- Marks all messages up to a position (NULL: all) as read.
--
-- | Outcome         | Meaning                                           |
-- |-----------------|---------------------------------------------------|
-- | 'ok'            | A message was read that counted as unread.        |
-- | 'none'          | None counted as unread.                           |
-- | 'not_found'     | The conversation does not exist for the user.     |
-- | 'access_denied' | The user is a former participant.                 |
--
-- `told`: in conversations of more than `p_limit` participants, the senders of newly read messages; empty if read
-- receipts are private; NULL: all participants receive the change. `receipts`: the change consists of these receipts
-- (named_receipts).
CREATE OR REPLACE FUNCTION conversations.mark_all_read(
    p_app uuid, p_actor text, p_conversation uuid, p_up_to bigint, p_limit bigint, p_origin_connection bigint,
    p_origin_request bigint, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz,
    OUT message_count bigint, OUT up_to bigint, OUT uncounted bigint, OUT hidden bigint, OUT told text[],
    OUT receipts jsonb)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c record;
    p conversations.participant;
    last_read bigint;
    newly bigint;
BEGIN
    SELECT b.outcome INTO outcome FROM conversations.begin_change(p_app, p_conversation, p_actor) b;
    IF outcome <> 'ok' THEN RETURN; END IF;
    SELECT x.position, x.message_count, x.receipt_policy INTO c FROM conversations.conversation x
    WHERE x.id = p_conversation;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;

    up_to := least(coalesce(p_up_to, c.position), c.position);
    last_read := CASE WHEN up_to = c.position THEN c.message_count
        ELSE conversations.ordinal_at(p_conversation, up_to, c.message_count) END;
    newly := CASE
        WHEN last_read = c.message_count THEN c.message_count - p.uncounted
        WHEN last_read > p.hidden_ordinal THEN (conversations.unread_up_to(p, last_read)).count ELSE 0 END;
    IF newly = 0 THEN
        outcome := 'none';
        PERFORM conversations.note_nothing_unread(p, last_read);
        RETURN;
    END IF;

    IF c.receipt_policy & 2 <> 0 THEN
        told := '{}';
    ELSIF c.receipt_policy <> 0 OR (
        SELECT cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = p_conversation) > p_limit
    THEN
        told := (conversations.unread_up_to(p, last_read)).senders;
    END IF;
    uncounted := p.uncounted + newly;
    hidden := p.hidden_count;
    IF p.first_kept > p.joined AND p.first_kept <= up_to THEN
        receipts := conversations.named_receipts(
            p, last_read, CASE WHEN c.receipt_policy & 2 <> 0 THEN 2 WHEN told IS NOT NULL THEN 1 ELSE 0 END);
    END IF;
    UPDATE conversations.participant x
    SET read = p.read + int8multirange(int8range(1, last_read, '[]')),
        delivered = CASE WHEN c.receipt_policy & 2 = 0 THEN p.delivered - int8multirange(int8range(1, last_read, '[]'))
            ELSE p.delivered END,
        uncounted = mark_all_read.uncounted
    WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    SELECT a.* INTO "position", created_at, message_count
    FROM conversations.append_change(
        p_conversation,
        CASE WHEN receipts IS NULL THEN conversations.kind_all_read() ELSE conversations.kind_receipts() END, p_actor,
        p_origin_connection, p_origin_request, NULL, NULL, coalesce(receipts, jsonb_build_object(
            'user', p_actor, 'up_to', mark_all_read.up_to, 'told', mark_all_read.told,
            -- The first message that the user had not read, including own ones. Webhooks report it.
            'from', greatest(lower(int8multirange(int8range(1, last_read, '[]')) - p.read), p.hidden_ordinal + 1)))) a;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.ordinal_at, conversations.locate_messages, conversations.receipts_by_user,
    conversations.effective_receipts, conversations.with_receipts, conversations.give_receipts,
    conversations.give_receipts_of, conversations.named_receipts, conversations.note_nothing_unread,
    conversations.mark_all_read TO strata_conversations;
