-- SPDX-License-Identifier: Apache-2.0
-- What all writing functions share: the lock, the right, the position, the log.
--
-- A writing function is VOLATILE plpgsql at READ COMMITTED: its first statement that matters locks the conversation's row, and only later
-- statements look at rights and at what would change, since they see what was committed while the first one waited. Only when all is decided is a
-- position taken. Refusals are returned, not raised. Locks are taken in the order conversation, participants, directories, user logs.

-- A message as it is rendered for anybody; statuses in the order of the recipients: 0 sent, 1 delivered, 2 read; where others are shown another one
-- than the recipient himself, 4 × (theirs + 1) more.
CREATE TYPE conversations.message_row AS (
    message_id uuid, conversation_id uuid, position bigint, ordinal bigint, sender text, sent_at timestamptz, parts bytea, notification text,
    recipients text[], statuses bigint[], updated_at timestamptz, receipt_policy bigint);

-- A conversation from one user's point of view.
CREATE TYPE conversations.view_row AS (
    conversation_id uuid, created_at timestamptz, is_distinct boolean, position bigint, participants text[], is_participant boolean,
    message_count bigint, uncounted bigint, hidden bigint,
    last_message_id uuid, last_position bigint, last_ordinal bigint, last_sender text, last_sent_at timestamptz, last_parts bytea,
    last_notification text, last_recipients text[], last_statuses bigint[], last_updated_at timestamptz, receipt_policy bigint);

-- A recipient's status as message_row has it.
CREATE FUNCTION conversations.recipient_status(p_policy bigint, is_sender boolean, is_read boolean, is_delivered boolean) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN is_sender THEN 2
    WHEN p_policy = 0 THEN CASE WHEN is_read THEN 2 WHEN is_delivered THEN 1 ELSE 0 END
    -- As others see it: 0, 1 or 2 by what of it they may know.
    ELSE (CASE WHEN is_read THEN 2 WHEN is_delivered THEN 1 ELSE 0 END)
        + 4 * (1 + CASE WHEN is_read AND p_policy & 2 = 0 THEN 2 WHEN is_delivered AND p_policy & 1 = 0 THEN 1 ELSE 0 END)
END;

-- One message, or NULL. Recipients are all who were participants when it was sent or came later; not those who had left before.
CREATE FUNCTION conversations.message_at(p_conversation uuid, p_ordinal bigint) RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_row conversations.message_row;
BEGIN
    SELECT m.id, m.conversation_id, m.position, m.ordinal, m.sender, m.sent_at, m.parts, m.notification, r.users, r.statuses, m.updated_at,
        m.receipt_policy
    INTO found_row
    FROM conversations.message m
    CROSS JOIN LATERAL (
        SELECT array_agg(p.user_id ORDER BY p.user_id) AS users,
            array_agg(conversations.recipient_status(m.receipt_policy, p.user_id = m.sender, p.read @> m.ordinal, p.delivered @> m.ordinal)
                ORDER BY p.user_id) AS statuses
        FROM conversations.participant p
        WHERE p.conversation_id = p_conversation AND (p.left_position IS NULL OR p.left_ordinal >= m.ordinal)) r
    WHERE m.conversation_id = p_conversation AND m.ordinal = p_ordinal;
    RETURN found_row;
END
$$;

-- A message as this participant sees it, or NULL: to somebody who left, as it was then.
CREATE FUNCTION conversations.message_for(p conversations.participant, p_ordinal bigint) RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_row conversations.message_row := conversations.message_at(p.conversation_id, p_ordinal);
    receipts conversations.kept_receipts;
    before record;
BEGIN
    IF p.left_position IS NULL OR found_row.message_id IS NULL THEN RETURN found_row; END IF;
    SELECT * INTO receipts FROM conversations.kept_receipts k WHERE k.conversation_id = p.conversation_id AND k.user_id = p.user_id;
    IF FOUND THEN
        SELECT array_agg(x.id ORDER BY x.id COLLATE "C"),
            array_agg(conversations.recipient_status(
                    found_row.receipt_policy, x.id = found_row.sender, x.has_read @> p_ordinal, x.has_received @> p_ordinal)
                ORDER BY x.id COLLATE "C")
        INTO found_row.recipients, found_row.statuses
        FROM unnest(receipts.users, receipts.left_ordinals, receipts.reads, receipts.delivereds) x(id, left_ordinal, has_read, has_received)
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

-- Whether this participant, present or former, has the conversation on his list.
CREATE FUNCTION conversations.is_visible(c conversations.conversation, p conversations.participant) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (c).deleted_position IS NULL AND (NOT (p).is_hidden OR coalesce((p).left_ordinal, (c).message_count) > (p).hidden_count);

