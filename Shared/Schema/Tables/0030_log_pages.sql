-- SPDX-License-Identifier: Apache-2.0
-- Reading the logs by bytes: a page is as many entries as `p_limit` and `p_bytes` allow, at least one, and the caller asks again for the rest. Null is no
-- bound.

-- What an entry takes in an answer is counted about: names are added to it later. Operations that are short as they are stored are so in full, too; of others
-- the length in full is what counts, for metadata may be stored compressed a hundred times. It is written out in each place, since a function that is given an
-- entry would have it put together anew for every field.

-- The changes owed to one user on several conversations (those after `p_afters`) and in his own log, merged by time: first entries 1, 2 and 4, then entry 0,
-- then an entry 3 for each conversation he may see. For a conversation he came to later than his cursor the log begins with his coming, and for one he left it
-- ends with his leaving. What entries of his own log are about is not counted in bytes here: the caller looks it up.
--
-- Rows are sorted as they are stored: a large value stays where it is until its entry's turn has come.
CREATE FUNCTION conversations.read_logs(
    p_app uuid, p_user text, p_conversations uuid[], p_afters bigint[], p_user_after bigint, p_limit bigint, p_bytes bigint)
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
    met_heads boolean := true;
BEGIN
    FOR found_row IN
        SELECT false AS is_own, k.id AS conversation_id, r.created_at, r.position, r.kind, r.actor, r.origin_connection, r.origin_request, r.message_id,
            r.ordinal, r.message_count, r.operations
        FROM unnest(p_conversations, p_afters) k(id, after)
        CROSS JOIN LATERAL (
            SELECT x.position FROM conversations.conversation x WHERE x.id = k.id AND x.app_id = p_app OFFSET 0) y
        CROSS JOIN LATERAL (
            SELECT x.first_joined, x.left_position FROM conversations.participant x
            WHERE x.conversation_id = k.id AND x.user_id = p_user OFFSET 0) z
        CROSS JOIN LATERAL (
            SELECT l.created_at, l.position, l.kind, l.actor, l.origin_connection, l.origin_request, l.message_id, l.ordinal, l.message_count, l.operations
            FROM conversations.change l
            WHERE l.conversation_id = k.id AND l.position > greatest(k.after, z.first_joined - 1)
                AND l.position <= coalesce(z.left_position, y.position)
            ORDER BY l.position LIMIT p_limit + 1) r
        UNION ALL
        (SELECT true, NULL::uuid, l.created_at, l.position, l.kind, NULL::text COLLATE "C", NULL::bigint, NULL::bigint, NULL::uuid, NULL::bigint,
            NULL::bigint, l.operations
        FROM conversations.user_change l
        WHERE l.app_id = p_app AND l.user_id = p_user AND l.position > p_user_after
        ORDER BY l.position LIMIT p_limit + 1)
        ORDER BY 3, 2, 4 LIMIT p_limit + 1
    LOOP
        n := n + 1;
        IF n > p_limit THEN
            met_heads := false;
            EXIT;
        END IF;
        IF found_row.is_own THEN
            entry := conversations.user_change_entry(
                ROW(p_app, p_user, found_row.position, found_row.kind, found_row.operations, found_row.created_at)::conversations.user_change);
        ELSE
            IF c.id IS DISTINCT FROM found_row.conversation_id THEN
                SELECT * INTO c FROM conversations.conversation x WHERE x.id = found_row.conversation_id;
                SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = c.id AND x.user_id = p_user;
            END IF;
            entry := conversations.change_for(
                ROW(found_row.conversation_id, found_row.position, found_row.kind, found_row.actor, found_row.origin_connection,
                    found_row.origin_request, found_row.message_id, found_row.ordinal, found_row.message_count, found_row.operations,
                    found_row.created_at)::conversations.change,
                c, p);
        END IF;
        IF p_bytes IS NOT NULL THEN
            own := 256 + CASE WHEN pg_column_size(entry.operations) < 200 THEN 200 ELSE coalesce(octet_length(entry.operations::text), 0) END
                + coalesce(octet_length(entry.m_parts), 0) + coalesce(octet_length(entry.m_notification), 0)
                + 64 * coalesce(cardinality(entry.m_recipients), 0) + 128 * coalesce(cardinality(entry.participants), 0);
            IF used > 0 AND used + own > p_bytes THEN
                met_heads := false;
                EXIT;
            END IF;
            used := used + own;
        END IF;
        RETURN NEXT entry;
    END LOOP;
    entry := NULL;
    entry.entry := 0;
    entry.met_heads := met_heads;
    RETURN NEXT entry;
    FOREACH conversation IN ARRAY p_conversations LOOP
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = conversation AND x.user_id = p_user AND x.app_id = p_app;
        CONTINUE WHEN NOT FOUND;
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = conversation;
        CONTINUE WHEN c.deleted_position IS NOT NULL;
        RETURN NEXT conversations.numbers_entry(c, p);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION conversations.read_logs(
    p_app uuid, p_user text, p_conversations uuid[], p_afters bigint[], p_user_after bigint, p_limit bigint)
RETURNS SETOF conversations.log_row
LANGUAGE sql STABLE ROWS 500 AS $$
    SELECT l.* FROM conversations.read_logs(p_app, p_user, p_conversations, p_afters, p_user_after, p_limit, NULL) l
$$;

