-- SPDX-License-Identifier: Apache-2.0
-- Messages: sending, deletion.

-- Outcomes: 'ok'; 'id_in_use', with the message if the caller may see it, whatever else is asked for; 'not_found', 'access_denied'; 'unknown_content' with
-- the first of `p_contents` that cannot be sent. What is refused leaves no trace. `recipients` are the present participants. Writes rows of this conversation and the id's place, no other participant's row.
CREATE FUNCTION conversations.send_message(
    p_app uuid, p_actor text, p_conversation uuid, p_id uuid, p_parts bytea, p_notification text, p_oc bigint, p_or bigint,
    p_contents uuid[] DEFAULT NULL,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT ordinal bigint, OUT recipients text[], OUT uncounted bigint,
    OUT hidden bigint, OUT receipt_policy bigint, OUT bad_content uuid, OUT message conversations.message_row)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c record;
    p record;
BEGIN
    SELECT x.position, x.message_count, x.last_change_at, x.deleted_position, x.receipt_policy INTO c
    FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    outcome := 'not_found';
    IF FOUND AND c.deleted_position IS NULL THEN
        SELECT x.left_position, x.hidden_count, r.user_ids INTO p
        FROM conversations.participant x JOIN conversations.roster r ON r.conversation_id = p_conversation
        WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
        IF FOUND THEN
            outcome := 'access_denied';
            IF p.left_position IS NULL THEN
                IF p_contents IS NOT NULL THEN bad_content := conversations.unsendable(p_app, p_actor, p_contents); END IF;
            END IF;
            IF p.left_position IS NULL AND bad_content IS NOT NULL THEN
                outcome := 'unknown_content';
            ELSIF p.left_position IS NULL THEN
                -- The last thing that can refuse. Should somebody be using the same id elsewhere at this moment, it waits for him.
                INSERT INTO conversations.message_place (message_id, app_id, conversation_id, ordinal)
                VALUES (p_id, p_app, p_conversation, c.message_count + 1) ON CONFLICT DO NOTHING;
                IF FOUND THEN outcome := 'ok'; END IF;
            END IF;
        END IF;
    END IF;
    IF outcome <> 'ok' THEN
        -- That the id is taken counts for more than any other reason: a retry succeeds even if its sender has left meanwhile.
        IF EXISTS (SELECT FROM conversations.message_place x WHERE x.message_id = p_id) THEN
            outcome := 'id_in_use';
            send_message.message := conversations.find_message(p_app, p_actor, p_id);
        END IF;
        RETURN;
    END IF;

    "position" := c.position + 1;
    created_at := greatest(clock_timestamp(), c.last_change_at);
    ordinal := c.message_count + 1;
    recipients := p.user_ids;
    hidden := p.hidden_count;
    receipt_policy := c.receipt_policy;
    IF p_contents IS NOT NULL THEN PERFORM conversations.refer_contents(p_conversation, send_message.ordinal, p_contents); END IF;
    -- All is decided, under the lock, so that these may go as one statement. An own message joins what he has read only where that lengthens a range:
    -- somebody who never reads would collect a range a message otherwise.
    WITH moved AS (
        UPDATE conversations.conversation x
        SET position = send_message.position, last_change_at = send_message.created_at, message_count = send_message.ordinal,
            last_ordinal = send_message.ordinal
        WHERE x.id = p_conversation
    ), stored AS (
        INSERT INTO conversations.message (conversation_id, ordinal, id, position, sender, sent_at, parts, notification, receipt_policy)
        VALUES (
            p_conversation, send_message.ordinal, p_id, send_message.position, p_actor, send_message.created_at, p_parts, p_notification,
            send_message.receipt_policy)
    ), logged AS (
        INSERT INTO conversations.change (
            conversation_id, position, kind, actor, origin_connection, origin_request, message_id, ordinal, message_count, created_at)
        VALUES (
            p_conversation, send_message.position, 5, p_actor, p_oc, p_or, p_id, send_message.ordinal, send_message.ordinal,
            send_message.created_at)
    )
    UPDATE conversations.participant x
    SET uncounted = x.uncounted + 1,
        read = CASE WHEN send_message.ordinal = 1 OR x.read @> (send_message.ordinal - 1)
            THEN x.read + int8multirange(int8range(send_message.ordinal, send_message.ordinal, '[]')) ELSE x.read END
    WHERE x.conversation_id = p_conversation AND x.user_id = p_actor
    RETURNING x.uncounted INTO send_message.uncounted;
END
$$;

-- One message by its id, if this user may see it; else NULL.
CREATE FUNCTION conversations.find_message(p_app uuid, p_user text, p_message uuid) RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    place conversations.message_place;
    p conversations.participant;
BEGIN
    SELECT * INTO place FROM conversations.message_place x WHERE x.message_id = p_message AND x.app_id = p_app;
    IF NOT FOUND THEN RETURN NULL; END IF;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = place.conversation_id AND x.user_id = p_user;
    IF NOT FOUND OR NOT conversations.may_see(p, place.ordinal)
        OR EXISTS (SELECT FROM conversations.conversation x WHERE x.id = place.conversation_id AND x.deleted_position IS NOT NULL)
    THEN
        RETURN NULL;
    END IF;
    RETURN conversations.message_for(p, place.ordinal);
END
$$;
