-- SPDX-License-Identifier: Apache-2.0
-- Messages that an app's own server has sent later.

-- Takes a message that is to be sent after a delay, before the end of which its sender is shown as typing for a while (both in milliseconds). Outcomes: 'ok',
-- also if it was taken before; and what send_message would refuse now: 'not_found', 'deleted', 'access_denied', 'unknown_sender', 'id_in_use' of a message
-- elsewhere, 'unknown_content' with the first of `p_contents` that cannot be sent; or 'too_many', if the app would have more than `p_quota` (NULL: no limit)
-- that wait. `is_typing`: from now on.
CREATE OR REPLACE FUNCTION conversations.delay_message(
    p_app uuid, p_actor text, p_conversation uuid, p_id uuid, p_parts bytea, p_notification text, p_contents uuid[], p_sender_name text,
    p_delay bigint, p_typing bigint, p_quota bigint, OUT outcome text, OUT bad_content uuid, OUT is_typing boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    place uuid;
    due timestamptz;
    typing_at timestamptz;
    step CONSTANT interval := interval '8 seconds';
BEGIN
    is_typing := false;
    SELECT x.conversation_id INTO place FROM conversations.message_place x WHERE x.message_id = p_id;
    IF FOUND THEN
        outcome := CASE WHEN place = p_conversation THEN 'ok' ELSE 'id_in_use' END;
        RETURN;
    END IF;
    PERFORM FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app AND x.deleted_position IS NULL;
    IF NOT FOUND THEN
        outcome := conversations.absence(p_app, p_conversation);
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
    IF EXISTS (SELECT FROM conversations.delayed_message x WHERE x.id = p_id) THEN RETURN; END IF;
    IF (SELECT count(*) FROM (SELECT FROM conversations.delayed_message x WHERE x.app_id = p_app LIMIT p_quota) x) >= p_quota THEN
        outcome := 'too_many';
        RETURN;
    END IF;
    due := clock_timestamp() + p_delay * interval '1 millisecond';
    typing_at := due - p_typing * interval '1 millisecond';
    is_typing := p_typing > 0 AND p_actor IS NOT NULL AND typing_at <= clock_timestamp();
    INSERT INTO conversations.delayed_message (
        id, app_id, conversation_id, actor, sender_name, parts, notification, contents, due_at, next_at)
    VALUES (
        p_id, p_app, p_conversation, p_actor, p_sender_name, p_parts, p_notification, p_contents, due,
        CASE WHEN p_typing = 0 OR p_actor IS NULL THEN due WHEN is_typing THEN least(due, clock_timestamp() + step) ELSE typing_at END)
    ON CONFLICT DO NOTHING;
    is_typing := is_typing AND FOUND;
END
$$;

-- Does what is due first among the delayed messages. Kinds: 'typing', the sender is typing, to be said now; 'sent', with what send_message answered: an outcome
-- other than 'ok' means that the message was dropped, since its conversation is gone or its sender has left; 'wait', nothing is due, and `next_in`
-- microseconds until something is (NULL: there is nothing). Several may ask at once: each is given another message.
CREATE OR REPLACE FUNCTION conversations.work_off_delayed(
    OUT kind text, OUT next_in bigint, OUT app_id uuid, OUT conversation_id uuid, OUT message_id uuid, OUT actor text, OUT sender_name text,
    OUT parts bytea, OUT notification text, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT ordinal bigint,
    OUT recipients text[], OUT uncounted bigint, OUT hidden bigint, OUT receipt_policy bigint, OUT hidden_from text[],
    OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    d conversations.delayed_message;
BEGIN
    SELECT * INTO d FROM conversations.delayed_message x
    WHERE x.next_at <= clock_timestamp() ORDER BY x.next_at, x.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        kind := 'wait';
        next_in := (
            SELECT greatest(0, (extract(epoch FROM x.next_at - clock_timestamp()) * 1000000)::bigint)
            FROM conversations.delayed_message x ORDER BY x.next_at LIMIT 1);
        RETURN;
    END IF;
    app_id := d.app_id;
    conversation_id := d.conversation_id;
    message_id := d.id;
    actor := d.actor;
    sender_name := d.sender_name;
    IF d.due_at > clock_timestamp() THEN
        kind := 'typing';
        -- Clients forget a typist of whom they hear nothing for longer than this.
        UPDATE conversations.delayed_message x SET next_at = least(d.due_at, clock_timestamp() + interval '8 seconds') WHERE x.id = d.id;
        RETURN;
    END IF;
    kind := 'sent';
    parts := d.parts;
    notification := d.notification;
    DELETE FROM conversations.delayed_message x WHERE x.id = d.id;
    SELECT s.outcome, s.position, s.created_at, s.ordinal, s.recipients, s.uncounted, s.hidden, s.receipt_policy,
        s.hidden_from, s.number_uncounted, s.number_hidden
    INTO work_off_delayed.outcome, work_off_delayed.position, work_off_delayed.created_at, work_off_delayed.ordinal, work_off_delayed.recipients,
        work_off_delayed.uncounted, work_off_delayed.hidden, work_off_delayed.receipt_policy, work_off_delayed.hidden_from,
        work_off_delayed.number_uncounted, work_off_delayed.number_hidden
    FROM conversations.send_message(
        d.app_id, d.actor, d.conversation_id, d.id, d.parts, d.notification, NULL, NULL, d.contents, true, true, d.sender_name) s;
END
$$;

GRANT EXECUTE ON FUNCTION conversations.delay_message, conversations.work_off_delayed TO strata_conversations;
