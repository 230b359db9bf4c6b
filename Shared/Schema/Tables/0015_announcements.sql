-- SPDX-License-Identifier: Apache-2.0
-- Announcements, and the devices that can be told of something while no socket is open.

CREATE TABLE conversations.announcement (
    id            uuid PRIMARY KEY,
    app_id        uuid NOT NULL,
    -- Either a name, or one of the app's users.
    sender_name   text,
    sender_user   text COLLATE "C",
    sent_at       timestamptz NOT NULL,
    parts         bytea NOT NULL,
    notification  text
);

-- Whoever it was sent to and has not removed it.
CREATE TABLE conversations.announcement_recipient (
    app_id          uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    announcement_id uuid NOT NULL,
    -- Of the entry of his own log that told him: the order of his list.
    position        bigint NOT NULL,
    -- 0 sent, 1 delivered, 2 read
    status          bigint NOT NULL DEFAULT 0,
    is_removed      boolean NOT NULL DEFAULT false,
    PRIMARY KEY (app_id, user_id, announcement_id)
);
CREATE INDEX announcement_by_position ON conversations.announcement_recipient (app_id, user_id, position);

CREATE TYPE conversations.announcement_row AS (
    announcement_id uuid, "position" bigint, sender_name text, sender_user text, sent_at timestamptz, parts bytea, notification text, status bigint);

-- Outcomes: 'ok', with the entries in the recipients' own logs; 'id_in_use'. Times are microseconds since 1970.
CREATE FUNCTION conversations.send_announcement(
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
        FROM conversations.append_user_changes(p_app, p_users, 7::smallint, jsonb_build_object('announcement_id', p_id)) t
    ), listed AS (
        INSERT INTO conversations.announcement_recipient (app_id, user_id, announcement_id, position)
        SELECT p_app, t.user_id, p_id, t.position FROM told t
    )
    SELECT coalesce(array_agg(t.user_id), '{}'), coalesce(array_agg(t.position), '{}'), coalesce(array_agg(t.created_at), '{}')
    INTO told_users, told_positions, told_at FROM told t;
END
$$;

-- As this user sees it. No row: it was not sent to him, or he has removed it.
CREATE FUNCTION conversations.get_announcement(p_app uuid, p_user text, p_id uuid) RETURNS SETOF conversations.announcement_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT a.id, r.position, a.sender_name, a.sender_user::text, a.sent_at, a.parts, a.notification, r.status
    FROM conversations.announcement_recipient r JOIN conversations.announcement a ON a.id = r.announcement_id
    WHERE r.app_id = p_app AND r.user_id = p_user AND r.announcement_id = p_id AND NOT r.is_removed;
END
$$;

-- A page of what was announced to a user, newest first. The first row has the outcome, 'ok' or 'unknown_cursor', and how many there are in all. One that
-- he has removed still serves as a cursor.
CREATE FUNCTION conversations.list_announcements(p_app uuid, p_user text, p_page_size bigint, p_from uuid)
RETURNS TABLE (outcome text, total bigint, announcement conversations.announcement_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
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
        SELECT count(*) FROM conversations.announcement_recipient r WHERE r.app_id = p_app AND r.user_id = p_user AND NOT r.is_removed);
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint,
        (a.id, r.position, a.sender_name, a.sender_user, a.sent_at, a.parts, a.notification, r.status)::conversations.announcement_row
    FROM conversations.announcement_recipient r JOIN conversations.announcement a ON a.id = r.announcement_id
    WHERE r.app_id = p_app AND r.user_id = p_user AND NOT r.is_removed AND (p_from IS NULL OR r.position < before)
    ORDER BY r.position DESC LIMIT p_page_size;
END
$$;

-- Outcomes: 'ok', with the entry of the user's own log; 'none'; 'not_found'.
CREATE FUNCTION conversations.give_announcement_receipt(
    p_app uuid, p_user text, p_id uuid, p_status bigint, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz)
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
        p_app, p_user, 8::smallint, jsonb_build_object('announcement_id', p_id, 'status', p_status)) a;
END
$$;

-- Outcomes: 'ok', with the entry of the user's own log; 'not_found'.
CREATE FUNCTION conversations.remove_announcement(
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
    FROM conversations.append_user_change(p_app, p_user, 9::smallint, jsonb_build_object('announcement_id', p_id)) a;
END
$$;

-- Where a device can be reached. One token a device: who signed in on it last is who is told.
CREATE TABLE conversations.push_token (
    app_id         uuid NOT NULL,
    device_id      text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    -- apns or gcm
    type           text NOT NULL,
    token          text NOT NULL,
    apns_bundle_id text,
    gcm_sender_id  text,
    ios_version    text,
    updated_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, device_id)
);
CREATE INDEX push_token_by_user ON conversations.push_token (app_id, user_id);
