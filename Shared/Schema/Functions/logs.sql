-- SPDX-License-Identifier: Apache-2.0
-- The change log and the users' own logs, as replays read them.
--
-- The meaning of a log_row's `flag` depends on the entry: see the type, conversations.log_row.

-- Returns the entry with a message in its columns.
CREATE OR REPLACE FUNCTION conversations.with_message(entry conversations.log_row, m conversations.message_row)
RETURNS conversations.log_row
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    entry.m_present := m.message_id IS NOT NULL;
    entry.m_message_id := m.message_id;
    entry.m_conversation_id := m.conversation_id;
    entry.m_position := m.position;
    entry.m_ordinal := m.ordinal;
    entry.m_sender := m.sender;
    entry.m_sent_at := m.sent_at;
    entry.m_parts := m.parts;
    entry.m_notification := m.notification;
    entry.m_recipients := m.recipients;
    entry.m_statuses := m.statuses;
    entry.m_updated_at := m.updated_at;
    entry.m_receipt_policy := m.receipt_policy;
    entry.m_sender_name := m.sender_name;
    RETURN entry;
END
$$;

-- Returns the operations of a change of receipts, adjusted for a replay. `p` is the reader; NULL: all participants.
--
-- A replay shows messages in their present state. If a recipient had received a message and was added again later, its
-- status is now "read". The older receipt must not revert that status, because no later change would restore it.
--
-- Each user is looked up once, regardless of the number of receipts. Usually no user was added again, and the
-- operations are unchanged.
CREATE OR REPLACE FUNCTION conversations.receipts_as_told(
    h conversations.change, c conversations.conversation, p conversations.participant) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- The users who were added again after the change, so that messages they had received now count as read.
    again text[] := ARRAY(
        SELECT d.id
        FROM (
            SELECT DISTINCT o.receipt ->> 'user' AS id FROM jsonb_array_elements(h.operations) o(receipt)
            WHERE (o.receipt ->> 'status')::bigint = 1) d
        CROSS JOIN LATERAL (
            SELECT x.joined FROM conversations.participant x
            WHERE x.conversation_id = h.conversation_id AND x.user_id = d.id OFFSET 0) x
        WHERE x.joined > h.position AND (p.left_position IS NULL OR x.joined <= p.left_position)
            AND (c.receipt_policy & 2 = 0 OR d.id = p.user_id));
BEGIN
    IF again = '{}' THEN RETURN h.operations; END IF;
    RETURN (
        SELECT jsonb_agg(
            CASE WHEN (o.receipt ->> 'status')::bigint = 1
                AND o.receipt ->> 'user' = ANY (again) THEN o.receipt || '{"status": 2}' ELSE o.receipt END
            ORDER BY o.n)
        FROM jsonb_array_elements(h.operations) WITH ORDINALITY o(receipt, n));
END
$$;

-- Returns a change as present participants see it.
CREATE OR REPLACE FUNCTION conversations.change_entry(h conversations.change, c conversations.conversation)
RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row;
BEGIN
    entry.entry := conversations.entry_change();
    entry.app_id := c.app_id;
    entry.conversation_id := h.conversation_id;
    entry.position := h.position;
    entry.kind := h.kind;
    entry.actor := h.actor;
    entry.origin_connection := h.origin_connection;
    entry.origin_request := h.origin_request;
    entry.message_id := h.message_id;
    entry.ordinal := h.ordinal;
    entry.message_count := h.message_count;
    entry.operations := h.operations;
    entry.created_at := h.created_at;
    entry.m_present := false;
    entry.m_deleted := false;
    IF h.kind IN (conversations.kind_created(), conversations.kind_participants()) AND c.deleted_position IS NULL THEN
        entry.conversation_created_at := c.created_at;
        entry.is_distinct := c.is_distinct;
        entry.receipt_policy := c.receipt_policy;
        entry.conversation_position := c.position;
        entry.participants := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
    END IF;
    RETURN entry;
END
$$;

-- Returns a change as this user may see it. If nothing is visible or left of it, it is a skipped one. The user's own
-- leaving is shown even if everything was deleted later. The creation and changes of participants and metadata are
-- shown even if the user deleted the messages from their devices later, because the conversation may have returned.
CREATE OR REPLACE FUNCTION conversations.change_for(
    h conversations.change, c conversations.conversation, p conversations.participant)
RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row := conversations.change_entry(h, c);
    skipped boolean := c.deleted_position IS NOT NULL AND h.kind <> conversations.kind_deleted()
        AND NOT (h.kind = conversations.kind_participants() AND h.position IS NOT DISTINCT FROM p.left_position)
        OR h.position <= p.hidden_up_to
        AND h.kind NOT IN (conversations.kind_created(), conversations.kind_participants(),
            conversations.kind_metadata())
        OR h.kind IN (conversations.kind_message_created(), conversations.kind_message_deleted(),
            conversations.kind_parts()) AND NOT conversations.may_see(p, h.ordinal);
BEGIN
    IF NOT skipped AND h.kind IN (conversations.kind_message_created(), conversations.kind_parts()) THEN
        entry := conversations.with_message(entry, conversations.message_for(p, h.ordinal));
        skipped := NOT entry.m_present;
    ELSIF NOT skipped AND h.kind = conversations.kind_message_deleted() THEN
        entry := conversations.with_message(entry, conversations.message_for(p, conversations.last_visible(c, p)));
    ELSIF NOT skipped AND h.kind = conversations.kind_receipts() THEN
        entry.operations := conversations.receipts_as_told(h, c, p);
    END IF;
    IF skipped THEN
        entry := NULL;
        entry.entry := conversations.entry_skipped();
        entry.conversation_id := h.conversation_id;
        entry.position := h.position;
        entry.created_at := h.created_at;
    ELSIF p.left_position IS NOT NULL AND h.kind IN (conversations.kind_created(), conversations.kind_participants())
        AND c.deleted_position IS NULL
    THEN
        entry.participants := '{}';
        entry.conversation_position := p.left_position;
    END IF;
    RETURN entry;
END
$$;

-- Returns an entry of a user's own log.
CREATE OR REPLACE FUNCTION conversations.user_change_entry(u conversations.user_change) RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row;
BEGIN
    entry.entry := conversations.entry_user_change();
    entry.app_id := u.app_id;
    entry.user_id := u.user_id;
    entry.conversation_id := (u.operations ->> 'conversation_id')::uuid;
    entry.message_id := (u.operations ->> 'message_id')::uuid;
    entry.position := u.position;
    entry.kind := u.kind;
    entry.operations := u.operations;
    entry.created_at := u.created_at;
    IF u.kind = conversations.user_kind_hidden() THEN
        entry.flag := (conversations.find_view(u.app_id, u.user_id, entry.conversation_id)).conversation_id IS NULL;
    END IF;
    RETURN entry;
END
$$;

-- Returns a conversation's message count and the counts of one participant.
CREATE OR REPLACE FUNCTION conversations.numbers_entry(c conversations.conversation, p conversations.participant)
RETURNS conversations.log_row
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    entry conversations.log_row;
BEGIN
    entry.entry := conversations.entry_counts();
    entry.app_id := c.app_id;
    entry.conversation_id := c.id;
    entry.user_id := p.user_id;
    entry.position := coalesce(p.left_position, c.position);
    entry.message_count := coalesce(p.left_ordinal, c.message_count);
    entry.uncounted := p.uncounted;
    entry.hidden := p.hidden_count;
    entry.flag := p.left_position IS NULL;
    entry.is_listed := conversations.is_visible(c, p);
    RETURN entry;
END
$$;

-- Returns the size in bytes of an entry in an answer, approximately.
CREATE OR REPLACE FUNCTION conversations.entry_bytes(entry conversations.log_row) RETURNS bigint
LANGUAGE sql STABLE
RETURN 256
    + CASE WHEN pg_column_size((entry).operations) < 200 THEN 200
        ELSE coalesce(octet_length((entry).operations::text), 0) END
    + coalesce(octet_length((entry).m_parts), 0) + coalesce(octet_length((entry).m_notification), 0)
    + 64 * coalesce(cardinality((entry).m_recipients), 0) + 128 * coalesce(cardinality((entry).participants), 0);

-- Returns the changes that read_logs reads, merged by time, at most one more than `p_limit`. `is_own`: an entry of the
-- user's own log. Rows are sorted in their stored form, so that a large value is loaded only for its entry.
CREATE OR REPLACE FUNCTION conversations.merged_logs(
    p_app uuid, p_user text, p_conversations uuid[], p_afters bigint[], p_user_after bigint, p_limit bigint)
RETURNS TABLE (
    is_own boolean, conversation_id uuid, created_at timestamptz, "position" bigint, kind smallint, actor text,
    origin_connection bigint, origin_request bigint, message_id uuid, ordinal bigint, message_count bigint,
    operations jsonb)
