-- SPDX-License-Identifier: Apache-2.0
-- Deletion of single messages.

-- The first row says what happened; a row with outcome 'override' follows for each present participant who, having hidden messages, now sees another last
-- message than everybody else (at most a few). `message` is the last message now, of all or of that user.
CREATE TYPE conversations.message_deletion AS (
    outcome text, conversation_id uuid, "position" bigint, created_at timestamptz, message_count bigint, ordinal bigint, last_changed boolean,
    number_users text[], number_uncounted bigint[], number_hidden bigint[], user_position bigint, user_created_at timestamptz,
    override_user text, message conversations.message_row);

-- Outcomes: 'ok'; 'not_found', also what the caller does not see; 'access_denied' to a former participant who wants to delete for all.
CREATE FUNCTION conversations.delete_message(p_app uuid, p_actor text, p_message uuid, p_mode text, p_oc bigint, p_or bigint)
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
    SELECT * INTO place FROM conversations.message_place x WHERE x.message_id = p_message AND x.app_id = p_app;
    IF FOUND THEN
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = place.conversation_id FOR UPDATE;
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = place.conversation_id AND x.user_id = p_actor;
        SELECT m.sender INTO sent_by FROM conversations.message m WHERE m.conversation_id = place.conversation_id AND m.ordinal = place.ordinal;
        IF sent_by IS NOT NULL AND p.user_id IS NOT NULL AND c.deleted_position IS NULL AND conversations.may_see(p, place.ordinal) THEN
            result.outcome := CASE WHEN p_mode = 'all_participants' AND p.left_position IS NOT NULL THEN 'access_denied' ELSE 'ok' END;
        END IF;
    END IF;
    IF result.outcome <> 'ok' THEN
        RETURN NEXT result;
        RETURN;
    END IF;
    IF p_mode = 'all_participants' THEN
        RETURN QUERY SELECT d.* FROM conversations.delete_for_all(c, place.ordinal, p_message, sent_by, p_actor, p_oc, p_or) d;
    ELSE
        RETURN QUERY SELECT d.* FROM conversations.hide_message(c, p, place.ordinal, p_message, sent_by) d;
    END IF;
END
$$;

-- The caller holds the lock and has checked the right.
CREATE FUNCTION conversations.hide_message(
    c conversations.conversation, p conversations.participant, p_ordinal bigint, p_message uuid, p_sender text)
RETURNS conversations.message_deletion
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    result conversations.message_deletion;
    before bigint := conversations.last_visible(c, p);
BEGIN
    -- It stays on his list: he sees it now, and is to go on seeing it.
    UPDATE conversations.participant x
    SET hidden = x.hidden + int8multirange(int8range(p_ordinal, p_ordinal, '[]')),
        hidden_count = x.hidden_count + 1,
        uncounted = x.uncounted + CASE WHEN x.user_id = p_sender OR x.read @> p_ordinal THEN 0 ELSE 1 END,
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
        c.app_id, p.user_id, 3::smallint, jsonb_build_object('conversation_id', c.id, 'message_id', p_message)) a;
    RETURN result;
END
$$;

-- The caller holds the lock and has checked the right.
CREATE FUNCTION conversations.delete_for_all(
    c conversations.conversation, p_ordinal bigint, p_message uuid, p_sender text, p_actor text, p_oc bigint, p_or bigint)
RETURNS SETOF conversations.message_deletion
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
DECLARE
    result conversations.message_deletion;
    newest bigint := c.last_ordinal;
BEGIN
    DELETE FROM conversations.message m WHERE m.conversation_id = c.id AND m.ordinal = p_ordinal;
    DELETE FROM conversations.kept_parts k WHERE k.conversation_id = c.id AND k.ordinal = p_ordinal;
    PERFORM conversations.refer_contents(c.id, p_ordinal, '{}');
    IF c.last_ordinal = p_ordinal THEN
        newest := coalesce((SELECT max(m.ordinal) FROM conversations.message m WHERE m.conversation_id = c.id), 0);
        UPDATE conversations.conversation x SET last_ordinal = newest WHERE x.id = c.id;
        c.last_ordinal := newest;
    END IF;

    -- Everybody who saw it, former participants too. Whoever saw it has the conversation on his list, and is to keep it.
    WITH altered AS (
        UPDATE conversations.participant x
        SET hidden_count = x.hidden_count + 1,
            uncounted = x.uncounted + CASE WHEN x.user_id = p_sender OR x.read @> p_ordinal THEN 0 ELSE 1 END,
            is_hidden = false
        WHERE x.conversation_id = c.id AND conversations.may_see(x, p_ordinal)
        RETURNING x.user_id, x.uncounted, x.hidden_count, x.left_position
    )
    SELECT coalesce(array_agg(a.user_id ORDER BY a.user_id), '{}'), coalesce(array_agg(a.uncounted ORDER BY a.user_id), '{}'),
        coalesce(array_agg(a.hidden_count ORDER BY a.user_id), '{}')
    INTO result.number_users, result.number_uncounted, result.number_hidden
    FROM altered a WHERE a.left_position IS NULL;

    -- It was the last one of all who saw nothing newer: of everybody, or of somebody who hid what came after it.
    result.last_changed := newest < p_ordinal OR EXISTS (
        SELECT FROM conversations.participant x
        WHERE x.conversation_id = c.id AND x.left_position IS NULL AND (x.hidden_ordinal > 0 OR NOT isempty(x.hidden))
            AND conversations.may_see(x, p_ordinal) AND conversations.last_visible(c, x) < p_ordinal);

    SELECT a.position, a.created_at, a.message_count INTO result.position, result.created_at, result.message_count
    FROM conversations.append_change(
        c.id, 6::smallint, p_actor, p_oc, p_or, p_message, p_ordinal, jsonb_build_object('last_changed', result.last_changed)) a;
    result.outcome := 'ok';
    result.conversation_id := c.id;
    result.ordinal := p_ordinal;
    IF result.last_changed THEN
        result.message := conversations.message_at(c.id, newest);
    END IF;
    RETURN NEXT result;
    IF result.last_changed THEN
        RETURN QUERY SELECT o.* FROM conversations.last_message_overrides(c) o;
    END IF;
END
$$;

-- The present participants who, having hidden messages, see another last message than everybody else; each with his.
CREATE FUNCTION conversations.last_message_overrides(c conversations.conversation) RETURNS SETOF conversations.message_deletion
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    result conversations.message_deletion;
    other record;
BEGIN
    FOR other IN
        SELECT s.user_id, s.newest FROM (
            SELECT x.user_id, conversations.last_visible(c, x) AS newest
            FROM conversations.participant x
            WHERE x.conversation_id = c.id AND x.left_position IS NULL AND (x.hidden_ordinal > 0 OR NOT isempty(x.hidden))) s
        WHERE s.newest <> c.last_ordinal ORDER BY s.user_id
    LOOP
        result.outcome := 'override';
        result.override_user := other.user_id;
        result.message := conversations.message_at(c.id, other.newest);
        RETURN NEXT result;
    END LOOP;
END
$$;
