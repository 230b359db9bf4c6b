-- SPDX-License-Identifier: Apache-2.0
-- Reading the change log.

-- One row of an answer. Entries: 0 about the whole, 1 a change, 2 a change of a user's own log, 3 a user's numbers, 4 a change that is skipped, 5 the last
-- message of a user who, of a deletion (entry 1, kind 6), sees another one. `m_` is a message: of kinds 5 and 9 itself, of kind 6 and entry 5 the last
-- one now.
CREATE TYPE conversations.log_row AS (
    entry bigint, app_id uuid, conversation_id uuid, "position" bigint, kind bigint, actor text, origin_connection bigint, origin_request bigint,
    message_id uuid, ordinal bigint, message_count bigint, operations jsonb, created_at timestamptz, user_id text,
    -- Entry 0: nothing is left beyond these entries. Entry 2, kind 1: the conversation is not on the user's list now. Entry 3: he takes part in it.
    met_heads boolean,
    uncounted bigint, hidden bigint,
    -- Entry 3: the conversation is on his list.
    is_listed boolean,
    -- Entry 1, kinds 1 and 2: the conversation as it is now.
    conversation_created_at timestamptz, is_distinct boolean, receipt_policy bigint, conversation_position bigint, participants text[],
    m_present boolean, m_message_id uuid, m_conversation_id uuid, m_position bigint, m_ordinal bigint, m_sender text, m_sent_at timestamptz,
    m_parts bytea, m_notification text, m_recipients text[], m_statuses bigint[], m_updated_at timestamptz, m_receipt_policy bigint,
    -- Entry 1, kind 5: it was deleted since.
    m_deleted boolean);

CREATE FUNCTION conversations.with_message(entry conversations.log_row, m conversations.message_row) RETURNS conversations.log_row
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
    RETURN entry;
END
$$;

CREATE FUNCTION conversations.change_entry(h conversations.change, c conversations.conversation) RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row;
BEGIN
    entry.entry := 1;
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
    IF h.kind IN (1, 2) AND c.deleted_position IS NULL THEN
        entry.conversation_created_at := c.created_at;
        entry.is_distinct := c.is_distinct;
        entry.receipt_policy := c.receipt_policy;
        entry.conversation_position := c.position;
        entry.participants := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
    END IF;
    RETURN entry;
END
$$;

-- A change as this user may know of it: where nothing is left to tell, or nothing that he may see, a skipped one. That he left is told even if all was
-- deleted later; and participants and metadata concern him too before he deleted the messages from his devices, for the conversation may have come back.
CREATE FUNCTION conversations.change_for(h conversations.change, c conversations.conversation, p conversations.participant)
RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row := conversations.change_entry(h, c);
    skipped boolean := c.deleted_position IS NOT NULL AND h.kind <> 4 AND NOT (h.kind = 2 AND h.position IS NOT DISTINCT FROM p.left_position)
        OR h.position <= p.hidden_up_to AND h.kind NOT IN (2, 3)
        OR h.kind IN (5, 6, 9) AND NOT conversations.may_see(p, h.ordinal);
BEGIN
    IF NOT skipped AND h.kind IN (5, 9) THEN
        entry := conversations.with_message(entry, conversations.message_for(p, h.ordinal));
        skipped := NOT entry.m_present;
    ELSIF NOT skipped AND h.kind = 6 THEN
        entry := conversations.with_message(entry, conversations.message_for(p, conversations.last_visible(c, p)));
    END IF;
    IF skipped THEN
        entry := NULL;
        entry.entry := 4;
        entry.conversation_id := h.conversation_id;
        entry.position := h.position;
        entry.created_at := h.created_at;
    ELSIF p.left_position IS NOT NULL AND h.kind IN (1, 2) AND c.deleted_position IS NULL THEN
        entry.participants := '{}';
        entry.conversation_position := p.left_position;
    END IF;
    RETURN entry;
END
$$;

-- The changes owed to one user on several conversations (those after `p_afters`) and in his own log, merged by time, at most `p_limit`: first entry 0,
-- then entries 1, 2 and 4, then an entry 3 for each conversation he may see. For a conversation he came to later than his cursor the log begins with
-- his coming, and for one he left it ends with his leaving.
CREATE FUNCTION conversations.read_logs(
    p_app uuid, p_user text, p_conversations uuid[], p_afters bigint[], p_user_after bigint, p_limit bigint)
RETURNS SETOF conversations.log_row
LANGUAGE plpgsql STABLE ROWS 500 AS $$
DECLARE
    entry conversations.log_row;
    c conversations.conversation;
    p conversations.participant;
    found_row record;
    n bigint := 0;
BEGIN
    FOR found_row IN
        SELECT x.h, x.u, count(*) OVER () AS count
        FROM (
            SELECT r.h, NULL::conversations.user_change AS u, r.created_at, k.id, r.position
            FROM unnest(p_conversations, p_afters) k(id, after)
            JOIN conversations.conversation y ON y.id = k.id AND y.app_id = p_app
            JOIN conversations.participant z ON z.conversation_id = k.id AND z.user_id = p_user
            CROSS JOIN LATERAL (
                SELECT l AS h, l.created_at, l.position FROM conversations.change l
                WHERE l.conversation_id = k.id AND l.position > greatest(k.after, z.first_joined - 1)
                    AND l.position <= coalesce(z.left_position, y.position)
                ORDER BY l.position LIMIT p_limit + 1) r
            UNION ALL
            (SELECT NULL::conversations.change, l, l.created_at, NULL::uuid, l.position
            FROM conversations.user_change l
            WHERE l.app_id = p_app AND l.user_id = p_user AND l.position > p_user_after
            ORDER BY l.position LIMIT p_limit + 1)
            ORDER BY 3, 4, 5 LIMIT p_limit + 1) x
        ORDER BY x.created_at, x.id, x.position
    LOOP
        IF n = 0 THEN
            entry := NULL;
            entry.entry := 0;
            entry.met_heads := found_row.count <= p_limit;
            RETURN NEXT entry;
        END IF;
        n := n + 1;
        EXIT WHEN n > p_limit;
        IF (found_row.u).position IS NOT NULL THEN
            RETURN NEXT conversations.user_change_entry(found_row.u);
            CONTINUE;
        END IF;
        IF c.id IS DISTINCT FROM (found_row.h).conversation_id THEN
            SELECT * INTO c FROM conversations.conversation x WHERE x.id = (found_row.h).conversation_id;
            SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = c.id AND x.user_id = p_user;
        END IF;
        RETURN NEXT conversations.change_for(found_row.h, c, p);
    END LOOP;
    IF n = 0 THEN
        entry.entry := 0;
        entry.met_heads := true;
        RETURN NEXT entry;
    END IF;
    FOR p IN
        SELECT x.* FROM unnest(p_conversations) k(id)
        JOIN conversations.participant x ON x.conversation_id = k.id AND x.user_id = p_user AND x.app_id = p_app
    LOOP
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = p.conversation_id;
        CONTINUE WHEN c.deleted_position IS NOT NULL;
        RETURN NEXT conversations.numbers_entry(c, p);
    END LOOP;
END
$$;
