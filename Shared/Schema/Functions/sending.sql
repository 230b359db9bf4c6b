-- SPDX-License-Identifier: Apache-2.0
-- Sending messages.

-- Returns the rows that send_message needs for a sender who does not take part: a bot, or a name.
CREATE OR REPLACE FUNCTION conversations.outside_state(
    p_app uuid, p_actor text, p_conversation uuid, OUT hidden_count bigint, OUT user_ids text[], OUT has_blocks boolean)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT 0, r.user_ids, EXISTS (SELECT FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_actor)
    INTO outside_state.hidden_count, outside_state.user_ids, outside_state.has_blocks
    FROM conversations.roster r WHERE r.conversation_id = p_conversation;
END
$$;

-- Returns the first of these contents that cannot be sent; NULL: none.
CREATE OR REPLACE FUNCTION conversations.unsendable_content(
    p_app uuid, p_actor text, p_conversation uuid, p_contents uuid[], p_by_server boolean) RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_by_server THEN RETURN conversations.unsendable_by_server(p_app, p_actor, p_conversation, p_contents); END IF;
    RETURN conversations.unsendable(p_app, p_actor, p_contents);
END
$$;

-- Returns 'id_in_use' for an id of another object than a message; otherwise 'ok'.
CREATE OR REPLACE FUNCTION conversations.outcome_of_other_id(p_id uuid) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN CASE WHEN conversations.is_other_id(p_id) THEN 'id_in_use' ELSE 'ok' END;
END
$$;

