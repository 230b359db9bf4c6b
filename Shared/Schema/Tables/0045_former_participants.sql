-- SPDX-License-Identifier: Apache-2.0
-- Former participants are told, in their own logs, what is deleted for all of what they keep.
--
-- Kinds of entries of a user's own log, beside those of 0001_tables.sql: 20 a message was deleted for all, 21 a conversation was deleted for all; of a
-- conversation that the user has left. Both name the conversation, the first also the message.

-- Of the first row: the former participants who saw the message, and where their logs have come to by its deletion, with times in microseconds since 1970.
ALTER TYPE conversations.message_deletion ADD ATTRIBUTE former_users text[];
ALTER TYPE conversations.message_deletion ADD ATTRIBUTE former_positions bigint[];
ALTER TYPE conversations.message_deletion ADD ATTRIBUTE former_times bigint[];

-- As before, with an entry in the log of every former participant who saw the message. The caller holds the lock and has checked the right.
CREATE OR REPLACE FUNCTION conversations.delete_for_all(
    c conversations.conversation, p_ordinal bigint, p_message uuid, p_sender text, p_actor text, p_oc bigint, p_or bigint)
RETURNS SETOF conversations.message_deletion
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
DECLARE
    result conversations.message_deletion;
    newest bigint := c.last_ordinal;
    former text[];
BEGIN
    DELETE FROM conversations.message m WHERE m.conversation_id = c.id AND m.ordinal = p_ordinal;
    DELETE FROM conversations.kept_parts k WHERE k.conversation_id = c.id AND k.ordinal = p_ordinal;
    PERFORM conversations.refer_contents(c.id, p_ordinal, '{}');
    IF c.last_ordinal = p_ordinal THEN
        newest := coalesce((SELECT max(m.ordinal) FROM conversations.message m WHERE m.conversation_id = c.id), 0);
        c.last_ordinal := newest;
    END IF;
    UPDATE conversations.conversation x SET last_ordinal = newest, deleted_count = x.deleted_count + 1 WHERE x.id = c.id;
    -- Also of those who had hidden it.
    UPDATE conversations.participant x SET left_deleted = x.left_deleted + 1 WHERE x.conversation_id = c.id AND x.left_ordinal >= p_ordinal;

    -- All who saw it, former participants too. They have the conversation on their lists, and are to keep it.
    WITH altered AS (
        UPDATE conversations.participant x
        SET hidden_count = x.hidden_count + 1,
            uncounted = x.uncounted + CASE WHEN x.user_id = p_sender OR conversations.has_read(x, p_ordinal) THEN 0 ELSE 1 END,
            is_hidden = false
        WHERE x.conversation_id = c.id AND conversations.may_see(x, p_ordinal)
        RETURNING x.user_id, x.uncounted, x.hidden_count, x.left_position
    )
    SELECT coalesce(array_agg(a.user_id ORDER BY a.user_id) FILTER (WHERE a.left_position IS NULL), '{}'),
        coalesce(array_agg(a.uncounted ORDER BY a.user_id) FILTER (WHERE a.left_position IS NULL), '{}'),
        coalesce(array_agg(a.hidden_count ORDER BY a.user_id) FILTER (WHERE a.left_position IS NULL), '{}'),
        array_agg(a.user_id::text) FILTER (WHERE a.left_position IS NOT NULL)
    INTO result.number_users, result.number_uncounted, result.number_hidden, former
    FROM altered a;

    -- It was the last one of all who saw nothing newer: of all participants, or of one who hid what came after it.
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
    -- Users' logs are locked last.
    IF former IS NOT NULL THEN
        SELECT array_agg(a.user_id), array_agg(a.position), array_agg(a.created_at)
        INTO result.former_users, result.former_positions, result.former_times
        FROM conversations.append_user_changes(
            c.app_id, former, 20::smallint, jsonb_build_object('conversation_id', c.id, 'message_id', p_message)) a;
    END IF;
    RETURN NEXT result;
    IF result.last_changed THEN
        RETURN QUERY SELECT o.* FROM conversations.last_message_overrides(c) o;
    END IF;
END
$$;

-- As it was: sessions that have called it keep a plan of it, with the columns of before, until it is made anew.
CREATE OR REPLACE FUNCTION conversations.delete_message(p_app uuid, p_actor text, p_message uuid, p_mode text, p_oc bigint, p_or bigint)
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
