-- SPDX-License-Identifier: Apache-2.0
-- Deletion of messages: for all participants, or from the devices of one user.

-- Returns the number of messages with ordinals above `p_low` and up to `p_high` that this participant sees, and the
-- number of these that are unread.
CREATE OR REPLACE FUNCTION conversations.seen_between(
    p conversations.participant, p_low bigint, p_high bigint, OUT seen bigint, OUT unread bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT coalesce(sum(s.seen), 0), coalesce(sum(s.unread), 0) INTO seen_between.seen, seen_between.unread
    FROM unnest(int8multirange(int8range(least(p_low, p_high) + 1, p_high + 1)) - p.hidden) g(gap)
    -- OFFSET 0 makes each of these a range of one index, and one lookup of the user's receipts.
    CROSS JOIN LATERAL (
        SELECT count(*) AS seen, count(*) FILTER (
            WHERE m.sender <> p.user_id AND NOT p.read @> m.ordinal AND b.has_read IS NOT TRUE) AS unread
        FROM conversations.message m
        LEFT JOIN LATERAL (
            SELECT conversations.has_bit(k.read, m.ordinal) AS has_read,
                conversations.has_bit(k.hidden, m.ordinal) AS is_hidden
            FROM conversations.receipt_block k
            WHERE m.ordinal <= p.packed_up_to AND k.conversation_id = p.conversation_id
                AND k.block = m.ordinal / conversations.block_size() AND k.user_id = p.user_id
                AND k.until_position = conversations.end_of_log()
            OFFSET 0) b ON true
        WHERE m.conversation_id = p.conversation_id AND m.ordinal >= lower(g.gap) AND m.ordinal < upper(g.gap)
            AND b.is_hidden IS NOT TRUE
        OFFSET 0) s;
END
$$;

-- Deletes a message from the devices of one participant. The caller holds the lock and has checked the permission.
CREATE OR REPLACE FUNCTION conversations.hide_message(
    c conversations.conversation, p conversations.participant, p_ordinal bigint, p_message uuid, p_sender text)
RETURNS conversations.message_deletion
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    result conversations.message_deletion;
    before bigint := conversations.last_visible(c, p);
BEGIN
    p.hidden := p.hidden + int8multirange(int8range(p_ordinal, p_ordinal, '[]'));
    p := conversations.packed(p, c.position + 1);
    -- The conversation stays on the list: the user sees it now and continues to see it.
    UPDATE conversations.participant x
    SET hidden = p.hidden,
        packed_up_to = p.packed_up_to,
        hidden_count = x.hidden_count + 1,
        uncounted = x.uncounted + CASE WHEN x.user_id = p_sender OR conversations.has_read(x, p_ordinal) THEN 0
            ELSE 1 END,
        is_hidden = false
    WHERE x.conversation_id = c.id AND x.user_id = p.user_id
    RETURNING x.* INTO p;
    result.outcome := 'ok';
    result.conversation_id := c.id;
    result.message_count := coalesce(p.left_ordinal, c.message_count);
    result.ordinal := p_ordinal;
    result.last_changed := before = p_ordinal;
    result.number_users := ARRAY[p.user_id];
    result.number_uncounted := ARRAY[p.uncounted];
    result.number_hidden := ARRAY[p.hidden_count];
    result.message := conversations.message_for(p, conversations.last_visible(c, p));
    SELECT a.position, a.created_at INTO result.user_position, result.user_created_at
    FROM conversations.append_user_change(
        c.app_id, p.user_id, conversations.user_kind_message_hidden(),
        jsonb_build_object('conversation_id', c.id, 'message_id', p_message)) a;
    RETURN result;
END
$$;

-- Returns the present participants who see another last message than the others, because they have hidden messages,
-- each with that message.
CREATE OR REPLACE FUNCTION conversations.last_message_overrides(c conversations.conversation)
RETURNS SETOF conversations.message_deletion
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    result conversations.message_deletion;
    other record;
BEGIN
    FOR other IN
        SELECT s.user_id, s.newest FROM (
            SELECT x.user_id, conversations.last_visible(c, x) AS newest
            FROM conversations.participant x
            WHERE x.conversation_id = c.id AND x.left_position IS NULL
                AND (x.hidden_ordinal > 0 OR NOT isempty(x.hidden))) s
        WHERE s.newest <> c.last_ordinal ORDER BY s.user_id
    LOOP
        result.outcome := 'override';
        result.override_user := other.user_id;
        result.message := conversations.message_at(c.id, other.newest);
        RETURN NEXT result;
    END LOOP;
END
$$;

-- Updates the counts of everyone who saw a message that was deleted for all, including former participants. They have
-- the conversation on their lists and keep it. Returns the counts of present participants, and the former ones.
CREATE OR REPLACE FUNCTION conversations.uncount_deleted(
    p_conversation uuid, p_ordinal bigint, p_sender text, OUT number_users text[], OUT number_uncounted bigint[],
    OUT number_hidden bigint[], OUT former text[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    WITH altered AS (
        UPDATE conversations.participant x
        SET hidden_count = x.hidden_count + 1,
            uncounted = x.uncounted + CASE WHEN x.user_id = p_sender OR conversations.has_read(x, p_ordinal) THEN 0
                ELSE 1 END,
            is_hidden = false
        WHERE x.conversation_id = p_conversation AND conversations.may_see(x, p_ordinal)
        RETURNING x.user_id, x.uncounted, x.hidden_count, x.left_position
    )
    SELECT coalesce(array_agg(a.user_id ORDER BY a.user_id) FILTER (WHERE a.left_position IS NULL), '{}'),
        coalesce(array_agg(a.uncounted ORDER BY a.user_id) FILTER (WHERE a.left_position IS NULL), '{}'),
        coalesce(array_agg(a.hidden_count ORDER BY a.user_id) FILTER (WHERE a.left_position IS NULL), '{}'),
        array_agg(a.user_id::text) FILTER (WHERE a.left_position IS NOT NULL)
    INTO number_users, number_uncounted, number_hidden, former
    FROM altered a;
END
$$;

-- True if a deleted message was the last one for a present participant who had hidden all later messages.
CREATE OR REPLACE FUNCTION conversations.was_last_for_some(c conversations.conversation, p_ordinal bigint)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.participant x
        WHERE x.conversation_id = c.id AND x.left_position IS NULL AND (x.hidden_ordinal > 0 OR NOT isempty(x.hidden))
            AND conversations.may_see(x, p_ordinal) AND conversations.last_visible(c, x) < p_ordinal);
END
$$;

-- Deletes a message for all participants, with an entry in the own log of every former participant who saw it. The
-- caller holds the lock and has checked the permission.
CREATE OR REPLACE FUNCTION conversations.delete_for_all(
    c conversations.conversation, p_ordinal bigint, p_message uuid, p_sender text, p_actor text,
    p_origin_connection bigint, p_origin_request bigint)
RETURNS SETOF conversations.message_deletion
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
DECLARE
    result conversations.message_deletion;
    newest bigint := c.last_ordinal;
    former text[];
    gone record;
BEGIN
    DELETE FROM conversations.message m WHERE m.conversation_id = c.id AND m.ordinal = p_ordinal
    RETURNING m.position, m.sent_at, m.hidden_from INTO gone;
    result.hidden_from := gone.hidden_from;
    DELETE FROM conversations.kept_parts k WHERE k.conversation_id = c.id AND k.ordinal = p_ordinal;
    PERFORM conversations.refer_contents(c.id, p_ordinal, '{}');
    IF c.last_ordinal = p_ordinal THEN
        newest := coalesce((SELECT max(m.ordinal) FROM conversations.message m WHERE m.conversation_id = c.id), 0);
        c.last_ordinal := newest;
    END IF;
    UPDATE conversations.conversation x SET last_ordinal = newest, deleted_count = x.deleted_count + 1
    WHERE x.id = c.id;
    -- Includes those who had hidden the message.
    UPDATE conversations.participant x SET left_deleted = x.left_deleted + 1
    WHERE x.conversation_id = c.id AND x.left_ordinal >= p_ordinal;

    SELECT u.number_users, u.number_uncounted, u.number_hidden, u.former
    INTO result.number_users, result.number_uncounted, result.number_hidden, former
    FROM conversations.uncount_deleted(c.id, p_ordinal, p_sender) u;

    result.last_changed := newest < p_ordinal OR conversations.was_last_for_some(c, p_ordinal);
    SELECT a.position, a.created_at, a.message_count INTO result.position, result.created_at, result.message_count
    FROM conversations.append_change(
        c.id, conversations.kind_message_deleted(), p_actor, p_origin_connection, p_origin_request, p_message,
        p_ordinal,
        -- Store the message's data for webhooks, which also must not report the deletion to users from whom a block hid
        -- the message.
        jsonb_build_object('last_changed', result.last_changed, 'position', gone.position, 'sender', p_sender,
            'sent_at', gone.sent_at)
            || CASE WHEN result.hidden_from IS NULL THEN '{}'
                ELSE jsonb_build_object('hidden_from', result.hidden_from) END) a;
    result.outcome := 'ok';
    result.conversation_id := c.id;
    result.ordinal := p_ordinal;
    IF result.last_changed THEN result.message := conversations.message_at(c.id, newest); END IF;
    -- Lock the users' own logs last.
    IF former IS NOT NULL THEN
        SELECT array_agg(a.user_id), array_agg(a.position), array_agg(a.created_at)
        INTO result.former_users, result.former_positions, result.former_times
        FROM conversations.append_user_changes(
            c.app_id, former, conversations.user_kind_message_deleted(),
            jsonb_build_object('conversation_id', c.id, 'message_id', p_message)) a;
    END IF;
    RETURN NEXT result;
    IF result.last_changed THEN RETURN QUERY SELECT o.* FROM conversations.last_message_overrides(c) o; END IF;
END
$$;

-- Deletes a message. Outcomes: 'ok'; 'not_found', also if the caller does not see it; 'access_denied' to a former
-- participant who wants to delete for all. The app's own server (no actor) may delete every message, and only for all.
-- `p_conversation`: the conversation that must contain the message.
CREATE OR REPLACE FUNCTION conversations.delete_message(
    p_app uuid, p_actor text, p_message uuid, p_mode text, p_origin_connection bigint, p_origin_request bigint,
    p_conversation uuid DEFAULT NULL)
RETURNS SETOF conversations.message_deletion
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
DECLARE
    place conversations.message_place;
    c conversations.conversation;
    p conversations.participant;
    result conversations.message_deletion;
    sent_by text;
BEGIN
    result.outcome := 'not_found';
    SELECT * INTO place FROM conversations.message_place x
    WHERE x.message_id = p_message AND x.app_id = p_app
        AND (p_conversation IS NULL OR x.conversation_id = p_conversation);
    IF FOUND THEN
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = place.conversation_id FOR UPDATE;
        SELECT * INTO p FROM conversations.participant x
        WHERE x.conversation_id = place.conversation_id AND x.user_id = p_actor;
        SELECT m.sender INTO sent_by FROM conversations.message m
        WHERE m.conversation_id = place.conversation_id AND m.ordinal = place.ordinal;
        IF p_actor IS NULL AND p_mode = 'all_participants' THEN
            IF sent_by IS NOT NULL AND c.deleted_position IS NULL THEN result.outcome := 'ok'; END IF;
        ELSIF sent_by IS NOT NULL AND p.user_id IS NOT NULL AND c.deleted_position IS NULL
            AND conversations.may_see(p, place.ordinal)
        THEN
            result.outcome := CASE WHEN p_mode = 'all_participants' AND p.left_position IS NOT NULL THEN 'access_denied'
                ELSE 'ok' END;
        END IF;
    END IF;
    IF result.outcome <> 'ok' THEN
        RETURN NEXT result;
        RETURN;
    END IF;
    IF p_mode = 'all_participants' THEN
        RETURN QUERY SELECT d.*
            FROM conversations.delete_for_all(c, place.ordinal, p_message, sent_by, p_actor, p_origin_connection,
                p_origin_request) d;
    ELSE
        RETURN QUERY SELECT d.* FROM conversations.hide_message(c, p, place.ordinal, p_message, sent_by) d;
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.seen_between, conversations.hide_message, conversations.last_message_overrides,
    conversations.uncount_deleted, conversations.was_last_for_some, conversations.delete_for_all,
    conversations.delete_message TO strata_conversations;