-- Returns the outcome of a refused send_message. A used id takes precedence over other reasons, so that a retry
-- succeeds even if its sender has left in between.
CREATE OR REPLACE FUNCTION conversations.sending_refusal(p_id uuid, p_outcome text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_outcome = 'busy_id' THEN RETURN p_outcome; END IF;
    IF EXISTS (SELECT FROM conversations.message_place x WHERE x.message_id = p_id) THEN RETURN 'id_in_use'; END IF;
    RETURN p_outcome;
END
$$;

-- Returns the message of a used id, if the caller may see it; NULL if the outcome is not 'id_in_use'.
CREATE OR REPLACE FUNCTION conversations.message_in_use(
    p_app uuid, p_actor text, p_id uuid, p_by_server boolean, p_outcome text) RETURNS conversations.message_row
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_outcome <> 'id_in_use' THEN RETURN NULL; END IF;
    RETURN conversations.find_message(p_app, CASE WHEN NOT p_by_server THEN p_actor END, p_id);
END
$$;

-- Writes a message whose checks are done, with the conversation's head, the log's entry and the sender's counts.
-- Returns the sender's new `uncounted`. The caller holds the locks of the conversation and the contents, so the writes
-- can be one statement.
CREATE OR REPLACE FUNCTION conversations.write_message(
    p_conversation uuid, p_id uuid, p_actor text, p_sender_name text, p_parts bytea, p_notification text,
    p_origin_connection bigint, p_origin_request bigint, p_position bigint, p_created_at timestamptz, p_ordinal bigint,
    p_receipt_policy bigint, p_contents uuid[], p_hidden_from text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    operations jsonb;
    uncounted_now bigint;
BEGIN
    IF p_hidden_from IS NOT NULL THEN operations := jsonb_build_object('hidden_from', p_hidden_from); END IF;
    IF p_contents IS NOT NULL THEN PERFORM conversations.refer_contents(p_conversation, p_ordinal, p_contents); END IF;
    -- An own message is added to its sender's read set only if it extends a range. Otherwise a user who never reads
    -- would collect one range for each message.
    WITH moved AS (
        UPDATE conversations.conversation x
        SET position = p_position, last_change_at = p_created_at, message_count = p_ordinal, last_ordinal = p_ordinal
        WHERE x.id = p_conversation
    ), stored AS (
        INSERT INTO conversations.message (
            conversation_id, ordinal, id, position, sender, sender_name, sent_at, parts, notification, receipt_policy,
            hidden_from)
        VALUES (
            p_conversation, p_ordinal, p_id, p_position, coalesce(p_actor, ''), p_sender_name, p_created_at, p_parts,
            p_notification, p_receipt_policy, p_hidden_from)
    ), logged AS (
        INSERT INTO conversations.change (
            conversation_id, position, kind, actor, origin_connection, origin_request, message_id, ordinal,
            message_count, operations, created_at)
        VALUES (
            p_conversation, p_position, conversations.kind_message_created(), coalesce(p_actor, ''),
            p_origin_connection, p_origin_request, p_id, p_ordinal, p_ordinal, operations, p_created_at)
    )
    UPDATE conversations.participant x
    SET uncounted = x.uncounted + 1,
        read = CASE WHEN p_ordinal = 1 OR x.read @> (p_ordinal - 1)
            THEN x.read + int8multirange(int8range(p_ordinal, p_ordinal, '[]')) ELSE x.read END
    -- Exclude a bot that has left, for which the app's own server may continue to send.
    WHERE x.conversation_id = p_conversation AND x.user_id = p_actor AND x.left_position IS NULL
    RETURNING x.uncounted INTO uncounted_now;
    RETURN uncounted_now;
END
$$;

-- Sends a message. A refused call writes nothing. `recipients` are the present participants. It writes the
-- conversation's rows, the row of the message's id, and the rows of participants: the sender's, and those of
-- `hidden_from`, from whom a block hides the message (NULL: none). `number_…` are the counts of `hidden_from`.
--
-- | Outcome           | Meaning                                                                               |
-- |-------------------|---------------------------------------------------------------------------------------|
-- | 'ok'              | The message was sent.                                                                 |
-- | 'id_in_use'       | With the message if the caller may see it. Takes precedence over all other outcomes.  |
-- | 'not_found'       | The conversation does not exist, or the sender never took part.                       |
-- | 'access_denied'   | The sender is a former participant.                                                   |
-- | 'unknown_content' | `bad_content` is the first of `p_contents` that cannot be sent.                       |
-- | 'busy_id'         | An open transaction uses the id. Repeat the call with `p_alone`.                      |
-- | 'deleted'         | Only with `p_by_server`: the conversation is deleted.                                 |
-- | 'unknown_sender'  | Only with `p_by_server`: the actor has no identity.                                   |
--
-- `p_alone`: true if the statement runs in its own transaction. It then waits for the id before it takes any lock.
-- False: the transaction is shared and must not wait for an id.
--
-- `p_by_server`: the app's own server sends the message for a participant, for a bot, or under a name (`p_sender_name`,
-- without an actor). Bots and names need not take part. unsendable_by_server decides which contents are allowed. An id
-- of a delayed message is refused: that message would be dropped when it is due, although the server was told that it
-- will be sent.
CREATE OR REPLACE FUNCTION conversations.send_message(
    p_app uuid, p_actor text, p_conversation uuid, p_id uuid, p_parts bytea, p_notification text,
    p_origin_connection bigint, p_origin_request bigint, p_contents uuid[] DEFAULT NULL, p_alone boolean DEFAULT true,
    p_by_server boolean DEFAULT false, p_sender_name text DEFAULT NULL,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT ordinal bigint, OUT recipients text[],
    OUT uncounted bigint, OUT hidden bigint, OUT receipt_policy bigint, OUT bad_content uuid, OUT hidden_from text[],
    OUT message conversations.message_row, OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    id_key constant bigint := uuid_hash_extended(p_id, 3);
    c record;
    p record;
BEGIN
    IF p_alone THEN PERFORM pg_advisory_xact_lock(id_key); END IF;
    SELECT x.position, x.message_count, x.last_change_at, x.deleted_position, x.receipt_policy INTO c
    FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    outcome := CASE WHEN p_by_server AND c.deleted_position IS NOT NULL THEN 'deleted' ELSE 'not_found' END;
    IF FOUND AND c.deleted_position IS NULL THEN
        SELECT x.left_position, x.hidden_count,
            (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = p_conversation) AS user_ids,
            EXISTS (SELECT FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_actor) AS has_blocks
        INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
        IF FOUND THEN outcome := CASE WHEN p.left_position IS NULL THEN 'ok' ELSE 'access_denied' END; END IF;
        IF p_by_server AND outcome <> 'ok' THEN
            outcome := conversations.outside_sender(p_app, p_actor, p_sender_name, p_conversation);
            p := conversations.outside_state(p_app, p_actor, p_conversation);
        END IF;
        IF p_contents IS NOT NULL AND outcome = 'ok' THEN
            bad_content := conversations.unsendable_content(p_app, p_actor, p_conversation, p_contents, p_by_server);
            IF bad_content IS NOT NULL THEN outcome := 'unknown_content'; END IF;
        END IF;
        IF outcome = 'ok' AND NOT p_alone AND NOT pg_try_advisory_xact_lock(id_key) THEN outcome := 'busy_id'; END IF;
        IF p_by_server AND outcome = 'ok' THEN outcome := conversations.outcome_of_other_id(p_id); END IF;
        IF outcome = 'ok' THEN
            INSERT INTO conversations.message_place (message_id, app_id, conversation_id, ordinal)
            VALUES (p_id, p_app, p_conversation, c.message_count + 1) ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN outcome := 'id_in_use'; END IF;
        END IF;
    END IF;
    IF outcome <> 'ok' THEN
        outcome := conversations.sending_refusal(p_id, outcome);
        message := conversations.message_in_use(p_app, p_actor, p_id, p_by_server, outcome);
        RETURN;
    END IF;

    "position" := c.position + 1;
    created_at := greatest(clock_timestamp(), c.last_change_at);
    ordinal := c.message_count + 1;
    recipients := p.user_ids;
    hidden := p.hidden_count;
    receipt_policy := c.receipt_policy;
    IF p.has_blocks THEN
        SELECT h.users, h.uncounted, h.hidden INTO hidden_from, number_uncounted, number_hidden
        FROM conversations.hide_new_message(p_app, p_conversation, p_actor, recipients, ordinal, "position") h;
    END IF;
    uncounted := conversations.write_message(
        p_conversation, p_id, p_actor, p_sender_name, p_parts, p_notification, p_origin_connection, p_origin_request,
        "position", created_at, ordinal, receipt_policy, p_contents, hidden_from);
END
$$;

-- Returns a read set with the ordinals of own messages, ascending, each added as write_message does.
CREATE OR REPLACE FUNCTION conversations.add_own(p_read int8multirange, p_ordinals bigint[]) RETURNS int8multirange
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    ordinal bigint;
BEGIN
    FOREACH ordinal IN ARRAY p_ordinals LOOP
        IF ordinal = 1 OR p_read @> (ordinal - 1) THEN
            p_read := p_read + int8multirange(int8range(ordinal, ordinal, '[]'));
        END IF;
    END LOOP;
    RETURN p_read;
END
$$;

-- Returns the messages of send_messages that have no special case, with the positions, ordinals and counts that they
-- get. It locks their ids. `execution` is the number of a message in the arrays.
CREATE OR REPLACE FUNCTION conversations.sendable_messages(
    p_apps uuid[], p_actors text[], p_conversations uuid[], p_ids uuid[])
RETURNS TABLE (
    execution bigint, "position" bigint, ordinal bigint, sent_at timestamptz, receipt_policy bigint,
    recipients text[], uncounted bigint, hidden bigint)
LANGUAGE plpgsql VOLATILE ROWS 16 AS $$
#variable_conflict use_column
DECLARE
    send_time constant timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT u.execution, c.position + row_number() OVER same_conversation,
        c.message_count + row_number() OVER same_conversation, greatest(send_time, c.last_change_at),
        c.receipt_policy, r.user_ids::text[], p.uncounted + row_number() OVER same_sender, p.hidden_count
    FROM unnest(p_apps, p_actors, p_conversations, p_ids) WITH ORDINALITY u(app, actor, conversation, id, execution)
    CROSS JOIN LATERAL (
        SELECT * FROM conversations.conversation x
        WHERE x.id = u.conversation AND x.app_id = u.app AND x.deleted_position IS NULL AND NOT x.has_hidden
        OFFSET 0) c
    CROSS JOIN LATERAL (
        SELECT * FROM conversations.participant x
        WHERE x.conversation_id = u.conversation AND x.user_id = u.actor AND x.left_position IS NULL OFFSET 0) p
    CROSS JOIN LATERAL (
        SELECT * FROM conversations.roster x WHERE x.conversation_id = u.conversation OFFSET 0) r
    WHERE array_position(p_ids, u.id) = u.execution
        AND NOT EXISTS (SELECT FROM conversations.block x WHERE x.app_id = u.app AND x.user_id = u.actor)
        AND pg_try_advisory_xact_lock(uuid_hash_extended(u.id, 3))
        AND NOT EXISTS (SELECT FROM conversations.message_place x WHERE x.message_id = u.id)
    WINDOW same_conversation AS (PARTITION BY u.conversation ORDER BY u.execution),
        same_sender AS (PARTITION BY u.conversation, u.actor ORDER BY u.execution);
END
$$;

-- Sends messages with the effects of as many calls of send_message, by one statement for each table. `execution` is the
-- number of a message in the arrays. A message has no row and no effect if send_message would refuse it, if its sender
-- has blocks, or if a participant may have hidden its conversation.
--
-- The caller sorts the messages by the conversations' lock keys.
CREATE OR REPLACE FUNCTION conversations.send_messages(
    p_apps uuid[], p_actors text[], p_conversations uuid[], p_ids uuid[], p_parts bytea[], p_notifications text[],
    p_origin_connections bigint[], p_origin_requests bigint[])
RETURNS TABLE (
    execution bigint, outcome text, "position" bigint, created_at timestamptz, ordinal bigint, recipients text[],
    uncounted bigint, hidden bigint, receipt_policy bigint, bad_content uuid, hidden_from text[],
    message conversations.message_row, number_uncounted bigint[], number_hidden bigint[])
LANGUAGE plpgsql VOLATILE ROWS 16 AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM unnest(p_apps, p_conversations) u(app, id)
    CROSS JOIN LATERAL (
        SELECT FROM conversations.conversation x WHERE x.id = u.id AND x.app_id = u.app FOR UPDATE) c;
    RETURN QUERY
    WITH sent AS MATERIALIZED (
        SELECT s.*, p_conversations[s.execution] AS conversation, p_actors[s.execution] AS sender,
            p_ids[s.execution] AS id
        FROM conversations.sendable_messages(p_apps, p_actors, p_conversations, p_ids) s
    ), placed AS (
        INSERT INTO conversations.message_place (message_id, app_id, conversation_id, ordinal)
        SELECT s.id, p_apps[s.execution], s.conversation, s.ordinal FROM sent s
    ), moved AS (
        UPDATE conversations.conversation x
        SET position = g.position, last_change_at = g.sent_at, message_count = g.ordinal, last_ordinal = g.ordinal
        FROM (
            SELECT s.conversation, max(s.position) AS position, max(s.sent_at) AS sent_at, max(s.ordinal) AS ordinal
            FROM sent s GROUP BY s.conversation) g
        WHERE x.id = g.conversation
    ), stored AS (
        INSERT INTO conversations.message (
            conversation_id, ordinal, id, position, sender, sent_at, parts, notification, receipt_policy)
        SELECT s.conversation, s.ordinal, s.id, s.position, s.sender, s.sent_at, p_parts[s.execution],
            p_notifications[s.execution], s.receipt_policy
        FROM sent s
    ), logged AS (
        INSERT INTO conversations.change (
            conversation_id, position, kind, actor, origin_connection, origin_request, message_id, ordinal,
            message_count, created_at)
        SELECT s.conversation, s.position, conversations.kind_message_created(), s.sender,
            p_origin_connections[s.execution], p_origin_requests[s.execution], s.id, s.ordinal, s.ordinal, s.sent_at
        FROM sent s
    ), counted AS (
        UPDATE conversations.participant x
        SET uncounted = g.uncounted, read = conversations.add_own(x.read, g.ordinals)
        FROM (
            SELECT s.conversation, s.sender, max(s.uncounted) AS uncounted,
                array_agg(s.ordinal ORDER BY s.ordinal) AS ordinals
            FROM sent s GROUP BY s.conversation, s.sender) g
        WHERE x.conversation_id = g.conversation AND x.user_id = g.sender
    )
    SELECT s.execution, 'ok'::text, s.position, s.sent_at, s.ordinal, s.recipients, s.uncounted, s.hidden,
        s.receipt_policy, NULL::uuid, NULL::text[], NULL::conversations.message_row, NULL::bigint[], NULL::bigint[]
    FROM sent s;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.outside_state, conversations.unsendable_content, conversations.outcome_of_other_id,
    conversations.sending_refusal, conversations.message_in_use, conversations.write_message,
    conversations.send_message, conversations.add_own, conversations.sendable_messages,
    conversations.send_messages TO strata_conversations;