-- Whether he may see a message with this ordinal, if it exists.
CREATE FUNCTION conversations.may_see(p conversations.participant, p_ordinal bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_ordinal > (p).hidden_ordinal AND ((p).left_position IS NULL OR p_ordinal <= (p).left_ordinal) AND NOT (p).hidden @> p_ordinal;

-- The ordinal of the newest message he sees; 0: none.
CREATE FUNCTION conversations.last_visible(c conversations.conversation, p conversations.participant) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    newest bigint;
BEGIN
    IF p.left_position IS NULL AND isempty(p.hidden) THEN
        RETURN CASE WHEN c.last_ordinal > p.hidden_ordinal THEN c.last_ordinal ELSE 0 END;
    END IF;
    SELECT m.ordinal INTO newest
    FROM conversations.message m
    WHERE m.conversation_id = c.id AND m.ordinal > p.hidden_ordinal AND m.ordinal <= coalesce(p.left_ordinal, c.message_count)
        AND NOT p.hidden @> m.ordinal
    ORDER BY m.ordinal DESC LIMIT 1;
    RETURN coalesce(newest, 0);
END
$$;

CREATE FUNCTION conversations.view_of(c conversations.conversation, p conversations.participant) RETURNS conversations.view_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    view conversations.view_row;
    last conversations.message_row := conversations.message_for(p, conversations.last_visible(c, p));
BEGIN
    view.conversation_id := c.id;
    view.created_at := c.created_at;
    view.is_distinct := c.is_distinct;
    view.is_participant := p.left_position IS NULL;
    view.position := coalesce(p.left_position, c.position);
    view.message_count := coalesce(p.left_ordinal, c.message_count);
    view.uncounted := p.uncounted;
    view.hidden := p.hidden_count;
    view.participants := '{}';
    IF p.left_position IS NULL THEN
        view.participants := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
    END IF;
    view.last_message_id := last.message_id;
    view.last_position := last.position;
    view.last_ordinal := last.ordinal;
    view.last_sender := last.sender;
    view.last_sent_at := last.sent_at;
    view.last_parts := last.parts;
    view.last_notification := last.notification;
    view.last_recipients := last.recipients;
    view.last_statuses := last.statuses;
    view.last_updated_at := last.updated_at;
    view.receipt_policy := c.receipt_policy;
    RETURN view;
END
$$;

-- His view of one conversation; NULL if there is nothing that he may see.
CREATE FUNCTION conversations.find_view(p_app uuid, p_user text, p_conversation uuid) RETURNS conversations.view_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app;
    IF NOT FOUND THEN RETURN NULL; END IF;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF NOT FOUND OR NOT conversations.is_visible(c, p) THEN RETURN NULL; END IF;
    RETURN conversations.view_of(c, p);
END
$$;

-- Locks the conversation and says whether `actor` may change it: 'ok', 'not_found', or 'access_denied' to a former participant.
CREATE FUNCTION conversations.begin_change(app uuid, conversation uuid, actor text, OUT outcome text, OUT "position" bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
    left_at bigint;
BEGIN
    SELECT x.position, x.deleted_position INTO c FROM conversations.conversation x
    WHERE x.id = begin_change.conversation AND x.app_id = begin_change.app FOR UPDATE;
    IF NOT FOUND OR c.deleted_position IS NOT NULL THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    SELECT x.left_position INTO left_at FROM conversations.participant x
    WHERE x.conversation_id = begin_change.conversation AND x.user_id = begin_change.actor;
    IF NOT FOUND THEN
        outcome := 'not_found';
    ELSIF left_at IS NOT NULL THEN
        outcome := 'access_denied';
    ELSE
        outcome := 'ok';
        "position" := c.position;
    END IF;
END
$$;

-- Takes the next position and writes the log's entry. The caller holds the lock and has decided that something changes.
CREATE FUNCTION conversations.append_change(
    conversation uuid, kind smallint, actor text, origin_connection bigint, origin_request bigint, message_id uuid, ordinal bigint, operations jsonb,
    OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE conversations.conversation x
    SET position = x.position + 1, last_change_at = greatest(clock_timestamp(), x.last_change_at)
    WHERE x.id = append_change.conversation
    RETURNING x.position, x.last_change_at, x.message_count
    INTO append_change.position, append_change.created_at, append_change.message_count;

    INSERT INTO conversations.change (
        conversation_id, position, kind, actor, origin_connection, origin_request, message_id, ordinal, message_count, operations, created_at)
    VALUES (
        append_change.conversation, append_change.position, append_change.kind, append_change.actor, append_change.origin_connection,
        append_change.origin_request, append_change.message_id, append_change.ordinal, append_change.message_count, append_change.operations,
        append_change.created_at);
END
$$;

-- The same entry for the logs of several users, whose rows it locks in the order of the users: the last thing a function does. Times are microseconds
-- since 1970.
CREATE FUNCTION conversations.append_user_changes(p_app uuid, p_users text[], p_kind smallint, p_operations jsonb)
RETURNS TABLE (user_id text, "position" bigint, created_at bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH moved AS (
        INSERT INTO conversations.user_log AS l (app_id, user_id, position, last_change_at)
        SELECT p_app, u.id, 1, clock_timestamp() FROM unnest(conversations.sorted_users(p_users)) WITH ORDINALITY u(id, n) ORDER BY u.n
        ON CONFLICT (app_id, user_id) DO UPDATE
        SET position = l.position + 1, last_change_at = greatest(clock_timestamp(), l.last_change_at)
        RETURNING l.user_id, l.position, l.last_change_at
    ), logged AS (
        INSERT INTO conversations.user_change (app_id, user_id, position, kind, operations, created_at)
        SELECT p_app, m.user_id, m.position, p_kind, p_operations, m.last_change_at FROM moved m
    )
    SELECT m.user_id::text, m.position, (extract(epoch FROM m.last_change_at) * 1000000)::bigint FROM moved m;
END
$$;

-- The same for a user's own log, whose row it locks until the transaction ends: the last thing a function does.
CREATE FUNCTION conversations.append_user_change(
    p_app uuid, p_user text, p_kind smallint, p_operations jsonb, OUT "position" bigint, OUT created_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO conversations.user_log AS l (app_id, user_id, position, last_change_at) VALUES (p_app, p_user, 1, clock_timestamp())
    ON CONFLICT (app_id, user_id) DO UPDATE
    SET position = l.position + 1, last_change_at = greatest(clock_timestamp(), l.last_change_at)
    RETURNING l.position, l.last_change_at INTO append_user_change.position, append_user_change.created_at;

    INSERT INTO conversations.user_change (app_id, user_id, position, kind, operations, created_at)
    VALUES (p_app, p_user, append_user_change.position, p_kind, p_operations, append_user_change.created_at);
END
$$;
