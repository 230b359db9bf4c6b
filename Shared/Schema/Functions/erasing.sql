-- SPDX-License-Identifier: Apache-2.0
-- Erasing a user: the account at once, then what the user wrote, in small transactions.

-- Erases the account of a user, and notes that the rest is owed. The user's id stays where others need it: in conversations, as the sender of messages that
-- have no parts any more; and with a suspension, which must not end so. Outcomes: 'ok', with the entries in the logs of all who followed the user;
-- 'not_found'. To erase a user again is to do all of it again, for what came since.
CREATE OR REPLACE FUNCTION conversations.erase_user(
    p_app uuid, p_user text, OUT outcome text, OUT told_users text[], OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before conversations.identity;
BEGIN
    -- A sign-in of this user waits for this lock: its session is not one of those that are removed here.
    SELECT i.* INTO before FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user FOR UPDATE;
    IF NOT FOUND THEN outcome := 'not_found'; RETURN; END IF;
    outcome := 'ok';
    DELETE FROM conversations.session s WHERE s.app_id = p_app AND s.user_id = p_user;
    DELETE FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user;
    DELETE FROM conversations.badge b WHERE b.app_id = p_app AND b.user_id = p_user;
    DELETE FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user;
    DELETE FROM conversations.delayed_message d WHERE d.app_id = p_app AND d.actor = p_user;
    PERFORM webhooks.forget_user(p_app, p_user);
    INSERT INTO conversations.erasure AS e (app_id, user_id, requested_at, not_before)
    VALUES (p_app, p_user, clock_timestamp(), clock_timestamp())
    ON CONFLICT (app_id, user_id) DO UPDATE
    SET requested_at = excluded.requested_at, not_before = excluded.not_before, conversation_id = NULL, ordinal = 0;
    IF NOT conversations.has_identity(before) THEN RETURN; END IF;
    UPDATE conversations.identity i SET
        display_name = NULL, avatar_url = NULL, first_name = NULL, last_name = NULL, phone_number = NULL, email_address = NULL, public_key = NULL,
        is_bot = false, metadata = '{}'
    WHERE i.app_id = p_app AND i.user_id = p_user;
    SELECT t.* INTO told_users, told_positions, told_at FROM conversations.tell_identity(p_app, p_user, false) t;
END
$$;

-- Takes the parts of these messages of a user, whose conversation the caller has locked: each is a change of the conversation, made by the user. Users who
-- have left the conversation lose what was kept for them.
CREATE OR REPLACE FUNCTION conversations.erase_parts(p_conversation uuid, p_user text, p_ordinals bigint[])
RETURNS TABLE (
    "position" bigint, created_at timestamptz, message_count bigint, message conversations.message_row, hidden_from text[])
LANGUAGE plpgsql VOLATILE ROWS 100 AS $$
#variable_conflict use_column
DECLARE
    erased record;
    place bigint;
BEGIN
    FOREACH place IN ARRAY p_ordinals LOOP
        UPDATE conversations.message x
        SET parts = '', notification = NULL, updated_at = greatest(clock_timestamp(), coalesce(x.updated_at, x.sent_at) + interval '1 microsecond')
        WHERE x.conversation_id = p_conversation AND x.ordinal = place AND x.sender = p_user
        RETURNING x.id, x.hidden_from INTO erased;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM conversations.kept_parts k WHERE k.conversation_id = p_conversation AND k.ordinal = place;
        PERFORM conversations.refer_contents(p_conversation, place, '{}');
        SELECT a.position, a.created_at, a.message_count INTO erase_parts.position, erase_parts.created_at, erase_parts.message_count
        FROM conversations.append_change(
            p_conversation, 9::smallint, p_user, NULL, NULL, erased.id, place,
            '{"edits": [{"kind": 3}]}'::jsonb
                || CASE WHEN erased.hidden_from IS NULL THEN '{}' ELSE jsonb_build_object('hidden_from', erased.hidden_from) END) a;
        erase_parts.message := conversations.message_at(p_conversation, place);
        erase_parts.hidden_from := erased.hidden_from;
        RETURN NEXT;
    END LOOP;
END
$$;

-- The same in a conversation that is gone for all, without a change: no user is told of it any more.
CREATE OR REPLACE FUNCTION conversations.erase_parts_of_gone(p_conversation uuid, p_user text, p_ordinals bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    place bigint;
BEGIN
    FOREACH place IN ARRAY p_ordinals LOOP
        UPDATE conversations.message x SET parts = '', notification = NULL
        WHERE x.conversation_id = p_conversation AND x.ordinal = place AND x.sender = p_user;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM conversations.kept_parts k WHERE k.conversation_id = p_conversation AND k.ordinal = place;
        PERFORM conversations.refer_contents(p_conversation, place, '{}');
    END LOOP;
END
$$;

-- The end of an erasure: what a session that had ended may have written since, while a gateway still knew it. Push tokens of a later sign-in stay; whom the user
-- follows is not kept with a time, and stays if there was one.
CREATE OR REPLACE FUNCTION conversations.erase_late(p_app uuid, p_user text, p_until timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- All sessions of before are gone.
    signed_in timestamptz := (SELECT min(s.created_at) FROM conversations.session s WHERE s.app_id = p_app AND s.user_id = p_user);
BEGIN
    DELETE FROM conversations.push_token t
    WHERE t.app_id = p_app AND t.user_id = p_user AND t.updated_at <= p_until AND (signed_in IS NULL OR t.updated_at < signed_in);
    IF signed_in IS NULL THEN DELETE FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user; END IF;
    PERFORM webhooks.forget_user(p_app, p_user);
END
$$;

-- Erases what is left when the messages are done: announcements to the user, contents that only the user's messages referred to, and blocks. Returns whether
-- that was all.
--
-- `p_forgets`: this is the end, and where the user sent messages from outside is not needed any more, if it was noted before this time. NULL: it is kept.
CREATE OR REPLACE FUNCTION conversations.erase_rest(
    p_app uuid, p_user text, p_until timestamptz, p_limit bigint, p_forgets timestamptz DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    announcements bigint;
    contents bigint;
    outside bigint;
BEGIN
    DELETE FROM conversations.announcement_recipient r
    WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id IN (
        SELECT x.announcement_id FROM conversations.announcement_recipient x JOIN conversations.announcement a ON a.id = x.announcement_id
        WHERE x.app_id = p_app AND x.user_id = p_user AND a.sent_at <= p_until LIMIT p_limit);
    GET DIAGNOSTICS announcements = ROW_COUNT;
    -- Gateways remove the bytes of what is out of reach, the oldest first.
    UPDATE conversations.content x SET is_doomed = true, unreferenced_since = '-infinity'
    WHERE x.id IN (
        SELECT y.id FROM conversations.content y
        WHERE y.app_id = p_app AND y.owner = p_user AND y.unreferenced_since IS NOT NULL AND y.created_at <= p_until AND NOT y.is_doomed
        LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS contents = ROW_COUNT;
    DELETE FROM conversations.outside_sending o
    WHERE o.app_id = p_app AND o.user_id = p_user AND o.recorded_at <= p_forgets AND o.conversation_id IN (
        SELECT x.conversation_id FROM conversations.outside_sending x
        WHERE x.app_id = p_app AND x.user_id = p_user AND x.recorded_at <= p_forgets LIMIT p_limit);
    GET DIAGNOSTICS outside = ROW_COUNT;
    RETURN announcements < p_limit AND contents < p_limit AND outside < p_limit AND conversations.forget_blocks(p_app, p_user, p_limit) < p_limit;
END
$$;

-- Goes on with the erasure of one user: looks at some messages of one conversation, and takes the parts of at most `p_limit`. The first row has the outcome:
-- 'idle', if nothing is to be done now, or another instance does it; 'working'. The others are changes, all of one conversation.
CREATE OR REPLACE FUNCTION conversations.erase_some(p_limit bigint)
RETURNS TABLE (
    outcome text, app_id uuid, user_id text, conversation_id uuid, "position" bigint, created_at timestamptz, message_count bigint,
    message conversations.message_row, hidden_from text[])
LANGUAGE plpgsql VOLATILE ROWS 100 AS $$
#variable_conflict use_column
DECLARE
    -- How long a gateway may go on with a session that has ended, and more.
    grace CONSTANT interval := '10 seconds';
    -- Messages that are looked at in one transaction.
    span CONSTANT bigint := 1000;
    e conversations.erasure;
    next_conversation uuid;
    position_before bigint;
    is_gone boolean;
    seen record;
    is_last boolean;
BEGIN
    SELECT * INTO e FROM conversations.erasure x WHERE x.not_before <= clock_timestamp() ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED;
    outcome := CASE WHEN FOUND THEN 'working' ELSE 'idle' END;
    RETURN NEXT;
    IF outcome = 'idle' THEN RETURN; END IF;
    outcome := NULL;
    app_id := e.app_id;
    user_id := e.user_id;
    -- Those that the user takes or took part in, and those into which messages were sent for the user from outside.
    next_conversation := least(
        (SELECT u.conversation_id FROM conversations.user_conversation u
        WHERE u.app_id = e.app_id AND u.user_id = e.user_id AND (e.conversation_id IS NULL OR u.conversation_id > e.conversation_id)
        ORDER BY u.conversation_id LIMIT 1),
        (SELECT o.conversation_id FROM conversations.outside_sending o
        WHERE o.app_id = e.app_id AND o.user_id = e.user_id AND (e.conversation_id IS NULL OR o.conversation_id > e.conversation_id)
        ORDER BY o.conversation_id LIMIT 1));

    IF e.conversation_id IS NOT NULL THEN
        -- The lock comes before the look: a message that was being sent is seen, and no position is taken by others meanwhile.
        SELECT c.position, c.deleted_position IS NOT NULL INTO position_before, is_gone FROM conversations.conversation c
        WHERE c.id = e.conversation_id AND c.app_id = e.app_id FOR UPDATE;
        IF FOUND THEN
            SELECT count(*) AS number, max(m.ordinal) AS last,
                (array_agg(m.ordinal ORDER BY m.ordinal) FILTER (
                    WHERE m.sender = e.user_id AND m.sent_at <= e.requested_at + grace AND (m.bytes > 0 OR m.is_notified)))[1:p_limit] AS ordinals
            INTO seen
            FROM (
                SELECT x.ordinal, x.sender, x.sent_at, octet_length(x.parts) AS bytes, x.notification IS NOT NULL AS is_notified
                FROM conversations.message x WHERE x.conversation_id = e.conversation_id AND x.ordinal > e.ordinal ORDER BY x.ordinal LIMIT span) m;
            IF cardinality(seen.ordinals) = p_limit THEN
                e.ordinal := seen.ordinals[p_limit];
            ELSIF seen.number = span THEN
                e.ordinal := seen.last;
            ELSE
                e.ordinal := NULL;
            END IF;
            conversation_id := e.conversation_id;
            IF is_gone AND seen.ordinals IS NOT NULL THEN
                PERFORM conversations.erase_parts_of_gone(e.conversation_id, e.user_id, seen.ordinals);
            ELSIF seen.ordinals IS NOT NULL THEN
                RETURN QUERY
                SELECT NULL::text, e.app_id, e.user_id::text, e.conversation_id, p.position, p.created_at, p.message_count, p.message, p.hidden_from
                FROM conversations.erase_parts(e.conversation_id, e.user_id, seen.ordinals) p;
                PERFORM webhooks.record(
                    e.app_id, e.conversation_id, position_before + 1,
                    (SELECT c.position FROM conversations.conversation c WHERE c.id = e.conversation_id));
            END IF;
        ELSE
            e.ordinal := NULL;
        END IF;
        IF e.ordinal IS NOT NULL THEN
            UPDATE conversations.erasure x SET ordinal = e.ordinal WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
            RETURN;
        END IF;
    END IF;

    -- The second round, which begins when no ended session is used any more, however long the first one took.
    is_last := e.not_before >= e.requested_at + grace;
    IF next_conversation IS NOT NULL THEN
        UPDATE conversations.erasure x SET conversation_id = next_conversation, ordinal = 0 WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
    ELSIF NOT conversations.erase_rest(
        e.app_id, e.user_id, e.requested_at + grace, 1000, CASE WHEN is_last THEN e.requested_at END)
    THEN
        RETURN;
    ELSIF NOT is_last THEN
        -- Once more from the beginning, then.
        UPDATE conversations.erasure x SET conversation_id = NULL, ordinal = 0, not_before = e.requested_at + grace
        WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
    ELSE
        PERFORM conversations.erase_late(e.app_id, e.user_id, e.requested_at + grace);
        DELETE FROM conversations.erasure x WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.erase_user, conversations.erase_parts, conversations.erase_parts_of_gone, conversations.erase_late, conversations.erase_rest,
    conversations.erase_some TO strata_conversations;
