-- SPDX-License-Identifier: Apache-2.0
-- What clients load: conversations and messages as one user sees them. STABLE functions: all of an answer is from one snapshot.

-- No row: there is nothing that he may see.
CREATE FUNCTION conversations.get_conversation(p_app uuid, p_user text, p_conversation uuid) RETURNS SETOF conversations.view_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    view conversations.view_row := conversations.find_view(p_app, p_user, p_conversation);
BEGIN
    IF view.conversation_id IS NOT NULL THEN RETURN NEXT view; END IF;
END
$$;

CREATE FUNCTION conversations.get_message(p_app uuid, p_user text, p_message uuid) RETURNS SETOF conversations.message_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    message conversations.message_row := conversations.find_message(p_app, p_user, p_message);
BEGIN
    IF message.message_id IS NOT NULL THEN RETURN NEXT message; END IF;
END
$$;

-- Where a conversation stands in a user's list: its creation, or the last message he sees, if there is one.
CREATE FUNCTION conversations.list_key(c conversations.conversation, p conversations.participant, p_by_last_message boolean) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    sent_at timestamptz;
BEGIN
    IF NOT p_by_last_message THEN RETURN c.created_at; END IF;
    SELECT m.sent_at INTO sent_at FROM conversations.message m
    WHERE m.conversation_id = c.id AND m.ordinal = conversations.last_visible(c, p);
    RETURN coalesce(sent_at, c.created_at);
END
$$;

-- A page of a user's conversations, those he left included, newest first. The first row has the outcome, 'ok' or 'unknown_cursor', and the number of
-- conversations on the whole list. A cursor that has vanished from the list meanwhile still stands where it would be.
CREATE FUNCTION conversations.list_conversations(p_app uuid, p_user text, p_by_last_message boolean, p_page_size bigint, p_from_id uuid)
RETURNS TABLE (outcome text, total bigint, view conversations.view_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    ids uuid[];
    from_key timestamptz;
BEGIN
    IF p_from_id IS NOT NULL THEN
        SELECT conversations.list_key(c, p, p_by_last_message) INTO from_key
        FROM conversations.conversation c JOIN conversations.participant p ON p.conversation_id = c.id AND p.user_id = p_user
        WHERE c.id = p_from_id AND c.app_id = p_app;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, 0::bigint, NULL::conversations.view_row;
            RETURN;
        END IF;
    END IF;

    WITH listed AS MATERIALIZED (
        SELECT c.id, conversations.list_key(c, p, p_by_last_message) AS key
        FROM conversations.user_conversation u
        JOIN conversations.conversation c ON c.id = u.conversation_id
        JOIN conversations.participant p ON p.conversation_id = u.conversation_id AND p.user_id = u.user_id
        WHERE u.app_id = p_app AND u.user_id = p_user AND conversations.is_visible(c, p)
    ), page AS (
        SELECT l.id, l.key FROM listed l WHERE p_from_id IS NULL OR (l.key, l.id) < (from_key, p_from_id)
        ORDER BY l.key DESC, l.id DESC LIMIT p_page_size
    )
    SELECT (SELECT count(*) FROM listed), (SELECT array_agg(g.id ORDER BY g.key DESC, g.id DESC) FROM page g) INTO total, ids;

    outcome := 'ok';
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, conversations.view_of(c, p)
    FROM unnest(ids) WITH ORDINALITY i(id, n)
    JOIN conversations.conversation c ON c.id = i.id
    JOIN conversations.participant p ON p.conversation_id = i.id AND p.user_id = p_user
    ORDER BY i.n;
END
$$;

-- A page of the messages of a conversation that this user sees, newest first. The first row has the outcome, 'ok', 'not_found' or 'unknown_cursor', and
-- how many there are in all. A message that was deleted meanwhile still serves as a cursor.
CREATE FUNCTION conversations.list_messages(p_app uuid, p_user text, p_conversation uuid, p_page_size bigint, p_from_id uuid)
RETURNS TABLE (outcome text, total bigint, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    before bigint;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF c.id IS NULL OR p.user_id IS NULL OR NOT conversations.is_visible(c, p) THEN
        RETURN QUERY SELECT 'not_found'::text, 0::bigint, NULL::conversations.message_row;
        RETURN;
    END IF;
    total := coalesce(p.left_ordinal, c.message_count) - p.hidden_count;
    before := coalesce(p.left_ordinal, c.message_count) + 1;
    IF p_from_id IS NOT NULL THEN
        SELECT least(x.ordinal, before) INTO before FROM conversations.message_place x
        WHERE x.message_id = p_from_id AND x.conversation_id = p_conversation AND (p.left_position IS NULL OR x.ordinal <= p.left_ordinal);
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, total, NULL::conversations.message_row;
            RETURN;
        END IF;
    END IF;

    outcome := 'ok';
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, conversations.message_for(p, o.ordinal)
    FROM (
        SELECT m.ordinal FROM conversations.message m
        WHERE m.conversation_id = p_conversation AND m.ordinal < before AND m.ordinal > p.hidden_ordinal AND NOT p.hidden @> m.ordinal
        ORDER BY m.ordinal DESC LIMIT p_page_size) o
    ORDER BY o.ordinal DESC;
END
$$;
