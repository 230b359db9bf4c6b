-- SPDX-License-Identifier: Apache-2.0
-- Operations of an app's own server that it performs for no user.

-- Returns the reason why the app's own server does not find a conversation: 'deleted', or 'not_found' if it never
-- existed.
CREATE OR REPLACE FUNCTION conversations.absence(p_app uuid, p_conversation uuid) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE WHEN EXISTS (
        SELECT FROM conversations.conversation x
        WHERE x.id = p_conversation AND x.app_id = p_app AND x.deleted_position IS NOT NULL)
        THEN 'deleted' ELSE 'not_found' END;
END
$$;

-- Returns a conversation independent of a user: without a last message, and without unread messages. Its metadata tree
-- is included if it has at most `p_room` bytes.
CREATE OR REPLACE FUNCTION conversations.server_view(
    c conversations.conversation, p_room bigint DEFAULT 0) RETURNS conversations.view_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    view conversations.view_row;
    tree record;
BEGIN
    view.conversation_id := c.id;
    view.created_at := c.created_at;
    view.is_distinct := c.is_distinct;
    view.is_participant := true;
    view.position := c.position;
    view.message_count := c.message_count;
    view.uncounted := c.message_count;
    view.hidden := c.deleted_count;
    view.participants := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
    view.receipt_policy := c.receipt_policy;
    tree := metadata.tree_within(p_room, c.id, NULL, c.position);
    view.paths := tree.paths;
    view.vals := tree.vals;
    RETURN view;
END
$$;

