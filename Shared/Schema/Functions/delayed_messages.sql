-- SPDX-License-Identifier: Apache-2.0
-- Messages that an app's own server has sent later.

-- After how long a typist is announced again: stock clients forget a typist of whom they hear nothing for 6 to 11 seconds.
CREATE OR REPLACE FUNCTION conversations.typing_step() RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN interval '2500 milliseconds';

-- Takes a message that is to be sent after a delay, before the end of which its sender is shown as typing for a while (both in milliseconds). Outcomes: 'ok',
-- also if it was taken before; and what send_message would refuse now: 'not_found', 'deleted', 'access_denied', 'unknown_sender', 'id_in_use' if a
-- conversation, an announcement, or a message that is or waits elsewhere has the id, 'unknown_content' with the first of `p_contents` that cannot be sent; or 'too_many', if the app would have more than `p_quota` (NULL: no
-- limit) that wait. `is_typing`: from now on.
CREATE OR REPLACE FUNCTION conversations.delay_message(
    p_app uuid, p_actor text, p_conversation uuid, p_id uuid, p_parts bytea, p_notification text, p_contents uuid[], p_sender_name text,
    p_delay bigint, p_typing bigint, p_quota bigint, OUT outcome text, OUT bad_content uuid, OUT is_typing boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    place uuid;
    due timestamptz;
    typing_at timestamptz;
BEGIN
    is_typing := false;
    -- Erasing the sender waits for this lock, and removes the message; or this waits for the erasing.
    PERFORM FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_actor FOR KEY SHARE;
    PERFORM FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app AND x.deleted_position IS NULL;
    IF NOT FOUND THEN
        outcome := conversations.absence(p_app, p_conversation);
        RETURN;
    END IF;
    -- As send_message does: nothing is sent or scheduled under this id meanwhile.
    PERFORM pg_advisory_xact_lock(uuid_hash_extended(p_id, 3));
    place := coalesce(
        (SELECT x.conversation_id FROM conversations.message_place x WHERE x.message_id = p_id),
        (SELECT x.conversation_id FROM conversations.delayed_message x WHERE x.id = p_id));
    IF place IS NOT NULL THEN
        outcome := CASE WHEN place = p_conversation THEN 'ok' ELSE 'id_in_use' END;
        RETURN;
    END IF;
    IF conversations.is_other_id(p_id) THEN
        outcome := 'id_in_use';
        RETURN;
    END IF;
    PERFORM FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor AND x.left_position IS NULL;
    outcome := CASE WHEN FOUND THEN 'ok' ELSE conversations.outside_sender(p_app, p_actor, p_sender_name) END;
    IF outcome <> 'ok' THEN RETURN; END IF;
    IF p_contents IS NOT NULL THEN
        bad_content := conversations.unsendable_by_server(p_app, p_actor, p_conversation, p_contents);
        IF bad_content IS NOT NULL THEN
            outcome := 'unknown_content';
            RETURN;
        END IF;
    END IF;
    PERFORM conversations.lock_quota(p_app, '', 'delayed_message');
    IF (SELECT count(*) FROM (SELECT FROM conversations.delayed_message x WHERE x.app_id = p_app LIMIT p_quota) x) >= p_quota THEN
        outcome := 'too_many';
        RETURN;
    END IF;
    due := clock_timestamp() + p_delay * interval '1 millisecond';
    -- No message refers to it until then: it must not be swept before.
    UPDATE conversations.content x SET unreferenced_since = due WHERE x.id = ANY (p_contents) AND x.unreferenced_since IS NOT NULL;
    typing_at := due - p_typing * interval '1 millisecond';
    is_typing := p_typing > 0 AND p_actor IS NOT NULL AND typing_at <= clock_timestamp();
    INSERT INTO conversations.delayed_message (
        id, app_id, conversation_id, actor, sender_name, parts, notification, contents, due_at, next_at, typing_at)
    VALUES (
        p_id, p_app, p_conversation, p_actor, p_sender_name, p_parts, p_notification, p_contents, due, due,
        CASE WHEN p_typing = 0 OR p_actor IS NULL THEN NULL WHEN is_typing THEN clock_timestamp() + conversations.typing_step() ELSE typing_at END);
END
$$;

-- Apps with delayed messages that are due, at most `p_apps`, in the order of their ids behind `p_after`, and from the first app again at the end. `ids`: the
-- first `p_limit` messages that are to be sent, in their order; `is_typing`: senders are to be shown as typing. The last row has no app: `next_in` is the time
-- until anything is due, in microseconds, NULL if no message waits.
CREATE OR REPLACE FUNCTION conversations.due_delayed(p_after uuid, p_apps bigint, p_limit bigint)
RETURNS TABLE (app_id uuid, ids uuid[], is_typing boolean, next_in bigint)
LANGUAGE plpgsql STABLE ROWS 10 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    -- Apps that one call looks at. Most of them have messages that are not due yet.
    most_looks CONSTANT int := 1000;
    next timestamptz := least(
        (SELECT x.typing_at FROM conversations.delayed_message x WHERE x.typing_at IS NOT NULL ORDER BY x.typing_at LIMIT 1),
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
        due_delayed.ids := CASE WHEN seen.next_at <= moment THEN ARRAY(
            SELECT x.id FROM conversations.delayed_message x
            WHERE x.app_id = place AND x.next_at <= moment ORDER BY x.app_id, x.next_at, x.due_at, x.id LIMIT p_limit) ELSE '{}' END;
        due_delayed.is_typing := EXISTS (SELECT FROM conversations.delayed_message x WHERE x.app_id = place AND x.typing_at <= moment);
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

-- When the first message that waits in the conversation of another one, and is due before it, is tried; NULL: none is due before it.
CREATE OR REPLACE FUNCTION conversations.earlier_delayed(d conversations.delayed_message) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN (
        SELECT x.next_at FROM conversations.delayed_message x
        WHERE x.app_id = d.app_id AND x.conversation_id = d.conversation_id AND (x.due_at, x.id) < (d.due_at, d.id)
        ORDER BY x.app_id, x.conversation_id, x.due_at, x.id LIMIT 1);
END
$$;

-- Sends a delayed message that is due. Outcomes: what send_message answers, where anything but 'ok' means that the message was dropped, since its conversation
-- is gone or its sender has left; 'none', if it is not due any more, or another instance sends it or an earlier one of its conversation. A conversation that is
-- locked for long is an error.
CREATE OR REPLACE FUNCTION conversations.send_delayed(
    p_id uuid,
    OUT outcome text, OUT app_id uuid, OUT conversation_id uuid, OUT message_id uuid, OUT actor text, OUT sender_name text,
    OUT parts bytea, OUT notification text, OUT "position" bigint, OUT created_at timestamptz, OUT ordinal bigint,
    OUT recipients text[], OUT uncounted bigint, OUT hidden bigint, OUT receipt_policy bigint, OUT hidden_from text[],
    OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE SET lock_timeout = '500ms' AS $$
#variable_conflict use_column
DECLARE
    d conversations.delayed_message;
    earlier timestamptz;
BEGIN
    SELECT * INTO d FROM conversations.delayed_message x WHERE x.id = p_id AND x.next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        outcome := 'none';
        RETURN;
    END IF;
    -- One that was put off, or that another instance is sending: its deletion is seen when its transaction has ended, and then it is in the conversation.
    earlier := conversations.earlier_delayed(d);
    IF earlier IS NOT NULL THEN
        -- What waits for one that was put off becomes due with it, and is not looked at until then.
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
    INTO send_delayed.outcome, send_delayed.position, send_delayed.created_at, send_delayed.ordinal, send_delayed.recipients,
        send_delayed.uncounted, send_delayed.hidden, send_delayed.receipt_policy, send_delayed.hidden_from,
        send_delayed.number_uncounted, send_delayed.number_hidden
    FROM conversations.send_message(
        d.app_id, d.actor, d.conversation_id, d.id, d.parts, d.notification, NULL, NULL, d.contents, true, true, d.sender_name) s;
END
$$;

-- Has a delayed message that could not be sent wait for a second more, with all others of its conversation that are due by then: they keep their order.
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

-- Goes on with the typing of those of an app who are to be shown so, at most `p_limit` of them. Actions: 'started', to be said once more; 'finished' of those whose
-- conversation is gone, or who do not take part in it any more and are no bot: their typing is over. A message that is due ends it in any case.
CREATE OR REPLACE FUNCTION conversations.type_delayed(p_app uuid, p_limit bigint) RETURNS TABLE (conversation_id uuid, actor text, action text)
LANGUAGE plpgsql VOLATILE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH due AS MATERIALIZED (
        SELECT x.id, x.app_id, x.conversation_id, x.actor FROM conversations.delayed_message x
        WHERE x.app_id = p_app AND x.typing_at <= moment ORDER BY x.app_id, x.typing_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), judged AS MATERIALIZED (
        SELECT d.id, c.is_there AND coalesce(p.is_there, i.is_bot, false) AS may_type
        FROM due d
        -- Each is looked up by itself.
        LEFT JOIN LATERAL (
            SELECT true AS is_there FROM conversations.conversation x
            WHERE x.id = d.conversation_id AND x.app_id = d.app_id AND x.deleted_position IS NULL OFFSET 0) c ON true
        LEFT JOIN LATERAL (
            SELECT true AS is_there FROM conversations.participant x
            WHERE x.conversation_id = d.conversation_id AND x.user_id = d.actor AND x.left_position IS NULL OFFSET 0) p ON true
        LEFT JOIN LATERAL (
            SELECT x.is_bot FROM conversations.identity x WHERE x.app_id = d.app_id AND x.user_id = d.actor OFFSET 0) i ON true
    )
    UPDATE conversations.delayed_message m
    SET typing_at = CASE WHEN j.may_type AND moment + conversations.typing_step() < m.due_at THEN moment + conversations.typing_step() END
    FROM judged j WHERE m.id = j.id
    RETURNING m.conversation_id, m.actor::text, CASE WHEN j.may_type IS NOT TRUE THEN 'finished' WHEN m.due_at > moment THEN 'started' END;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.typing_step, conversations.delay_message, conversations.due_delayed, conversations.earlier_delayed, conversations.send_delayed,
    conversations.put_off_delayed, conversations.type_delayed TO strata_conversations;
