-- SPDX-License-Identifier: Apache-2.0
-- Erasure of a user: the account immediately, and then the user's messages in small transactions.

-- Erases the account of a user and stores the pending erasure of the rest. The user's id stays where others need it: in
-- conversations, as the sender of messages without parts, and for a suspension, which must persist. Outcomes: 'ok',
-- with the entries in the logs of all followers; 'not_found'. Erasing a user again repeats everything, for data written
-- since.
CREATE OR REPLACE FUNCTION conversations.erase_user(
    p_app uuid, p_user text, OUT outcome text, OUT told_users text[], OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before conversations.identity;
BEGIN
    -- A sign-in of this user waits for this lock, so its new session is not removed here.
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
        display_name = NULL, avatar_url = NULL, first_name = NULL, last_name = NULL, phone_number = NULL,
        email_address = NULL, public_key = NULL,
        is_bot = false, metadata = '{}'
    WHERE i.app_id = p_app AND i.user_id = p_user;
    SELECT t.* INTO told_users, told_positions, told_at FROM conversations.tell_identity(p_app, p_user, false) t;
END
$$;

-- Erases the parts of these messages of a user. The caller has locked their conversation. Each erasure is a change of
-- the conversation, made by the user. The former parts that users who have left still see are deleted.
CREATE OR REPLACE FUNCTION conversations.erase_parts(p_conversation uuid, p_user text, p_ordinals bigint[])
RETURNS TABLE (
    "position" bigint, created_at timestamptz, message_count bigint, message conversations.message_row,
    hidden_from text[])
LANGUAGE plpgsql VOLATILE ROWS 100 AS $$
#variable_conflict use_column
DECLARE
    erased record;
    place bigint;
BEGIN
    -- Lock the contents of all messages together, because locking per message would break the common order.
    PERFORM conversations.lock_contents(conversations.contents_of(p_conversation, p_ordinals));
    FOREACH place IN ARRAY p_ordinals LOOP
        UPDATE conversations.message x
        SET parts = '', notification = NULL, updated_at = greatest(
            clock_timestamp(), coalesce(x.updated_at, x.sent_at) + interval '1 microsecond')
        WHERE x.conversation_id = p_conversation AND x.ordinal = place AND x.sender = p_user
        RETURNING x.id, x.hidden_from INTO erased;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM conversations.kept_parts k WHERE k.conversation_id = p_conversation AND k.ordinal = place;
        PERFORM conversations.refer_contents(p_conversation, place, '{}');
        SELECT a.position, a.created_at, a.message_count
        INTO erase_parts.position, erase_parts.created_at, erase_parts.message_count
        FROM conversations.append_change(
            p_conversation, conversations.kind_parts(), p_user, NULL, NULL, erased.id, place,
            '{"edits": [{"kind": 3}]}'::jsonb
                || CASE WHEN erased.hidden_from IS NULL THEN '{}'
                    ELSE jsonb_build_object('hidden_from', erased.hidden_from) END) a;
        erase_parts.message := conversations.message_at(p_conversation, place);
        erase_parts.hidden_from := erased.hidden_from;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Erases the parts of messages in a conversation that was deleted for all. No change is written, because no user sees
-- it any longer.
CREATE OR REPLACE FUNCTION conversations.erase_parts_of_gone(p_conversation uuid, p_user text, p_ordinals bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    place bigint;
BEGIN
    PERFORM conversations.lock_contents(conversations.contents_of(p_conversation, p_ordinals));
    FOREACH place IN ARRAY p_ordinals LOOP
        UPDATE conversations.message x SET parts = '', notification = NULL
        WHERE x.conversation_id = p_conversation AND x.ordinal = place AND x.sender = p_user;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM conversations.kept_parts k WHERE k.conversation_id = p_conversation AND k.ordinal = place;
        PERFORM conversations.refer_contents(p_conversation, place, '{}');
    END LOOP;
END
$$;

-- Completes an erasure: deletes data that an ended session wrote while a gateway still accepted it. Push tokens of a
-- later sign-in stay. Follows have no time, so they stay if the user has signed in since.
CREATE OR REPLACE FUNCTION conversations.erase_late(p_app uuid, p_user text, p_until timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- The time of the first sign-in since the erasure. All earlier sessions are gone.
    signed_in timestamptz := (SELECT min(s.created_at) FROM conversations.session s
        WHERE s.app_id = p_app AND s.user_id = p_user);
BEGIN
    DELETE FROM conversations.push_token t
    WHERE t.app_id = p_app AND t.user_id = p_user AND t.updated_at <= p_until
        AND (signed_in IS NULL OR t.updated_at < signed_in);
    IF signed_in IS NULL THEN DELETE FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user; END IF;
    PERFORM webhooks.forget_user(p_app, p_user);
END
$$;

-- After the messages, erases the remaining data until `p_until`: announcements to and by the user, contents that only
-- the user's messages referred to, and blocks. Blocks made since a later sign-in stay. Returns true if nothing is left.
--
-- `p_forgets`: the erasure is ending, so records of outside messages from before this time are deleted. NULL: they are
-- kept.
CREATE OR REPLACE FUNCTION conversations.erase_rest(
    p_app uuid, p_user text, p_until timestamptz, p_limit bigint, p_forgets timestamptz DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- All earlier sessions are gone. Without a session, the second value is NULL and has no effect.
    blocks_until timestamptz := least(
        p_until, (SELECT min(s.created_at) FROM conversations.session s WHERE s.app_id = p_app AND s.user_id = p_user));
    announcements bigint;
    contents bigint;
    outside bigint;
    blocks bigint;
BEGIN
    announcements := conversations.forget_announcements(p_app, p_user, p_limit, p_until);
    -- Gateways remove the bytes of doomed contents, oldest first.
    UPDATE conversations.content x SET is_doomed = true, unreferenced_since = '-infinity'
    WHERE x.id IN (
        SELECT y.id FROM conversations.content y
        WHERE y.app_id = p_app AND y.owner = p_user AND y.unreferenced_since IS NOT NULL AND y.created_at <= p_until
            AND NOT y.is_doomed
        LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS contents = ROW_COUNT;
    DELETE FROM conversations.outside_sending o
    WHERE o.app_id = p_app AND o.user_id = p_user AND o.recorded_at <= p_forgets AND o.conversation_id IN (
        SELECT x.conversation_id FROM conversations.outside_sending x
        WHERE x.app_id = p_app AND x.user_id = p_user AND x.recorded_at <= p_forgets LIMIT p_limit);
    GET DIAGNOSTICS outside = ROW_COUNT;
    blocks := greatest(
        conversations.forget_blocks(p_app, p_user, p_limit, blocks_until),
        conversations.forget_logged_blocks(p_app, p_user, p_limit, blocks_until));
    RETURN greatest(announcements, contents, outside, blocks) < p_limit;
END
$$;

-- Returns up to `p_apps` apps with due erasures, in the order of their ids after `p_after`, and then from the first app
-- on.
CREATE OR REPLACE FUNCTION conversations.apps_with_erasures(p_after uuid, p_apps bigint) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
    -- The maximum number of apps that one call examines. Some have erasures that are not due yet.
    most_looks CONSTANT int := 1000;
    place uuid := p_after;
    seen record;
    found_apps uuid[] := '{}';
    is_again boolean := false;
BEGIN
    FOR look IN 1..most_looks LOOP
        EXIT WHEN cardinality(found_apps) = p_apps;
        SELECT x.app_id, x.not_before INTO seen FROM conversations.erasure x
        WHERE x.app_id > place ORDER BY x.app_id, x.not_before LIMIT 1;
        IF NOT FOUND THEN
            EXIT WHEN is_again;
            is_again := true;
            place := '00000000-0000-0000-0000-000000000000';
            CONTINUE;
        END IF;
        EXIT WHEN is_again AND seen.app_id > p_after;
        place := seen.app_id;
        IF seen.not_before <= moment AND NOT conversations.is_away(place) THEN
            found_apps := found_apps || place;
        END IF;
    END LOOP;
    RETURN found_apps;
END
$$;

-- Returns the rows (ctid) of up to `p_limit` erasures of an app, longest due first.
CREATE OR REPLACE FUNCTION conversations.due_erasures(p_app uuid, p_limit bigint) RETURNS tid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    moment CONSTANT timestamptz := clock_timestamp();
BEGIN
    RETURN ARRAY(
        SELECT x.ctid FROM conversations.erasure x
        WHERE x.app_id = p_app AND x.not_before <= moment ORDER BY x.app_id, x.not_before LIMIT p_limit);
END
$$;

-- Returns the time up to which messages are erased. In the first round, during the grace period, all messages are
-- erased unless the user has returned. Messages can have times ahead of the clock, because times never decrease in the
-- order of messages, and the clock may have been set back.
CREATE OR REPLACE FUNCTION conversations.erased_until(e conversations.erasure, p_grace interval) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF e.not_before < e.requested_at + p_grace AND clock_timestamp() < e.requested_at + p_grace
        AND NOT EXISTS (SELECT FROM conversations.session s WHERE s.app_id = e.app_id AND s.user_id = e.user_id)
        AND NOT EXISTS (
            SELECT FROM conversations.identity i
            WHERE i.app_id = e.app_id AND i.user_id = e.user_id AND conversations.has_identity(i))
    THEN
        RETURN 'infinity';
    END IF;
    RETURN e.requested_at + p_grace;
END
$$;

-- Returns the next conversation of an erasure: one that has or had the user as a participant, or that contains outside
-- messages for the user.
CREATE OR REPLACE FUNCTION conversations.next_erased_conversation(e conversations.erasure) RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN least(
        (SELECT u.conversation_id FROM conversations.user_conversation u
        WHERE u.app_id = e.app_id AND u.user_id = e.user_id
            AND (e.conversation_id IS NULL OR u.conversation_id > e.conversation_id)
        ORDER BY u.conversation_id LIMIT 1),
        (SELECT o.conversation_id FROM conversations.outside_sending o
        WHERE o.app_id = e.app_id AND o.user_id = e.user_id
            AND (e.conversation_id IS NULL OR o.conversation_id > e.conversation_id)
        ORDER BY o.conversation_id LIMIT 1));
END
$$;

-- Examines the next messages of an erasure's conversation. Returns the ordinals of up to `p_limit` messages to erase
-- (NULL: none), and the ordinal to continue from; NULL: the end was reached.
CREATE OR REPLACE FUNCTION conversations.erased_ordinals(
    e conversations.erasure, p_until timestamptz, p_limit bigint, OUT ordinals bigint[], OUT next_ordinal bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- The number of messages that one transaction examines.
    span CONSTANT bigint := 1000;
    seen record;
BEGIN
    SELECT count(*) AS number, max(m.ordinal) AS last,
        (array_agg(m.ordinal ORDER BY m.ordinal) FILTER (
            WHERE m.sender = e.user_id AND m.sent_at <= p_until AND (m.bytes > 0 OR m.is_notified)))[1:p_limit]
            AS ordinals
    INTO seen
    FROM (
        SELECT x.ordinal, x.sender, x.sent_at, octet_length(x.parts) AS bytes, x.notification IS NOT NULL AS is_notified
        FROM conversations.message x WHERE x.conversation_id = e.conversation_id AND x.ordinal > e.ordinal
        ORDER BY x.ordinal LIMIT span) m;
    ordinals := seen.ordinals;
    IF cardinality(ordinals) = p_limit THEN
        next_ordinal := ordinals[p_limit];
    ELSIF seen.number = span THEN
        next_ordinal := seen.last;
    END IF;
END
$$;

-- Continues an erasure after all messages of a conversation: with `p_next`, then with the rest. The second round begins
-- after the grace period, when no ended session is in use, regardless of the first round's duration.
CREATE OR REPLACE FUNCTION conversations.advance_erasure(e conversations.erasure, p_next uuid, p_grace interval)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    is_last boolean := e.not_before >= e.requested_at + p_grace;
BEGIN
    IF p_next IS NOT NULL THEN
        UPDATE conversations.erasure x SET conversation_id = p_next, ordinal = 0
        WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
    ELSIF NOT conversations.erase_rest(
        e.app_id, e.user_id, conversations.erased_until(e, p_grace), 1000, CASE WHEN is_last THEN e.requested_at END)
    THEN
        RETURN;
    ELSIF NOT is_last THEN
        -- Start the second round from the first conversation after the grace period.
        UPDATE conversations.erasure x SET conversation_id = NULL, ordinal = 0, not_before = e.requested_at + p_grace
        WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
    ELSE
        PERFORM conversations.erase_late(e.app_id, e.user_id, e.requested_at + p_grace);
        DELETE FROM conversations.erasure x WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
    END IF;
END
$$;

-- Continues the erasure of one user of an app: examines a range of messages of one conversation and erases the parts of
-- up to `p_limit`. The first row has the outcome: 'idle' if no work is due or another instance does it; 'working'. The
-- other rows are changes, all of one conversation.
CREATE OR REPLACE FUNCTION conversations.erase_some(p_app uuid, p_limit bigint)
RETURNS TABLE (
    outcome text, app_id uuid, user_id text, conversation_id uuid, "position" bigint, created_at timestamptz,
    message_count bigint, message conversations.message_row, hidden_from text[])
LANGUAGE plpgsql VOLATILE ROWS 100 AS $$
#variable_conflict use_column
DECLARE
    -- The time for which a gateway may still accept an ended session. A gateway that missed the notice checks its
    -- sockets' sessions every 25 s and waits up to 10 s for the answer. A call made until then may take 10 s more. The
    -- rest is a reserve.
    grace CONSTANT interval := '60 seconds';
    e conversations.erasure;
    next_conversation uuid;
    position_before bigint;
    is_gone boolean;
    erased record;
BEGIN
    SELECT NULL::bigint[] AS ordinals, NULL::bigint AS next_ordinal INTO erased;
    -- Choose a random one, so that a user with many messages does not delay the others. A row that another instance has
    -- changed in between may not be due any longer.
    SELECT * INTO e FROM conversations.erasure x
    WHERE x.ctid = ANY (conversations.due_erasures(p_app, 100)) AND x.not_before <= clock_timestamp()
    ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED;
    outcome := CASE WHEN FOUND THEN 'working' ELSE 'idle' END;
    RETURN NEXT;
    IF outcome = 'idle' THEN RETURN; END IF;
    outcome := NULL;
    app_id := e.app_id;
    user_id := e.user_id;
    next_conversation := conversations.next_erased_conversation(e);

    IF e.conversation_id IS NOT NULL THEN
        -- Lock before reading. A message that was being sent is then visible, and no other change takes a position in
        -- between.
        SELECT c.position, c.deleted_position IS NOT NULL INTO position_before, is_gone
        FROM conversations.conversation c WHERE c.id = e.conversation_id AND c.app_id = e.app_id FOR UPDATE;
        IF FOUND THEN
            erased := conversations.erased_ordinals(e, conversations.erased_until(e, grace), p_limit);
            IF is_gone AND erased.ordinals IS NOT NULL THEN
                PERFORM conversations.erase_parts_of_gone(e.conversation_id, e.user_id, erased.ordinals);
            ELSIF erased.ordinals IS NOT NULL THEN
                RETURN QUERY
                SELECT NULL::text, e.app_id, e.user_id::text, e.conversation_id, p.position, p.created_at,
                    p.message_count, p.message, p.hidden_from
                FROM conversations.erase_parts(e.conversation_id, e.user_id, erased.ordinals) p;
                PERFORM webhooks.record(
                    e.app_id, e.conversation_id, position_before + 1,
                    (SELECT c.position FROM conversations.conversation c WHERE c.id = e.conversation_id));
            END IF;
        END IF;
        IF erased.next_ordinal IS NOT NULL THEN
            UPDATE conversations.erasure x SET ordinal = erased.next_ordinal
            WHERE x.app_id = e.app_id AND x.user_id = e.user_id;
            RETURN;
        END IF;
    END IF;

    PERFORM conversations.advance_erasure(e, next_conversation, grace);
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.erase_user, conversations.erase_parts, conversations.erase_parts_of_gone, conversations.erase_late,
    conversations.erase_rest, conversations.apps_with_erasures, conversations.due_erasures, conversations.erased_until,
    conversations.next_erased_conversation, conversations.erased_ordinals,
    conversations.advance_erasure, conversations.erase_some TO strata_conversations;
