-- SPDX-License-Identifier: Apache-2.0
-- Delayed messages of an app's own server.

-- Returns the interval at which typing is announced again. Stock clients drop a typist after 6 to 11 seconds without a
-- signal.
CREATE OR REPLACE FUNCTION conversations.typing_step() RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN interval '2500 milliseconds';

-- Stores a message that is to be sent after a delay. For a time before its end, the sender is shown as typing (both in
-- milliseconds). `is_typing` is true if the typing begins now.
--
-- Outcomes:
-- - 'ok': also if the message is already stored.
-- - 'not_found', 'deleted', 'access_denied', 'unknown_sender': send_message would refuse the message now.
-- - 'id_in_use': a conversation, an announcement, or a message or delayed message elsewhere has the id.
-- - 'unknown_content': with the first of `p_contents` that cannot be sent.
-- - 'too_many': the app would have more than `p_quota` delayed messages (NULL: no limit).
CREATE OR REPLACE FUNCTION conversations.delay_message(
    p_app uuid, p_actor text, p_conversation uuid, p_id uuid, p_parts bytea, p_notification text, p_contents uuid[],
    p_sender_name text, p_delay bigint, p_typing bigint, p_quota bigint, OUT outcome text, OUT bad_content uuid,
    OUT is_typing boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    place uuid;
    due timestamptz;
    typing_at timestamptz;
BEGIN
    is_typing := false;
    -- Erasing the sender waits for this lock and then deletes the message, or this transaction waits for the erasure.
    PERFORM FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_actor FOR KEY SHARE;
    PERFORM FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app
        AND x.deleted_position IS NULL;
    IF NOT FOUND THEN
        outcome := conversations.absence(p_app, p_conversation);
        RETURN;
    END IF;
    -- send_message takes the same lock, so nothing is sent or scheduled under this id in between.
    PERFORM pg_advisory_xact_lock(uuid_hash_extended(p_id, 3));
    place := coalesce(
        (SELECT x.conversation_id FROM conversations.message_place x WHERE x.message_id = p_id),
        (SELECT x.conversation_id FROM conversations.delayed_message x WHERE x.id = p_id));
    IF place IS NOT NULL THEN
        outcome := CASE WHEN place = p_conversation THEN 'ok' ELSE 'id_in_use' END;
        RETURN;
    END IF;
    outcome := conversations.outcome_of_other_id(p_id);
    IF outcome <> 'ok' THEN RETURN; END IF;
    PERFORM FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor
        AND x.left_position IS NULL;
    outcome := CASE WHEN FOUND THEN 'ok' ELSE conversations.outside_sender(p_app, p_actor, p_sender_name) END;
    IF outcome <> 'ok' THEN RETURN; END IF;
    IF p_contents IS NOT NULL THEN
        bad_content := conversations.unsendable_by_server(p_app, p_actor, p_conversation, p_contents);
        IF bad_content IS NOT NULL THEN outcome := 'unknown_content'; RETURN; END IF;
    END IF;
    PERFORM conversations.lock_quota(p_app, '', 'delayed_message');
    IF (SELECT count(*)
        FROM (SELECT FROM conversations.delayed_message x WHERE x.app_id = p_app LIMIT p_quota) x) >= p_quota
    THEN
        outcome := 'too_many';
        RETURN;
    END IF;
    due := clock_timestamp() + p_delay * interval '1 millisecond';
    -- No message refers to the content until then. It must not be swept before.
    UPDATE conversations.content x SET unreferenced_since = due
    WHERE x.id = ANY (p_contents) AND x.unreferenced_since IS NOT NULL;
    typing_at := due - p_typing * interval '1 millisecond';
    is_typing := p_typing > 0 AND p_actor IS NOT NULL AND typing_at <= clock_timestamp();
    INSERT INTO conversations.delayed_message (
        id, app_id, conversation_id, actor, sender_name, parts, notification, contents, due_at, next_at, typing_at)
    VALUES (
        p_id, p_app, p_conversation, p_actor, p_sender_name, p_parts, p_notification, p_contents, due, due,
        CASE WHEN p_typing = 0 OR p_actor IS NULL THEN NULL
            WHEN is_typing THEN clock_timestamp() + conversations.typing_step() ELSE typing_at END);
END
$$;

-- Returns up to `p_apps` apps with due delayed messages, in the order of their ids after `p_after`, and then from the
-- first app on. `ids`: the first `p_limit` due messages, in order. `is_typing`: senders are to be shown as typing. The
-- last row has no app: `next_in` is the time until anything is due, in microseconds; NULL: no message is pending.
CREATE OR REPLACE FUNCTION conversations.due_delayed(p_after uuid, p_apps bigint, p_limit bigint)
RETURNS TABLE (app_id uuid, ids uuid[], is_typing boolean, next_in bigint)
LANGUAGE plpgsql STABLE ROWS 10 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    -- The maximum number of apps that one call examines. Most have messages that are not due yet.
    most_looks CONSTANT int := 1000;
    next timestamptz := least(
        (SELECT x.typing_at FROM conversations.delayed_message x WHERE x.typing_at IS NOT NULL
            ORDER BY x.typing_at LIMIT 1),
        (SELECT x.next_at FROM conversations.delayed_message x ORDER BY x.next_at LIMIT 1));
    place uuid := p_after;
    seen record;
    number bigint := 0;
    is_again boolean := false;
BEGIN
    FOR look IN 1..most_looks LOOP
        EXIT WHEN number = p_apps OR next > moment;
        SELECT x.app_id, x.next_at INTO seen FROM conversations.delayed_message x
        WHERE x.app_id > place ORDER BY x.app_id, x.next_at, x.due_at, x.id LIMIT 1;
        IF NOT FOUND THEN
            EXIT WHEN is_again;
            is_again := true;
            place := '00000000-0000-0000-0000-000000000000';
            CONTINUE;
        END IF;
        EXIT WHEN is_again AND seen.app_id > p_after;
        place := seen.app_id;
        CONTINUE WHEN conversations.is_away(place);
        due_delayed.ids := CASE WHEN seen.next_at <= moment THEN ARRAY(
            SELECT x.id FROM conversations.delayed_message x
            WHERE x.app_id = place AND x.next_at <= moment ORDER BY x.app_id, x.next_at, x.due_at, x.id LIMIT p_limit)
                ELSE '{}' END;
        due_delayed.is_typing := EXISTS (SELECT FROM conversations.delayed_message x
            WHERE x.app_id = place AND x.typing_at <= moment);
        CONTINUE WHEN due_delayed.ids = '{}' AND NOT due_delayed.is_typing;
        number := number + 1;
        due_delayed.app_id := place;
        RETURN NEXT;
    END LOOP;
    due_delayed.app_id := NULL;
    due_delayed.ids := NULL;
    due_delayed.is_typing := NULL;
    IF next IS NOT NULL THEN due_delayed.next_in := extract(epoch FROM greatest('0', next - moment)) * 1000000; END IF;
    RETURN NEXT;
END
$$;

-- Returns the time of the next attempt of the first delayed message that precedes this one in its conversation; NULL:
-- none.
CREATE OR REPLACE FUNCTION conversations.earlier_delayed(d conversations.delayed_message) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN (
        SELECT x.next_at FROM conversations.delayed_message x
        WHERE x.app_id = d.app_id AND x.conversation_id = d.conversation_id AND (x.due_at, x.id) < (d.due_at, d.id)
        ORDER BY x.app_id, x.conversation_id, x.due_at, x.id LIMIT 1);
END
$$;

-- Sends a due delayed message. If the conversation stays locked, the call fails.
--
-- Outcomes:
-- - those of send_message. Any other than 'ok' means that the message was dropped, because its conversation is gone or
--   its sender has left.
-- - 'none': the message is not due any longer, or another instance sends it or an earlier one of its conversation.
CREATE OR REPLACE FUNCTION conversations.send_delayed(
    p_id uuid,
    OUT outcome text, OUT app_id uuid, OUT conversation_id uuid, OUT message_id uuid, OUT actor text,
    OUT sender_name text, OUT parts bytea, OUT notification text, OUT "position" bigint, OUT created_at timestamptz,
    OUT ordinal bigint, OUT recipients text[], OUT uncounted bigint, OUT hidden bigint, OUT receipt_policy bigint,
    OUT hidden_from text[], OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE SET lock_timeout = '500ms' AS $$
#variable_conflict use_column
DECLARE
    d conversations.delayed_message;
    earlier timestamptz;
BEGIN
    SELECT * INTO d FROM conversations.delayed_message x
    WHERE x.id = p_id AND x.next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        outcome := 'none';
        RETURN;
    END IF;
    -- An earlier message was postponed, or another instance is sending it. Its deletion becomes visible when that
    -- transaction commits, and then it is in the conversation.
    earlier := conversations.earlier_delayed(d);
    IF earlier IS NOT NULL THEN
        -- A message behind a postponed one becomes due together with it, and is not examined before.
        UPDATE conversations.delayed_message x SET next_at = earlier WHERE x.id = d.id AND x.next_at < earlier;
        outcome := 'none';
        RETURN;
    END IF;
    app_id := d.app_id;
    conversation_id := d.conversation_id;
    message_id := d.id;
    actor := d.actor;
    sender_name := d.sender_name;
    parts := d.parts;
    notification := d.notification;
    DELETE FROM conversations.delayed_message x WHERE x.id = d.id;
    SELECT s.outcome, s.position, s.created_at, s.ordinal, s.recipients, s.uncounted, s.hidden, s.receipt_policy,
        s.hidden_from, s.number_uncounted, s.number_hidden
    INTO send_delayed.outcome, send_delayed.position, send_delayed.created_at, send_delayed.ordinal,
        send_delayed.recipients,
        send_delayed.uncounted, send_delayed.hidden, send_delayed.receipt_policy, send_delayed.hidden_from,
        send_delayed.number_uncounted, send_delayed.number_hidden
    FROM conversations.send_message(
        d.app_id, d.actor, d.conversation_id, d.id, d.parts, d.notification, NULL, NULL, d.contents, true, true,
        d.sender_name) s;
END
$$;

-- Postpones a delayed message that could not be sent by one second. All other messages of its conversation that are due
-- by then are postponed as well, so that they keep their order.
CREATE OR REPLACE FUNCTION conversations.put_off_delayed(p_id uuid) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    later CONSTANT timestamptz := clock_timestamp() + interval '1 second';
BEGIN
    UPDATE conversations.delayed_message d SET next_at = later
    WHERE d.id IN (
        SELECT y.id FROM conversations.delayed_message x
        JOIN conversations.delayed_message y ON y.app_id = x.app_id AND y.conversation_id = x.conversation_id
        WHERE x.id = p_id AND y.next_at < later FOR UPDATE OF y SKIP LOCKED);
END
$$;

-- Advances the typing of up to `p_limit` senders of an app. Actions: 'started' announces the typing again; 'finished'
-- ends it for senders whose conversation is gone, or who do not take part any longer and are no bots. A due message
-- ends it in any case.
CREATE OR REPLACE FUNCTION conversations.type_delayed(p_app uuid, p_limit bigint)
RETURNS TABLE (conversation_id uuid, actor text, action text)
LANGUAGE plpgsql VOLATILE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH due AS MATERIALIZED (
        SELECT x.id, x.app_id, x.conversation_id, x.actor FROM conversations.delayed_message x
        WHERE x.app_id = p_app AND x.typing_at <= moment
        ORDER BY x.app_id, x.typing_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), judged AS MATERIALIZED (
        SELECT d.id, c.is_there AND coalesce(p.is_there, i.is_bot, false) AS may_type
        FROM due d
        -- Each row is found by an index lookup.
        LEFT JOIN LATERAL (
            SELECT true AS is_there FROM conversations.conversation x
            WHERE x.id = d.conversation_id AND x.app_id = d.app_id AND x.deleted_position IS NULL OFFSET 0) c ON true
        LEFT JOIN LATERAL (
            SELECT true AS is_there FROM conversations.participant x
            WHERE x.conversation_id = d.conversation_id AND x.user_id = d.actor
                AND x.left_position IS NULL OFFSET 0) p ON true
        LEFT JOIN LATERAL (
            SELECT x.is_bot FROM conversations.identity x
            WHERE x.app_id = d.app_id AND x.user_id = d.actor OFFSET 0) i ON true
    )
    UPDATE conversations.delayed_message m
    SET typing_at = CASE WHEN j.may_type AND moment + conversations.typing_step() < m.due_at THEN moment
        + conversations.typing_step() END
    FROM judged j WHERE m.id = j.id
    RETURNING m.conversation_id, m.actor::text, CASE WHEN j.may_type IS NOT TRUE THEN 'finished'
        WHEN m.due_at > moment THEN 'started' END;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.typing_step, conversations.delay_message, conversations.due_delayed, conversations.earlier_delayed,
    conversations.send_delayed, conversations.put_off_delayed, conversations.type_delayed TO strata_conversations;