LANGUAGE plpgsql STABLE ROWS 500 AS $$
BEGIN
    RETURN QUERY
    SELECT false AS is_own, k.id AS conversation_id, r.created_at, r.position, r.kind, r.actor::text,
        r.origin_connection, r.origin_request, r.message_id, r.ordinal, r.message_count, r.operations
    FROM unnest(p_conversations, p_afters) k(id, after)
    CROSS JOIN LATERAL (
        SELECT x.position FROM conversations.conversation x WHERE x.id = k.id AND x.app_id = p_app OFFSET 0) y
    CROSS JOIN LATERAL (
        SELECT x.first_joined, x.left_position FROM conversations.participant x
        WHERE x.conversation_id = k.id AND x.user_id = p_user OFFSET 0) z
    CROSS JOIN LATERAL (
        SELECT l.created_at, l.position, l.kind, l.actor, l.origin_connection, l.origin_request, l.message_id,
            l.ordinal, l.message_count, l.operations
        FROM conversations.change l
        WHERE l.conversation_id = k.id AND l.position > greatest(k.after, z.first_joined - 1)
            AND l.position <= coalesce(z.left_position, y.position)
        ORDER BY l.position LIMIT p_limit + 1) r
    UNION ALL
    (SELECT true, NULL::uuid, l.created_at, l.position, l.kind, NULL::text, NULL::bigint, NULL::bigint, NULL::uuid,
        NULL::bigint, NULL::bigint, l.operations
    FROM conversations.user_change l
    WHERE l.app_id = p_app AND l.user_id = p_user AND l.position > p_user_after
    ORDER BY l.position LIMIT p_limit + 1)
    ORDER BY 3, 2, 4 LIMIT p_limit + 1;
END
$$;

-- Returns the changes of several conversations (those after `p_afters`) and of the user's own log, merged by time:
-- first entries 1, 2 and 4, then entry 0, then an entry 3 for each conversation that the user may see.
--
-- For a conversation that the user joined after the cursor, the log begins with the joining. For one that the user
-- left, it ends with the leaving. The objects of entries in the own log are not counted in bytes here, because the
-- caller reads them.
CREATE OR REPLACE FUNCTION conversations.read_logs(
    p_app uuid, p_user text, p_conversations uuid[], p_afters bigint[], p_user_after bigint, p_limit bigint,
    p_bytes bigint)
RETURNS SETOF conversations.log_row
LANGUAGE plpgsql STABLE ROWS 500 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    entry conversations.log_row;
    c conversations.conversation;
    p conversations.participant;
    found_row record;
    conversation uuid;
    n bigint := 0;
    own bigint;
    used bigint := 0;
    reaches_heads boolean := true;
BEGIN
    FOR found_row IN
        SELECT l.* FROM conversations.merged_logs(p_app, p_user, p_conversations, p_afters, p_user_after, p_limit) l
    LOOP
        n := n + 1;
        reaches_heads := n <= p_limit;
        EXIT WHEN NOT reaches_heads;
        IF found_row.is_own THEN
            entry := conversations.user_change_entry(
                ROW(p_app, p_user, found_row.position, found_row.kind, found_row.operations,
                    found_row.created_at)::conversations.user_change);
        ELSE
            IF c.id IS DISTINCT FROM found_row.conversation_id THEN
                SELECT * INTO c FROM conversations.conversation x WHERE x.id = found_row.conversation_id;
                SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = c.id AND x.user_id = p_user;
            END IF;
            entry := conversations.change_for(
                ROW(found_row.conversation_id, found_row.position, found_row.kind, found_row.actor,
                    found_row.origin_connection, found_row.origin_request, found_row.message_id, found_row.ordinal,
                    found_row.message_count, found_row.operations, found_row.created_at)::conversations.change,
                c, p);
        END IF;
        IF p_bytes IS NOT NULL THEN
            own := conversations.entry_bytes(entry);
            reaches_heads := used = 0 OR used + own <= p_bytes;
            EXIT WHEN NOT reaches_heads;
            used := used + own;
        END IF;
        RETURN NEXT entry;
    END LOOP;
    entry := NULL;
    entry.entry := conversations.entry_header();
    entry.flag := reaches_heads;
    RETURN NEXT entry;
    FOREACH conversation IN ARRAY p_conversations LOOP
        SELECT * INTO p FROM conversations.participant x
        WHERE x.conversation_id = conversation AND x.user_id = p_user AND x.app_id = p_app;
        CONTINUE WHEN NOT FOUND;
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = conversation;
        CONTINUE WHEN c.deleted_position IS NOT NULL;
        RETURN NEXT conversations.numbers_entry(c, p);
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.with_message, conversations.receipts_as_told, conversations.change_entry, conversations.change_for,
    conversations.user_change_entry, conversations.numbers_entry, conversations.entry_bytes, conversations.merged_logs,
    conversations.read_logs TO strata_conversations;
