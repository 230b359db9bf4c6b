-- SPDX-License-Identifier: Apache-2.0
-- Reading the change log as it was published, and the rows both ways of reading share.

CREATE FUNCTION conversations.numbers_entry(c conversations.conversation, p conversations.participant) RETURNS conversations.log_row
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    entry conversations.log_row;
BEGIN
    entry.entry := 3;
    entry.app_id := c.app_id;
    entry.conversation_id := c.id;
    entry.user_id := p.user_id;
    entry.position := coalesce(p.left_position, c.position);
    entry.message_count := coalesce(p.left_ordinal, c.message_count);
    entry.uncounted := p.uncounted;
    entry.hidden := p.hidden_count;
    entry.met_heads := p.left_position IS NULL;
    entry.is_listed := conversations.is_visible(c, p);
    RETURN entry;
END
$$;

CREATE FUNCTION conversations.user_change_entry(u conversations.user_change) RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row;
BEGIN
    entry.entry := 2;
    entry.app_id := u.app_id;
    entry.user_id := u.user_id;
    entry.conversation_id := (u.operations ->> 'conversation_id')::uuid;
    entry.message_id := (u.operations ->> 'message_id')::uuid;
    entry.position := u.position;
    entry.kind := u.kind;
    entry.operations := u.operations;
    entry.created_at := u.created_at;
    IF u.kind = 1 THEN
        entry.met_heads := (conversations.find_view(u.app_id, u.user_id, entry.conversation_id)).conversation_id IS NULL;
    END IF;
    RETURN entry;
END
$$;

-- One conversation's log after a position, with bodies as they are now, for everybody: first entry 0 with the head, then entries 1, each of kind 6 followed by
-- its entries 5, then an entry 3 for each of `p_users` who is a participant. No row: there is no such conversation.
CREATE FUNCTION conversations.read_changes(p_conversation uuid, p_after bigint, p_limit bigint, p_users text[]) RETURNS SETOF conversations.log_row
LANGUAGE plpgsql STABLE ROWS 50 AS $$
DECLARE
    entry conversations.log_row;
    c conversations.conversation;
    p conversations.participant;
    h conversations.change;
    other record;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    IF NOT FOUND THEN RETURN; END IF;
    entry.entry := 0;
    entry.app_id := c.app_id;
    entry.conversation_id := c.id;
    entry.position := c.position;
    RETURN NEXT entry;

    FOR h IN
        SELECT l.* FROM conversations.change l WHERE l.conversation_id = p_conversation AND l.position > p_after ORDER BY l.position LIMIT p_limit
    LOOP
        entry := conversations.change_entry(h, c);
        IF h.kind IN (5, 9) THEN
            IF c.deleted_position IS NULL THEN
                entry := conversations.with_message(entry, conversations.message_at(c.id, h.ordinal));
            END IF;
            entry.m_deleted := NOT entry.m_present;
        ELSIF h.kind = 6 AND c.deleted_position IS NULL THEN
            entry := conversations.with_message(entry, conversations.message_at(c.id, c.last_ordinal));
        END IF;
        RETURN NEXT entry;
        CONTINUE WHEN h.kind <> 6 OR c.deleted_position IS NOT NULL OR NOT (h.operations ->> 'last_changed')::boolean;
        FOR other IN SELECT o.override_user, o.message FROM conversations.last_message_overrides(c) o LOOP
            entry := NULL;
            entry.entry := 5;
            entry.conversation_id := c.id;
            entry.position := h.position;
            entry.user_id := other.override_user;
            RETURN NEXT conversations.with_message(entry, other.message);
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
