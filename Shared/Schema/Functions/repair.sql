-- SPDX-License-Identifier: Apache-2.0
-- Reading one conversation's log for gateways that missed publications.

-- Returns the entries of participants who see another last message than the others after a deletion at this position.
CREATE OR REPLACE FUNCTION conversations.override_entries(c conversations.conversation, p_position bigint)
RETURNS SETOF conversations.log_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    entry conversations.log_row;
    other record;
BEGIN
    FOR other IN SELECT o.override_user, o.message FROM conversations.last_message_overrides(c) o LOOP
        entry := NULL;
        entry.entry := conversations.entry_override();
        entry.conversation_id := c.id;
        entry.position := p_position;
        entry.user_id := other.override_user;
        RETURN NEXT conversations.with_message(entry, other.message);
    END LOOP;
END
$$;

-- Returns one conversation's log after a position, with messages in their present state, for all participants. No row:
-- the conversation does not exist.
--
-- Rows, in order:
-- - entry 0 with the head;
-- - entries 1, each of kind 6 followed by its entries 5;
-- - an entry 3 for each of `p_users` who is a participant.
CREATE OR REPLACE FUNCTION conversations.read_changes(
    p_conversation uuid, p_after bigint, p_limit bigint, p_users text[], p_bytes bigint)
RETURNS SETOF conversations.log_row
LANGUAGE plpgsql STABLE ROWS 50 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    entry conversations.log_row;
    c conversations.conversation;
    p conversations.participant;
    h conversations.change;
    other conversations.log_row;
    own bigint;
    used bigint := 0;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    IF NOT FOUND THEN RETURN; END IF;
    entry.entry := conversations.entry_header();
    entry.app_id := c.app_id;
    entry.conversation_id := c.id;
    entry.position := c.position;
    RETURN NEXT entry;

    FOR h IN
        SELECT l.* FROM conversations.change l WHERE l.conversation_id = p_conversation AND l.position > p_after
        ORDER BY l.position LIMIT p_limit
    LOOP
        entry := conversations.change_entry(h, c);
        IF h.kind IN (conversations.kind_message_created(), conversations.kind_parts()) THEN
            IF c.deleted_position IS NULL THEN
                entry := conversations.with_message(entry, conversations.message_at(c.id, h.ordinal));
            END IF;
            entry.m_deleted := NOT entry.m_present;
        ELSIF h.kind = conversations.kind_message_deleted() AND c.deleted_position IS NULL THEN
            entry := conversations.with_message(entry, conversations.message_at(c.id, c.last_ordinal));
        ELSIF h.kind = conversations.kind_receipts() THEN
            entry.operations := conversations.receipts_as_told(h, c, NULL);
        END IF;
        IF p_bytes IS NOT NULL THEN
            own := conversations.entry_bytes(entry);
            EXIT WHEN used > 0 AND used + own > p_bytes;
            used := used + own;
        END IF;
        RETURN NEXT entry;
        CONTINUE WHEN h.kind <> conversations.kind_message_deleted() OR c.deleted_position IS NOT NULL
            OR NOT (h.operations ->> 'last_changed')::boolean;
        FOR other IN SELECT o.* FROM conversations.override_entries(c, h.position) o LOOP
            used := used + 256 + coalesce(octet_length(other.m_parts), 0)
                + coalesce(octet_length(other.m_notification), 0);
            RETURN NEXT other;
        END LOOP;
    END LOOP;

    FOR p IN
        SELECT x.* FROM conversations.participant x
        WHERE x.conversation_id = p_conversation AND x.user_id = ANY (p_users) AND x.left_position IS NULL
    LOOP
        RETURN NEXT conversations.numbers_entry(c, p);
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.override_entries, conversations.read_changes TO strata_conversations;
