-- SPDX-License-Identifier: Apache-2.0
-- Changing the parts of a message that was sent.

-- The parts are opaque here: whoever calls has read them, made others of them, and names both. Outcomes: 'ok'; 'stale', if they are others by now, to be
-- tried again; 'not_found', also what the caller does not see; 'access_denied' to everybody but the sender, and to him once he has left; 'unknown_content' with
-- the first of `p_contents`, all contents of the new parts, that cannot be sent (NULL: the message has and had none).
CREATE FUNCTION conversations.edit_parts(
    p_app uuid, p_actor text, p_message uuid, p_before bytea, p_after bytea, p_edits jsonb, p_updated_at timestamptz, p_contents uuid[],
    p_oc bigint, p_or bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT bad_content uuid,
    OUT message conversations.message_row)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    place conversations.message_place;
    m record;
BEGIN
    outcome := 'not_found';
    SELECT * INTO place FROM conversations.message_place x WHERE x.message_id = p_message AND x.app_id = p_app;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT b.outcome INTO outcome FROM conversations.begin_change(p_app, place.conversation_id, p_actor) b;
    IF outcome = 'not_found' THEN RETURN; END IF;
    SELECT x.sender, x.parts, x.updated_at INTO m
    FROM conversations.message x
    JOIN conversations.participant p ON p.conversation_id = x.conversation_id AND p.user_id = p_actor
    WHERE x.conversation_id = place.conversation_id AND x.ordinal = place.ordinal AND conversations.may_see(p, x.ordinal);
    IF NOT FOUND THEN outcome := 'not_found'; RETURN; END IF;
    IF m.sender <> p_actor THEN outcome := 'access_denied'; END IF;
    IF outcome <> 'ok' THEN RETURN; END IF;
    IF m.parts <> p_before THEN outcome := 'stale'; RETURN; END IF;
    IF p_contents IS NOT NULL THEN
        bad_content := conversations.unsendable(p_app, p_actor, p_contents);
        IF bad_content IS NOT NULL THEN outcome := 'unknown_content'; RETURN; END IF;
        PERFORM conversations.refer_contents(place.conversation_id, place.ordinal, p_contents);
    END IF;
    UPDATE conversations.message x SET parts = p_after, updated_at = p_updated_at
    WHERE x.conversation_id = place.conversation_id AND x.ordinal = place.ordinal;
    SELECT a.position, a.created_at, a.message_count INTO edit_parts.position, edit_parts.created_at, edit_parts.message_count
    FROM conversations.append_change(
        place.conversation_id, 9::smallint, p_actor, p_oc, p_or, p_message, place.ordinal, jsonb_build_object('edits', p_edits)) a;
    -- Who has left goes on seeing what he saw.
    IF EXISTS (
        SELECT FROM conversations.participant p
        WHERE p.conversation_id = place.conversation_id AND p.left_ordinal >= place.ordinal AND p.left_position >= coalesce((
            SELECT max(k.until_position) FROM conversations.kept_parts k
            WHERE k.conversation_id = place.conversation_id AND k.ordinal = place.ordinal), 0))
    THEN
        INSERT INTO conversations.kept_parts (conversation_id, ordinal, until_position, parts, updated_at)
        VALUES (place.conversation_id, place.ordinal, edit_parts.position, m.parts, m.updated_at);
    END IF;
    edit_parts.message := conversations.message_at(place.conversation_id, place.ordinal);
END
$$;