-- Checks if the app's own server may send a message for a sender who does not take part in the conversation: under a
-- name, or as a bot. Outcomes: 'ok', 'access_denied' for other users, 'unknown_sender' for a user without an identity.
--
-- `p_conversation`: the conversation to which the message is sent if all other checks succeed. If the sender is a bot
-- that never took part, this is recorded, so that the bot's erasure finds the message. NULL: nothing is recorded.
CREATE OR REPLACE FUNCTION conversations.outside_sender(
    p_app uuid, p_user text, p_name text, p_conversation uuid DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    bot boolean;
BEGIN
    IF p_name IS NOT NULL THEN RETURN 'ok'; END IF;
    SELECT i.is_bot INTO bot FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user;
    IF NOT FOUND THEN RETURN 'unknown_sender'; END IF;
    IF NOT bot THEN RETURN 'access_denied'; END IF;
    IF p_conversation IS NULL
        OR EXISTS (
            SELECT FROM conversations.participant p WHERE p.conversation_id = p_conversation AND p.user_id = p_user)
    THEN
        RETURN 'ok';
    END IF;
    IF EXISTS (SELECT FROM conversations.erasure e WHERE e.app_id = p_app AND e.user_id = p_user) THEN
        -- An erasure deletes the records from before its request. It keeps records of messages sent afterwards, for the
        -- next erasure.
        INSERT INTO conversations.outside_sending AS o (conversation_id, user_id, app_id, recorded_at)
        VALUES (p_conversation, p_user, p_app, clock_timestamp())
        ON CONFLICT (conversation_id, user_id) DO UPDATE SET recorded_at = excluded.recorded_at;
    ELSE
        INSERT INTO conversations.outside_sending (conversation_id, user_id, app_id, recorded_at)
        VALUES (p_conversation, p_user, p_app, clock_timestamp()) ON CONFLICT DO NOTHING;
    END IF;
    RETURN 'ok';
END
$$;

-- Returns the first of these contents that the app's own server cannot send in this conversation; NULL: none. It can
-- send contents that it uploaded for the conversation, contents of messages there, and contents that the sending user
-- has uploaded. Locks the contents, so that they are not removed.
CREATE OR REPLACE FUNCTION conversations.unsendable_by_server(
    p_app uuid, p_user text, p_conversation uuid, p_contents uuid[]) RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wanted uuid;
BEGIN
    FOR wanted IN SELECT DISTINCT w.id FROM unnest(p_contents) w(id) ORDER BY w.id LOOP
        PERFORM FROM conversations.content x
        WHERE x.id = wanted AND x.app_id = p_app AND x.uploaded_at IS NOT NULL AND NOT x.is_doomed
            AND (x.conversation_id = p_conversation OR conversations.is_content_of(wanted, p_conversation)
                OR x.owner = p_user)
        FOR UPDATE;
        IF NOT FOUND THEN RETURN wanted; END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- True if an id that the app's own server chose for a message is used elsewhere: by a delayed message, a conversation
-- or an announcement.
CREATE OR REPLACE FUNCTION conversations.is_other_id(p_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversations.delayed_message x WHERE x.id = p_id)
        OR EXISTS (SELECT FROM conversations.conversation x WHERE x.id = p_id)
        OR EXISTS (SELECT FROM conversations.announcement x WHERE x.id = p_id);
END
$$;

CREATE OR REPLACE FUNCTION conversations.is_content_of(p_content uuid, p_conversation uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.content_reference r
        WHERE r.content_id = p_content AND r.conversation_id = p_conversation);
END
$$;

-- Returns content of a conversation, as the app's own server sees it: contents that it uploaded for the conversation,
-- and contents of messages there. No row: not found.
CREATE OR REPLACE FUNCTION conversations.get_server_content(p_app uuid, p_conversation uuid, p_content uuid)
RETURNS TABLE (content_id uuid, mime_type text, size bigint, is_uploaded boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT x.id, x.mime_type, x.size, x.uploaded_at IS NOT NULL FROM conversations.content x
    WHERE x.id = p_content AND x.app_id = p_app AND NOT x.is_doomed
        AND (x.conversation_id = p_conversation OR conversations.is_content_of(p_content, p_conversation))
        AND EXISTS (
            SELECT FROM conversations.conversation c
            WHERE c.id = p_conversation AND c.app_id = p_app AND c.deleted_position IS NULL);
END
$$;

-- Lists one page of all messages of a conversation, newest first, in the form of list_messages_page, with the
-- additional outcome 'deleted'.
CREATE OR REPLACE FUNCTION conversations.list_server_messages(
    p_app uuid, p_conversation uuid, p_page_size bigint, p_from_id uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, last_id uuid, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    c conversations.conversation;
    before bigint := 9223372036854775807;
    ordinals bigint[];
    own bigint;
    used bigint := 0;
BEGIN
    SELECT * INTO c FROM conversations.conversation x
    WHERE x.id = p_conversation AND x.app_id = p_app AND x.deleted_position IS NULL;
    IF NOT FOUND THEN
        RETURN QUERY
        SELECT conversations.absence(p_app, p_conversation), 0::bigint, NULL::uuid, NULL::conversations.message_row;
        RETURN;
    END IF;
    total := c.message_count - c.deleted_count;
    IF p_from_id IS NOT NULL THEN
        SELECT x.ordinal INTO before FROM conversations.message_place x
        WHERE x.message_id = p_from_id AND x.conversation_id = p_conversation;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, total, NULL::uuid, NULL::conversations.message_row;
            RETURN;
        END IF;
    END IF;

    outcome := 'ok';
    RETURN NEXT;
    outcome := NULL;
    total := NULL;
    ordinals := ARRAY(
        SELECT m.ordinal FROM conversations.message m WHERE m.conversation_id = p_conversation AND m.ordinal < before
        ORDER BY m.ordinal DESC LIMIT p_page_size + 1);
    FOR message IN SELECT m.* FROM conversations.messages_at(p_conversation, ordinals[1:p_page_size]) m LOOP
        own := 256 + coalesce(octet_length(message.parts), 0) + 64 * coalesce(cardinality(message.recipients), 0);
        IF used > 0 AND used + own > p_bytes THEN
            outcome := 'more';
            EXIT;
        END IF;
        used := used + own;
        RETURN NEXT;
    END LOOP;
    IF cardinality(ordinals) > p_page_size THEN
        last_id := (
            SELECT m.id FROM conversations.message m
            WHERE m.conversation_id = p_conversation AND m.ordinal = ordinals[p_page_size]);
    END IF;
    IF outcome IS NOT NULL OR last_id IS NOT NULL THEN
        message := NULL;
        RETURN NEXT;
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.absence, conversations.server_view, conversations.outside_sender, conversations.unsendable_by_server,
    conversations.is_other_id, conversations.is_content_of, conversations.get_server_content,
    conversations.list_server_messages TO strata_conversations;
