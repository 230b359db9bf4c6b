-- SPDX-License-Identifier: Apache-2.0
-- Messages: their form for each user, and editing.

-- Returns a recipient's status in the form of message_row.
CREATE OR REPLACE FUNCTION conversations.recipient_status(
    p_policy bigint, is_sender boolean, is_read boolean, is_delivered boolean) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN is_sender THEN 2
    WHEN p_policy = 0 THEN CASE WHEN is_read THEN 2 WHEN is_delivered THEN 1 ELSE 0 END
    -- Add the status for others: 0, 1 or 2, depending on the receipts that they may see.
    ELSE (CASE WHEN is_read THEN 2 WHEN is_delivered THEN 1 ELSE 0 END)
        + 4 * (1 + CASE
            WHEN is_read AND p_policy & 2 = 0 THEN 2 WHEN is_delivered AND p_policy & 1 = 0 THEN 1 ELSE 0 END)
END;

-- True if other users may learn that a user has read a message. False for a message that a block hid from the user,
-- because it counts as read once the user reads all others. A user who was added again later has read everything
-- before.
CREATE OR REPLACE FUNCTION conversations.shows_reading(
    p_hidden_from text[], p_position bigint, p_user text, p_joined bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_hidden_from IS NULL OR p_user <> ALL (p_hidden_from) OR p_joined > p_position;

-- True if the participant can see the message with this ordinal, provided that it exists and no receipt block hides it.
CREATE OR REPLACE FUNCTION conversations.may_see_by_ranges(p conversations.participant, p_ordinal bigint)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_ordinal > (p).hidden_ordinal AND ((p).left_position IS NULL OR p_ordinal <= (p).left_ordinal)
    AND NOT (p).hidden @> p_ordinal;

-- True if the participant can see the message with this ordinal, if it exists.
CREATE OR REPLACE FUNCTION conversations.may_see(p conversations.participant, p_ordinal bigint) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN p_ordinal > (p).hidden_ordinal AND ((p).left_position IS NULL OR p_ordinal <= (p).left_ordinal)
    AND NOT (p).hidden @> p_ordinal
    AND ((p).packed_up_to < p_ordinal
        OR NOT (conversations.block_at((p).conversation_id, (p).user_id, p_ordinal)).is_hidden);

-- Returns one message, or no row. Its recipients are all users who were participants when it was sent or joined later,
-- without those who had left before. The planner replaces a call in FROM by this query, so a query for many messages is
-- one statement.
CREATE OR REPLACE FUNCTION conversations.select_message(p_conversation uuid, p_ordinal bigint)
RETURNS SETOF conversations.message_row
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT m.id, m.conversation_id, m.position, m.ordinal, m.sender, m.sent_at, m.parts, m.notification, r.users,
        r.statuses, m.updated_at, m.receipt_policy, m.sender_name
    FROM conversations.message m
    CROSS JOIN LATERAL (
        SELECT array_agg(p.user_id ORDER BY p.user_id) AS users,
            array_agg(conversations.recipient_status(
                    m.receipt_policy, p.user_id = m.sender,
                    (p.read @> m.ordinal OR b.has_read)
                        AND conversations.shows_reading(m.hidden_from, m.position, p.user_id, p.joined),
                    p.delivered @> m.ordinal OR b.has_received)
                ORDER BY p.user_id) AS statuses
        FROM conversations.participant p
        -- OFFSET 0 makes this a lookup of one row, and none for users without receipt blocks. The expression for
        -- `p_ordinal` can be a search, so only one condition has it.
        LEFT JOIN LATERAL (
            SELECT conversations.has_bit(k.read, m.ordinal) AS has_read,
                conversations.has_bit(k.delivered, m.ordinal) AS has_received
            FROM conversations.receipt_block k
            WHERE p.packed_up_to >= m.ordinal AND k.conversation_id = p_conversation
                AND k.block = m.ordinal / conversations.block_size() AND k.user_id = p.user_id
                AND k.until_position = conversations.end_of_log()
            OFFSET 0) b ON true
        WHERE p.conversation_id = p_conversation AND (p.left_position IS NULL OR p.left_ordinal >= m.ordinal)) r
    WHERE m.conversation_id = p_conversation AND m.ordinal = p_ordinal
$$;

-- Returns one message as `select_message` does, or NULL.
CREATE OR REPLACE FUNCTION conversations.message_at(p_conversation uuid, p_ordinal bigint)
RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_row conversations.message_row;
BEGIN
    SELECT * INTO found_row FROM conversations.select_message(p_conversation, p_ordinal);
    RETURN found_row;
END
$$;

-- Returns these messages of a conversation as its participants see them, newest first. It reads the participants once
-- for all messages, whereas `message_at` reads them for each one.
CREATE OR REPLACE FUNCTION conversations.messages_at(p_conversation uuid, p_ordinals bigint[])
RETURNS SETOF conversations.message_row
LANGUAGE plpgsql STABLE ROWS 20 AS $$
DECLARE
    others record;
BEGIN
    SELECT array_agg(p.user_id) AS users, array_agg(p.left_ordinal) AS left_ordinals, array_agg(p.read) AS reads,
        array_agg(p.delivered) AS delivereds, array_agg(p.packed_up_to) AS packed, array_agg(p.joined) AS joins
    INTO others
    FROM (
        SELECT x.user_id, x.joined, CASE WHEN x.left_position IS NOT NULL THEN x.left_ordinal END AS left_ordinal,
            x.read, x.delivered, x.packed_up_to
        FROM conversations.participant x WHERE x.conversation_id = p_conversation ORDER BY x.user_id) p;
    RETURN QUERY
    SELECT m.id, m.conversation_id, m.position, m.ordinal, m.sender::text, m.sent_at, m.parts, m.notification, r.users,
        r.statuses, m.updated_at,
        m.receipt_policy, m.sender_name
    -- Consecutive ordinals are read by one index scan.
    FROM unnest((SELECT range_agg(int8range(o.ordinal, o.ordinal, '[]')) FROM unnest(p_ordinals) o(ordinal))) u(run)
    CROSS JOIN LATERAL (
        SELECT x.* FROM conversations.message x
        WHERE x.conversation_id = p_conversation AND x.ordinal >= lower(u.run) AND x.ordinal < upper(u.run)
        ORDER BY x.ordinal OFFSET 0) m
    CROSS JOIN LATERAL (
        SELECT array_agg(p.id ORDER BY p.n) AS users,
            array_agg(conversations.recipient_status(
                    m.receipt_policy, p.id = m.sender,
                    (p.has_read @> m.ordinal OR b.has_read)
                        AND conversations.shows_reading(m.hidden_from, m.position, p.id, p.joined),
                    p.has_received @> m.ordinal OR b.has_received)
                ORDER BY p.n) AS statuses
        FROM unnest(others.users, others.left_ordinals, others.reads, others.delivereds, others.packed,
            others.joins) WITH ORDINALITY
            p(id, left_ordinal, has_read, has_received, packed_up_to, joined, n)
        LEFT JOIN LATERAL (
            SELECT conversations.has_bit(k.read, m.ordinal) AS has_read,
                conversations.has_bit(k.delivered, m.ordinal) AS has_received
            FROM conversations.receipt_block k
            WHERE p.packed_up_to >= m.ordinal AND k.conversation_id = p_conversation
                AND k.block = m.ordinal / conversations.block_size() AND k.user_id = p.id
                AND k.until_position = conversations.end_of_log()
            OFFSET 0) b ON true
        WHERE p.left_ordinal IS NULL OR p.left_ordinal >= m.ordinal) r
    ORDER BY m.ordinal DESC;
END
$$;

-- Returns a message as this participant sees it, or NULL. A user who left sees its state at that time.
CREATE OR REPLACE FUNCTION conversations.message_for(p conversations.participant, p_ordinal bigint)
RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_row conversations.message_row := conversations.message_at(p.conversation_id, p_ordinal);
    receipts conversations.kept_receipts;
    kept_from text[];
    before record;
BEGIN
    IF p.left_position IS NULL OR found_row.message_id IS NULL THEN RETURN found_row; END IF;
    SELECT m.hidden_from INTO kept_from FROM conversations.message m
    WHERE m.conversation_id = p.conversation_id AND m.ordinal = p_ordinal;
    -- Users who were added again before this one left count as having read the message.
    IF kept_from IS NOT NULL THEN
        kept_from := ARRAY(
            SELECT u.id FROM unnest(kept_from) u(id)
            CROSS JOIN LATERAL (
                SELECT x.joined FROM conversations.participant x
                WHERE x.conversation_id = p.conversation_id AND x.user_id = u.id OFFSET 0) x
            WHERE x.joined < found_row.position OR x.joined > p.left_position);
    END IF;
    SELECT * INTO receipts FROM conversations.kept_receipts k
    WHERE k.conversation_id = p.conversation_id AND k.user_id = p.user_id;
    IF FOUND THEN
        SELECT array_agg(x.id ORDER BY x.id COLLATE "C"),
            array_agg(conversations.recipient_status(
                    found_row.receipt_policy, x.id = found_row.sender,
                    (x.has_read @> p_ordinal OR b.has_read) AND conversations.shows_reading(kept_from, 0, x.id, 0),
                    x.has_received @> p_ordinal OR b.has_received)
                ORDER BY x.id COLLATE "C")
        INTO found_row.recipients, found_row.statuses
        FROM unnest(receipts.users, receipts.left_ordinals, receipts.reads, receipts.delivereds, receipts.packed)
            x(id, left_ordinal, has_read, has_received, packed_up_to)
        LEFT JOIN LATERAL (
            SELECT conversations.has_bit(k.read, p_ordinal) AS has_read,
                conversations.has_bit(k.delivered, p_ordinal) AS has_received
            FROM conversations.receipt_block k
            WHERE x.packed_up_to >= p_ordinal AND k.conversation_id = p.conversation_id
                AND k.block = p_ordinal / conversations.block_size() AND k.user_id = x.id
                AND k.since_position <= p.left_position AND k.until_position > p.left_position
            OFFSET 0) b ON true
        WHERE x.left_ordinal IS NULL OR x.left_ordinal >= p_ordinal;
    END IF;
    SELECT k.parts, k.updated_at INTO before
    FROM conversations.kept_parts k
    WHERE k.conversation_id = p.conversation_id AND k.ordinal = p_ordinal AND k.until_position > p.left_position
    ORDER BY k.until_position LIMIT 1;
    IF FOUND THEN
        found_row.parts := before.parts;
        found_row.updated_at := before.updated_at;
    END IF;
    RETURN found_row;
END
$$;

-- Returns one message by its id, or NULL if this user may not see it. The app's own server (no user) sees every message
-- of a conversation that is not deleted.
CREATE OR REPLACE FUNCTION conversations.find_message(p_app uuid, p_user text, p_message uuid)
RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    place conversations.message_place;
    p conversations.participant;
BEGIN
    SELECT * INTO place FROM conversations.message_place x WHERE x.message_id = p_message AND x.app_id = p_app;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF p_user IS NULL THEN
        RETURN (
            SELECT conversations.message_at(x.id, place.ordinal) FROM conversations.conversation x
            WHERE x.id = place.conversation_id AND x.deleted_position IS NULL);
    END IF;
    SELECT * INTO p FROM conversations.participant x
    WHERE x.conversation_id = place.conversation_id AND x.user_id = p_user;
    IF NOT FOUND OR NOT conversations.may_see(p, place.ordinal)
        OR EXISTS (SELECT FROM conversations.conversation x
            WHERE x.id = place.conversation_id AND x.deleted_position IS NOT NULL)
    THEN
        RETURN NULL;
    END IF;
    RETURN conversations.message_for(p, place.ordinal);
END
$$;

-- Returns one message as this user sees it. No row: the user may not see it.
CREATE OR REPLACE FUNCTION conversations.get_message(p_app uuid, p_user text, p_message uuid)
RETURNS SETOF conversations.message_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    message conversations.message_row := conversations.find_message(p_app, p_user, p_message);
BEGIN
    IF message.message_id IS NOT NULL THEN RETURN NEXT message; END IF;
END
$$;

-- Replaces the parts of a message. The parts are opaque here: the caller has read and edited them, and passes both
-- versions. The app's own server (no actor) may change every message.
--
-- Outcomes:
-- - 'ok'.
-- - 'stale': the parts have changed in between. Try again.
-- - 'not_found': also if the caller does not see the message.
-- - 'access_denied': the caller is not the sender, or has left.
-- - 'unknown_content': with the first of `p_contents` that cannot be sent. `p_contents` are all contents of the new
--   parts; NULL: neither version has contents.
CREATE OR REPLACE FUNCTION conversations.edit_parts(
    p_app uuid, p_actor text, p_message uuid, p_before bytea, p_after bytea, p_edits jsonb, p_updated_at timestamptz,
    p_contents uuid[], p_origin_connection bigint, p_origin_request bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT bad_content uuid,
    OUT message conversations.message_row, OUT hidden_from text[])
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
    IF outcome IN ('not_found', 'deleted') THEN RETURN; END IF;
    IF p_actor IS NULL THEN
        SELECT x.sender, x.parts, x.updated_at, x.hidden_from INTO m
        FROM conversations.message x WHERE x.conversation_id = place.conversation_id AND x.ordinal = place.ordinal;
    ELSE
        SELECT x.sender, x.parts, x.updated_at, x.hidden_from INTO m
        FROM conversations.message x
        JOIN conversations.participant p ON p.conversation_id = x.conversation_id AND p.user_id = p_actor
        WHERE x.conversation_id = place.conversation_id AND x.ordinal = place.ordinal
            AND conversations.may_see(p, x.ordinal);
    END IF;
    outcome := CASE WHEN NOT FOUND THEN 'not_found' WHEN m.sender <> p_actor THEN 'access_denied' ELSE outcome END;
    IF outcome <> 'ok' THEN RETURN; END IF;
    IF m.parts <> p_before THEN outcome := 'stale'; RETURN; END IF;
    IF p_contents IS NOT NULL THEN
        -- Lock added and removed contents together, in one order.
        PERFORM conversations.lock_contents(p_contents
            || conversations.contents_of(place.conversation_id, ARRAY[place.ordinal]));
        bad_content := conversations.unsendable_content(
            p_app, p_actor, place.conversation_id, p_contents, p_actor IS NULL);
        IF bad_content IS NOT NULL THEN outcome := 'unknown_content'; RETURN; END IF;
        PERFORM conversations.refer_contents(place.conversation_id, place.ordinal, p_contents);
    END IF;
    UPDATE conversations.message x SET parts = p_after, updated_at = p_updated_at
    WHERE x.conversation_id = place.conversation_id AND x.ordinal = place.ordinal;
    SELECT a.* INTO "position", created_at, message_count
    FROM conversations.append_change(
        place.conversation_id, conversations.kind_parts(), p_actor, p_origin_connection, p_origin_request, p_message,
        place.ordinal, jsonb_build_object('edits', p_edits)
            || CASE WHEN m.hidden_from IS NULL THEN '{}' ELSE jsonb_build_object('hidden_from', m.hidden_from) END) a;
    hidden_from := m.hidden_from;
    -- A user who has left continues to see the former parts.
    IF EXISTS (
        SELECT FROM conversations.participant p
        WHERE p.conversation_id = place.conversation_id AND p.left_ordinal >= place.ordinal
            AND p.left_position >= coalesce((
            SELECT max(k.until_position) FROM conversations.kept_parts k
            WHERE k.conversation_id = place.conversation_id AND k.ordinal = place.ordinal), 0))
    THEN
        INSERT INTO conversations.kept_parts (conversation_id, ordinal, until_position, parts, updated_at)
        VALUES (place.conversation_id, place.ordinal, edit_parts.position, m.parts, m.updated_at);
    END IF;
    edit_parts.message := conversations.message_at(place.conversation_id, place.ordinal);
END
$$;

-- Lists one page of the messages of a conversation that a user sees, newest first; for the app's own server (no user),
-- in the form of list_server_messages.
--
-- The first row has the outcome, 'ok', 'not_found' or 'unknown_cursor', and the number of all messages. A message
-- deleted in between still works as a cursor. If the list continues after the page, a last row has the id of the page's
-- last message in `last_id`. If the messages of the page do not fit into `p_bytes`, there is a last row, too, with the
-- outcome 'more'; otherwise its outcome is NULL.
CREATE OR REPLACE FUNCTION conversations.list_messages_page(
    p_app uuid, p_user text, p_conversation uuid, p_page_size bigint, p_from_id uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, last_id uuid, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    before bigint;
    ordinals bigint[];
    ordinal bigint;
    own bigint;
    used bigint := 0;
BEGIN
    IF p_user IS NULL THEN
        RETURN QUERY
        SELECT l.* FROM conversations.list_server_messages(p_app, p_conversation, p_page_size, p_from_id, p_bytes) l;
        RETURN;
    END IF;
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF c.id IS NULL OR p.user_id IS NULL OR NOT conversations.is_visible(c, p) THEN
        RETURN QUERY SELECT 'not_found'::text, 0::bigint, NULL::uuid, NULL::conversations.message_row;
        RETURN;
    END IF;
    before := coalesce(p.left_ordinal, c.message_count) + 1;
    total := before - 1 - p.hidden_count;
    IF p_from_id IS NOT NULL THEN
        SELECT least(x.ordinal, before) INTO before FROM conversations.message_place x
        WHERE x.message_id = p_from_id AND x.conversation_id = p_conversation
            AND (p.left_position IS NULL OR x.ordinal <= p.left_ordinal);
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, total, NULL::uuid, NULL::conversations.message_row;
            RETURN;
        END IF;
    END IF;
    RETURN QUERY SELECT 'ok'::text, total, NULL::uuid, NULL::conversations.message_row;
    total := NULL;
    ordinals := ARRAY(
        SELECT o.ordinal FROM conversations.visible_ordinals(p, before, p_page_size + 1) o(ordinal)
        ORDER BY o.ordinal DESC);
    FOREACH ordinal IN ARRAY ordinals[1:p_page_size] LOOP
        message := conversations.message_for(p, ordinal);
        own := 256 + coalesce(octet_length(message.parts), 0) + 64 * coalesce(cardinality(message.recipients), 0);
        IF used > 0 AND used + own > p_bytes THEN
            outcome := 'more';
            EXIT;
        END IF;
        used := used + own;
        RETURN NEXT;
    END LOOP;
    IF cardinality(ordinals) > p_page_size THEN
        last_id := (SELECT m.id FROM conversations.message m
            WHERE m.conversation_id = p_conversation AND m.ordinal = ordinals[p_page_size]);
    END IF;
    IF outcome IS NOT NULL OR last_id IS NOT NULL THEN
        message := NULL;
        RETURN NEXT;
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.recipient_status, conversations.shows_reading, conversations.may_see_by_ranges, conversations.may_see,
    conversations.select_message, conversations.message_at, conversations.messages_at, conversations.message_for,
    conversations.find_message, conversations.get_message, conversations.edit_parts,
    conversations.list_messages_page TO strata_conversations;
