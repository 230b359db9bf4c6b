-- SPDX-License-Identifier: Apache-2.0
-- What shares a transaction with statements of others waits for one key only, its conversation's row; then, in the order of these keys, no two
-- transactions wait for each other in a circle. A message's id, which its sender chooses, was a second one.

DROP FUNCTION conversations.send_message(uuid, text, uuid, uuid, bytea, text, bigint, bigint, uuid[]);

-- Outcomes: 'ok'; 'id_in_use', with the message if the caller may see it, whatever else is asked for; 'not_found', 'access_denied'; 'unknown_content' with
-- the first of `p_contents` that cannot be sent;
-- 'busy_id', with nothing done, if a transaction that has not ended is using the id: to be asked again with `p_alone`, alone in a transaction, which waits for
-- the id before it locks anything. `p_alone` false: the transaction is shared, and must not wait for an id. What is refused leaves no trace. `recipients`
-- are the present participants. Writes rows of this conversation and the id's place, no other participant's row.
CREATE FUNCTION conversations.send_message(
    p_app uuid, p_actor text, p_conversation uuid, p_id uuid, p_parts bytea, p_notification text, p_oc bigint, p_or bigint,
    p_contents uuid[] DEFAULT NULL, p_alone boolean DEFAULT NULL,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT ordinal bigint, OUT recipients text[], OUT uncounted bigint,
    OUT hidden bigint, OUT receipt_policy bigint, OUT bad_content uuid, OUT message conversations.message_row)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    id_key constant bigint := uuid_hash_extended(p_id, 3);
    c record;
    p record;
BEGIN
    IF p_alone THEN PERFORM pg_advisory_xact_lock(id_key); END IF;
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
                -- Another transaction uses the same id at this moment. Services of an older version do not say whether they are alone: they wait for the
                -- row of the id, below.
                IF p_alone IS NOT TRUE AND NOT pg_try_advisory_xact_lock(id_key) AND NOT p_alone THEN
                    outcome := 'busy_id';
                    RETURN;
                END IF;
                -- The last thing that can refuse.
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
    -- All is decided, under the lock, so that these may go as one statement. An own message joins what its sender has read only where that lengthens a range:
    -- a user who never reads would collect a range a message otherwise.
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

-- These users have just come to a conversation: participants who did not want to follow them, or whom they did not want to follow, do so again. The rows are
-- locked in one order, since other conversations' participants may be the same.
CREATE OR REPLACE FUNCTION conversations.follow_again(c conversations.conversation, p_users text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    everybody text[] := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
BEGIN
    PERFORM FROM conversations.follow f
    WHERE f.app_id = c.app_id AND f.user_id = ANY (everybody) AND NOT f.is_followed AND f.followed = ANY (everybody)
        AND (f.user_id = ANY (p_users) OR f.followed = ANY (p_users))
    ORDER BY f.user_id, f.followed FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    DELETE FROM conversations.follow f
    WHERE f.app_id = c.app_id AND f.user_id = ANY (everybody) AND NOT f.is_followed AND f.followed = ANY (everybody)
        AND (f.user_id = ANY (p_users) OR f.followed = ANY (p_users));
END
$$;

REVOKE ALL ON FUNCTION conversations.send_message FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.send_message TO strata_conversations;
