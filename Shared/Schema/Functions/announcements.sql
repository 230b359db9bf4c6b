-- SPDX-License-Identifier: Apache-2.0
-- Announcements: messages of the app to users, outside of conversations.

-- Sends an announcement. Outcomes: 'ok', with the entries in the recipients' own logs; 'id_in_use'. Times are
-- microseconds since 1970.
CREATE OR REPLACE FUNCTION conversations.send_announcement(
    p_app uuid, p_id uuid, p_sender_name text, p_sender_user text, p_users text[], p_parts bytea, p_notification text,
    OUT outcome text, OUT sent_at timestamptz, OUT told_users text[], OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO conversations.announcement AS a (id, app_id, sender_name, sender_user, sent_at, parts, notification)
    VALUES (p_id, p_app, p_sender_name, p_sender_user, clock_timestamp(), p_parts, p_notification)
    ON CONFLICT DO NOTHING
    RETURNING a.sent_at INTO send_announcement.sent_at;
    IF NOT FOUND THEN
        outcome := 'id_in_use';
        RETURN;
    END IF;
    outcome := 'ok';
    WITH told AS (
        SELECT t.user_id, t.position, t.created_at
        FROM conversations.append_user_changes(p_app, p_users, conversations.user_kind_announced(),
            jsonb_build_object('announcement_id', p_id)) t
    ), listed AS (
        INSERT INTO conversations.announcement_recipient (app_id, user_id, announcement_id, position)
        SELECT p_app, t.user_id, p_id, t.position FROM told t
    )
    SELECT coalesce(array_agg(t.user_id), '{}'), coalesce(array_agg(t.position), '{}'),
        coalesce(array_agg(t.created_at), '{}')
    INTO told_users, told_positions, told_at FROM told t;
END
$$;

-- Sends an announcement at most once. `p_digest` is the digest of the request.
--
-- Outcomes:
-- - 'ok'.
-- - 'repeated': the same announcement was sent before. The result has its time and parts.
-- - 'id_in_use': also if a conversation, a message or a delayed message has the id.
CREATE OR REPLACE FUNCTION conversations.announce(
    p_app uuid, p_id uuid, p_sender_name text, p_sender_user text, p_users text[], p_parts bytea, p_notification text,
    p_digest bytea,
    OUT outcome text, OUT sent_at timestamptz, OUT parts bytea, OUT told_users text[], OUT told_positions bigint[],
    OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    outcome := 'id_in_use';
    -- delay_message takes the same lock, so no message is sent or scheduled under this id in between.
    PERFORM pg_advisory_xact_lock(uuid_hash_extended(p_id, 3));
    IF EXISTS (SELECT FROM conversations.message_place x WHERE x.message_id = p_id)
        OR EXISTS (SELECT FROM conversations.delayed_message x WHERE x.id = p_id)
        OR EXISTS (SELECT FROM conversations.conversation x WHERE x.id = p_id)
    THEN
        RETURN;
    END IF;
    SELECT s.outcome, s.sent_at, s.told_users, s.told_positions, s.told_at
    INTO announce.outcome, announce.sent_at, announce.told_users, announce.told_positions, announce.told_at
    FROM conversations.send_announcement(p_app, p_id, p_sender_name, p_sender_user, p_users, p_parts, p_notification) s;
    IF outcome = 'ok' THEN
        UPDATE conversations.announcement a SET digest = p_digest WHERE a.id = p_id;
        parts := p_parts;
        RETURN;
    END IF;
    SELECT a.sent_at, a.parts INTO announce.sent_at, announce.parts
    FROM conversations.announcement a WHERE a.id = p_id AND a.app_id = p_app AND a.digest = p_digest;
    IF FOUND THEN outcome := 'repeated'; END IF;
END
$$;

-- Returns an announcement as this user sees it. No row: it was not sent to the user, or the user has removed it.
CREATE OR REPLACE FUNCTION conversations.get_announcement(p_app uuid, p_user text, p_id uuid)
RETURNS SETOF conversations.announcement_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT a.id, r.position, a.sender_name, a.sender_user::text, a.sent_at, a.parts, a.notification, r.status
    FROM conversations.announcement_recipient r JOIN conversations.announcement a ON a.id = r.announcement_id
    WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id = p_id AND NOT r.is_removed;
END
$$;

-- Lists one page of a user's announcements, newest first. The first row has the outcome, 'ok' or 'unknown_cursor', and
-- the total. An announcement that the user has removed still works as a cursor.
CREATE OR REPLACE FUNCTION conversations.list_announcements(p_app uuid, p_user text, p_page_size bigint, p_from uuid)
RETURNS TABLE (outcome text, total bigint, announcement conversations.announcement_row)
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    before bigint;
BEGIN
    IF p_from IS NOT NULL THEN
        SELECT r.position INTO before FROM conversations.announcement_recipient r
        WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id = p_from;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, 0::bigint, NULL::conversations.announcement_row;
            RETURN;
        END IF;
    END IF;
    outcome := 'ok';
    total := (
        SELECT count(*) FROM conversations.announcement_recipient r
        WHERE r.app_id = p_app AND r.user_id = p_user AND NOT r.is_removed);
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint,
        (a.id, r.position, a.sender_name, a.sender_user, a.sent_at, a.parts, a.notification,
            r.status)::conversations.announcement_row
    FROM conversations.announcement_recipient r JOIN conversations.announcement a ON a.id = r.announcement_id
    WHERE r.app_id = p_app AND r.user_id = p_user AND NOT r.is_removed AND (p_from IS NULL OR r.position < before)
    ORDER BY r.position DESC LIMIT p_page_size;
END
$$;

-- Lists a page like list_announcements, limited to `p_bytes`, with a last row as in list_messages_page.
CREATE OR REPLACE FUNCTION conversations.list_announcements_page(
    p_app uuid, p_user text, p_page_size bigint, p_from uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, last_id uuid, announcement conversations.announcement_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    row record;
    n bigint := -1;
    own bigint;
    used bigint := 0;
    is_full boolean := false;
    page_end uuid;
BEGIN
    FOR row IN SELECT l.* FROM conversations.list_announcements(p_app, p_user, p_page_size + 1, p_from) l LOOP
        n := n + 1;
        IF n > p_page_size THEN
            last_id := page_end;
            EXIT;
        END IF;
        page_end := (row.announcement).announcement_id;
        CONTINUE WHEN is_full;
        outcome := row.outcome;
        total := row.total;
        announcement := row.announcement;
        IF n > 0 THEN
            own := 256 + coalesce(octet_length(announcement.parts), 0);
            is_full := coalesce(used > 0 AND used + own > p_bytes, false);
            CONTINUE WHEN is_full;
            used := used + own;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF is_full OR last_id IS NOT NULL THEN
        outcome := CASE WHEN is_full THEN 'more' END;
        announcement := NULL;
        RETURN NEXT;
    END IF;
END
$$;

-- Gives a receipt. Outcomes: 'ok', with the entry of the user's own log; 'none'; 'not_found'.
CREATE OR REPLACE FUNCTION conversations.give_announcement_receipt(
    p_app uuid, p_user text, p_id uuid, p_status bigint, OUT outcome text, OUT "position" bigint,
    OUT created_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    before bigint;
BEGIN
    SELECT r.status INTO before FROM conversations.announcement_recipient r
    WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id = p_id AND NOT r.is_removed FOR UPDATE;
    outcome := CASE WHEN NOT FOUND THEN 'not_found' WHEN before >= p_status THEN 'none' ELSE 'ok' END;
    IF outcome <> 'ok' THEN RETURN; END IF;
    UPDATE conversations.announcement_recipient r SET status = p_status
    WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id = p_id;
    SELECT a.position, a.created_at INTO give_announcement_receipt.position, give_announcement_receipt.created_at
    FROM conversations.append_user_change(
        p_app, p_user, conversations.user_kind_announcement_receipt(),
        jsonb_build_object('announcement_id', p_id, 'status', p_status)) a;
END
$$;

-- Removes an announcement from the user's list. Outcomes: 'ok', with the entry of the user's own log; 'not_found'.
CREATE OR REPLACE FUNCTION conversations.remove_announcement(
    p_app uuid, p_user text, p_id uuid, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    UPDATE conversations.announcement_recipient r SET is_removed = true
    WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id = p_id AND NOT r.is_removed;
    IF NOT FOUND THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    outcome := 'ok';
    SELECT a.position, a.created_at INTO remove_announcement.position, remove_announcement.created_at
    FROM conversations.append_user_change(p_app, p_user, conversations.user_kind_announcement_removed(),
        jsonb_build_object('announcement_id', p_id)) a;
END
$$;

-- True if the announcement has a recipient left, including one who has removed it.
CREATE OR REPLACE FUNCTION conversations.has_recipients(p_id uuid) RETURNS boolean
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
-- This order makes the planner use the index by announcement, because no other index has it.
RETURN (SELECT true FROM conversations.announcement_recipient r WHERE r.announcement_id = p_id
    ORDER BY r.user_id LIMIT 1) IS NOT NULL;

-- Erases the announcements to and by an erased user that were sent until `p_until`. The user is no recipient any
-- longer, announcements without recipients are deleted, and those of the user lose their parts. Clients are not
-- notified. Returns the larger of the two numbers; call again while it equals the limit.
CREATE OR REPLACE FUNCTION conversations.forget_announcements(
    p_app uuid, p_user text, p_limit bigint, p_until timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    received uuid[] := ARRAY(
        SELECT r.announcement_id
        FROM (
            SELECT x.announcement_id FROM conversations.announcement_recipient x
            WHERE x.app_id = p_app AND x.user_id = p_user ORDER BY x.announcement_id OFFSET 0) r
        CROSS JOIN LATERAL (SELECT x.sent_at FROM conversations.announcement x
            WHERE x.id = r.announcement_id OFFSET 0) a
        WHERE a.sent_at <= p_until LIMIT p_limit);
    sent uuid[] := ARRAY(
        SELECT a.id FROM conversations.announcement a
        WHERE a.app_id = p_app AND a.sender_user = p_user AND octet_length(a.parts) > 0 AND a.sent_at <= p_until
        ORDER BY a.sent_at LIMIT p_limit);
    place uuid;
BEGIN
    -- The order of the ids prevents deadlocks between concurrent erasures.
    FOR place IN SELECT DISTINCT u.id FROM unnest(received || sent) u(id) ORDER BY u.id LOOP
        -- Lock the announcement before checking for other recipients. The last of several concurrent erasures then sees
        -- that the others have removed theirs.
        PERFORM FROM conversations.announcement a WHERE a.id = place FOR UPDATE;
        DELETE FROM conversations.announcement_recipient r
        WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id = place;
        IF conversations.has_recipients(place) THEN
            UPDATE conversations.announcement a SET parts = '', notification = NULL
            WHERE a.id = place AND a.sender_user = p_user;
        ELSE
            DELETE FROM conversations.announcement a WHERE a.id = place;
        END IF;
    END LOOP;
    RETURN greatest(cardinality(received), cardinality(sent));
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.has_recipients, conversations.forget_announcements, conversations.send_announcement,
    conversations.announce, conversations.get_announcement, conversations.list_announcements,
    conversations.list_announcements_page, conversations.give_announcement_receipt,
    conversations.remove_announcement TO strata_conversations;
