-- SPDX-License-Identifier: Apache-2.0
-- The common steps of all writing functions: lock, check, position, log.
--
-- A writing function is VOLATILE plpgsql at READ COMMITTED. Its first relevant statement locks the conversation's row.
-- Only later statements check permissions and read the rows to change, because they see everything that was committed
-- while the first one waited. A position is taken only after all decisions. Refusals are returned, not raised. Locks
-- are taken in the order conversation, additions, participants, directories, user logs.

-- Locks the conversation and checks if `actor` may change it. Outcomes: 'ok', 'not_found', or 'access_denied' to a
-- former participant. NULL is the app's own server: it may change every conversation of the app, and gets 'deleted' for
-- a deleted one. `is_indexed`: the conversation's metadata is indexed, see metadata_indexes.sql.
CREATE OR REPLACE FUNCTION conversations.begin_change(
    app uuid, conversation uuid, actor text, OUT outcome text, OUT "position" bigint, OUT is_indexed boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
    left_at bigint;
BEGIN
    SELECT x.position, x.deleted_position, x.is_indexed INTO c FROM conversations.conversation x
    WHERE x.id = begin_change.conversation AND x.app_id = begin_change.app FOR UPDATE;
    is_indexed := c.is_indexed;
    IF NOT FOUND OR c.deleted_position IS NOT NULL THEN
        outcome := CASE WHEN begin_change.actor IS NULL AND c.deleted_position IS NOT NULL THEN 'deleted'
            ELSE 'not_found' END;
        RETURN;
    END IF;
    IF begin_change.actor IS NULL THEN
        outcome := 'ok';
        "position" := c.position;
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
-- A NULL actor is the app's own server, which the log stores as the empty text.
CREATE OR REPLACE FUNCTION conversations.append_change(
    conversation uuid, kind smallint, actor text, origin_connection bigint, origin_request bigint, message_id uuid,
    ordinal bigint, operations jsonb,
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
        conversation_id, position, kind, actor, origin_connection, origin_request, message_id, ordinal, message_count,
        operations, created_at)
    VALUES (
        append_change.conversation, append_change.position, append_change.kind, coalesce(append_change.actor, ''),
        append_change.origin_connection,
        append_change.origin_request, append_change.message_id, append_change.ordinal, append_change.message_count,
        append_change.operations,
        append_change.created_at);
END
$$;

-- Appends the same entry to the own logs of several users. Call it last in a function, because it locks the logs' rows,
-- in the order of the users. Times are microseconds since 1970.
CREATE OR REPLACE FUNCTION conversations.append_user_changes(
    p_app uuid, p_users text[], p_kind smallint, p_operations jsonb)
RETURNS TABLE (user_id text, "position" bigint, created_at bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH moved AS (
        INSERT INTO conversations.user_log AS l (app_id, user_id, position, last_change_at)
        SELECT p_app, u.id, 1, clock_timestamp()
        FROM unnest(conversations.sorted_users(p_users)) WITH ORDINALITY u(id, n) ORDER BY u.n
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

-- Appends an entry to the own log of one user. Call it last in a function, because it locks the log's row until the
-- transaction ends.
CREATE OR REPLACE FUNCTION conversations.append_user_change(
    p_app uuid, p_user text, p_kind smallint, p_operations jsonb, OUT "position" bigint, OUT created_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO conversations.user_log AS l (app_id, user_id, position, last_change_at)
    VALUES (p_app, p_user, 1, clock_timestamp())
    ON CONFLICT (app_id, user_id) DO UPDATE
    SET position = l.position + 1, last_change_at = greatest(clock_timestamp(), l.last_change_at)
    RETURNING l.position, l.last_change_at INTO append_user_change.position, append_user_change.created_at;

    INSERT INTO conversations.user_change (app_id, user_id, position, kind, operations, created_at)
    VALUES (p_app, p_user, append_user_change.position, p_kind, p_operations, append_user_change.created_at);
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.append_user_changes, conversations.append_user_change TO strata_conversations;

GRANT EXECUTE ON FUNCTION
    conversations.begin_change, conversations.append_change TO strata_conversations, strata_metadata;