-- One conversation's log after a position, with bodies as they are now, for everybody: first entry 0 with the head, then entries 1, each of kind 6 followed by
-- its entries 5, then an entry 3 for each of `p_users` who is a participant. No row: there is no such conversation.
CREATE FUNCTION conversations.read_changes(p_conversation uuid, p_after bigint, p_limit bigint, p_users text[], p_bytes bigint)
RETURNS SETOF conversations.log_row
LANGUAGE plpgsql STABLE ROWS 50 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    entry conversations.log_row;
    c conversations.conversation;
    p conversations.participant;
    h conversations.change;
    other record;
    own bigint;
    used bigint := 0;
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
        ELSIF h.kind = 7 THEN
            entry.operations := conversations.receipts_as_told(h, c, NULL);
        END IF;
        IF p_bytes IS NOT NULL THEN
            own := 256 + CASE WHEN pg_column_size(entry.operations) < 200 THEN 200 ELSE coalesce(octet_length(entry.operations::text), 0) END
                + coalesce(octet_length(entry.m_parts), 0) + coalesce(octet_length(entry.m_notification), 0)
                + 64 * coalesce(cardinality(entry.m_recipients), 0) + 128 * coalesce(cardinality(entry.participants), 0);
            EXIT WHEN used > 0 AND used + own > p_bytes;
            used := used + own;
        END IF;
        RETURN NEXT entry;
        CONTINUE WHEN h.kind <> 6 OR c.deleted_position IS NOT NULL OR NOT (h.operations ->> 'last_changed')::boolean;
        FOR other IN SELECT o.override_user, o.message FROM conversations.last_message_overrides(c) o LOOP
            entry := NULL;
            entry.entry := 5;
            entry.conversation_id := c.id;
            entry.position := h.position;
            entry.user_id := other.override_user;
            entry := conversations.with_message(entry, other.message);
            used := used + 256 + coalesce(octet_length(entry.m_parts), 0) + coalesce(octet_length(entry.m_notification), 0);
            RETURN NEXT entry;
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

CREATE OR REPLACE FUNCTION conversations.read_changes(p_conversation uuid, p_after bigint, p_limit bigint, p_users text[])
RETURNS SETOF conversations.log_row
LANGUAGE sql STABLE ROWS 50 AS $$
    SELECT l.* FROM conversations.read_changes(p_conversation, p_after, p_limit, p_users, NULL) l
$$;

-- As `trees`, for as many of the conversations, from the first on, as fit. How large they are is known before they are read, of nearly all. One of more than
-- `p_most` bytes is not read: it ends the answer, or, if it is the first one, is all of it, without paths and values.
CREATE FUNCTION metadata.trees_within(p_app uuid, p_conversations uuid[], p_users text[], p_bytes bigint, p_most bigint)
RETURNS TABLE (n bigint, "position" bigint, paths text[], vals text[])
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off AS $$
DECLARE
    tree record;
    own bigint;
    used bigint := 0;
    done bigint := 0;
    -- Of the next ones; 0: not counted, or kept for somebody who left.
    sizes bigint[];
    planned bigint;
    count bigint;
    -- What is taken for the size of one that was not counted: a few are read first, and then as many as are likely to fit.
    guess bigint := p_bytes / 4;
BEGIN
    WHILE done < cardinality(p_conversations) LOOP
        sizes := ARRAY(
            SELECT CASE WHEN k.is_kept IS NULL THEN coalesce(t.bytes, 0) ELSE 0 END
            FROM unnest(p_conversations[done + 1:done + 64], p_users[done + 1:done + 64]) WITH ORDINALITY i(id, user_id, n)
            LEFT JOIN LATERAL (SELECT x.bytes FROM metadata.tree x WHERE x.conversation_id = i.id OFFSET 0) t ON true
            LEFT JOIN LATERAL (
                SELECT true AS is_kept FROM metadata.kept_tree x WHERE x.conversation_id = i.id AND x.user_id = i.user_id OFFSET 0) k ON true
            ORDER BY i.n);
        count := 0;
        planned := used;
        FOREACH own IN ARRAY sizes LOOP
            EXIT WHEN own > p_most OR planned > 0 AND planned + CASE own WHEN 0 THEN guess ELSE own END > p_bytes;
            planned := planned + CASE own WHEN 0 THEN guess ELSE own END;
            count := count + 1;
        END LOOP;
        IF count = 0 THEN
            IF done = 0 THEN
                n := 1;
                RETURN NEXT;
            END IF;
            RETURN;
        END IF;
        FOR tree IN
            SELECT t.n, t.position, t.paths, t.vals
            FROM metadata.trees(p_app, p_conversations[done + 1:done + count], p_users[done + 1:done + count]) t ORDER BY t.n
        LOOP
            own := pg_column_size(tree.paths) + pg_column_size(tree.vals);
            IF used > 0 AND used + own > p_bytes THEN RETURN; END IF;
            used := used + own;
            n := done + tree.n;
            "position" := tree.position;
            paths := tree.paths;
            vals := tree.vals;
            IF own > p_most THEN
                paths := NULL;
                vals := NULL;
            END IF;
            RETURN NEXT;
        END LOOP;
        done := done + count;
        guess := used / done;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION metadata.trees_within(uuid, uuid[], text[], bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION metadata.trees_within(uuid, uuid[], text[], bigint, bigint) TO strata_metadata;
REVOKE ALL ON FUNCTION
    conversations.read_logs(uuid, text, uuid[], bigint[], bigint, bigint, bigint),
    conversations.read_changes(uuid, bigint, bigint, text[], bigint)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    conversations.read_logs(uuid, text, uuid[], bigint[], bigint, bigint, bigint),
    conversations.read_changes(uuid, bigint, bigint, text[], bigint)
TO strata_conversations;
