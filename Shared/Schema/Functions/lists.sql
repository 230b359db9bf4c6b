-- SPDX-License-Identifier: Apache-2.0
-- Conversations as one user sees them, and the list of a user's conversations.

-- True if this participant, present or former, has the conversation on their list.
CREATE OR REPLACE FUNCTION conversations.is_visible(
    c conversations.conversation, p conversations.participant) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (c).deleted_position IS NULL
    AND (NOT (p).is_hidden OR coalesce((p).left_ordinal, (c).message_count) > (p).hidden_count);

-- Returns the ordinal of the newest message that this participant sees, found by a search; 0: none.
CREATE OR REPLACE FUNCTION conversations.search_last_visible(
    c conversations.conversation, p conversations.participant) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT o.ordinal
        FROM conversations.visible_ordinals(p, coalesce(p.left_ordinal, c.last_ordinal) + 1, 1) o(ordinal)), 0);
END
$$;

-- Returns the ordinal of the newest message that this participant sees; 0: none. The planner replaces a call by this
-- expression, which needs no search for most participants.
CREATE OR REPLACE FUNCTION conversations.last_visible(
    c conversations.conversation, p conversations.participant) RETURNS bigint
LANGUAGE sql STABLE
RETURN CASE
    WHEN (p).left_position IS NOT NULL OR NOT isempty((p).hidden) THEN conversations.search_last_visible(c, p)
    WHEN (c).last_ordinal > (p).hidden_ordinal THEN (c).last_ordinal ELSE 0 END;

-- Returns a conversation as this present participant sees it, without its metadata tree. The planner replaces a call in
-- FROM by this query, so a query for many conversations is one statement.
CREATE OR REPLACE FUNCTION conversations.select_view(c conversations.conversation, p conversations.participant)
RETURNS SETOF conversations.view_row
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT (c).id, (c).created_at, (c).is_distinct, (c).position, r.user_ids, true,
        (c).message_count, (p).uncounted, (p).hidden_count,
        m.message_id, m.position, m.ordinal, m.sender, m.sent_at, m.parts, m.notification, m.recipients, m.statuses,
        m.updated_at, (c).receipt_policy, m.sender_name, NULL::text[], NULL::text[]
    FROM conversations.roster r
    LEFT JOIN LATERAL conversations.select_message((c).id, conversations.last_visible(c, p)) m ON true
    WHERE r.conversation_id = (c).id
$$;

-- Returns a conversation as this participant sees it, with its metadata tree if that has at most `p_room` bytes.
CREATE OR REPLACE FUNCTION conversations.view_of(
    c conversations.conversation, p conversations.participant, p_room bigint DEFAULT 0) RETURNS conversations.view_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    view conversations.view_row;
    tree record;
BEGIN
    IF p.left_position IS NULL THEN
        SELECT * INTO view FROM conversations.select_view(c, p);
        tree := metadata.tree_within(p_room, c.id, NULL, c.position);
    ELSE
        SELECT c.id, c.created_at, c.is_distinct, p.left_position, '{}', false,
            p.left_ordinal, p.uncounted, p.hidden_count,
            m.message_id, m.position, m.ordinal, m.sender, m.sent_at, m.parts, m.notification, m.recipients, m.statuses,
            m.updated_at, c.receipt_policy, m.sender_name, NULL, NULL
        INTO view FROM conversations.message_for(p, conversations.last_visible(c, p)) m;
        tree := metadata.tree_within(p_room, c.id, p.user_id, c.position);
    END IF;
    view.paths := tree.paths;
    view.vals := tree.vals;
    RETURN view;
END
$$;

-- Returns a conversation as this user sees it, with its metadata tree if that has at most `p_room` bytes; NULL if the
-- user may not see the conversation. The app's own server (no user) sees every conversation that is not deleted.
CREATE OR REPLACE FUNCTION conversations.find_view(
    p_app uuid, p_user text, p_conversation uuid, p_room bigint DEFAULT 0) RETURNS conversations.view_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app;
    IF NOT FOUND THEN RETURN NULL; END IF;
    IF p_user IS NULL THEN
        RETURN CASE WHEN c.deleted_position IS NULL THEN conversations.server_view(c, p_room) END;
    END IF;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF NOT FOUND OR NOT conversations.is_visible(c, p) THEN RETURN NULL; END IF;
    RETURN conversations.view_of(c, p, p_room);
END
$$;

-- Returns a conversation as `find_view` does. No row: the user may not see it.
CREATE OR REPLACE FUNCTION conversations.get_conversation(
    p_app uuid, p_user text, p_conversation uuid, p_room bigint) RETURNS SETOF conversations.view_row
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    view conversations.view_row := conversations.find_view(p_app, p_user, p_conversation, p_room);
BEGIN
    IF view.conversation_id IS NOT NULL THEN RETURN NEXT view; END IF;
END
$$;

-- Returns the approximate size of a view in an answer in bytes. Identities are added to the answer later.
CREATE OR REPLACE FUNCTION conversations.view_bytes(v conversations.view_row) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 256 + coalesce(octet_length(v.last_parts), 0) + coalesce(octet_length(v.last_notification), 0)
    + 128 * cardinality(v.participants) + coalesce(pg_column_size(v.paths) + pg_column_size(v.vals), 0);

-- Returns the maximum size, in bytes, of the next conversation's tree in an answer of at most `p_bytes` (NULL: no
-- limit) with `p_used` bytes. The first conversation of an answer may exceed the limit.
CREATE OR REPLACE FUNCTION conversations.tree_room(p_used bigint, p_bytes bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(CASE WHEN p_used > 0 THEN p_bytes - p_used END, metadata.largest_tree());

-- Returns the conversations with these ids, in this order, as `find_view` does, without those that the user does not
-- see. The last row has no view: it has the number of ids that the answer covers. A conversation without a tree does
-- not fit into any answer.
--
-- Several conversations are read at a time, with their trees if these are small, because starting a statement takes
-- longer than reading one conversation. The generic plan is forced, because the planner would otherwise make a new plan
-- for each array.
CREATE OR REPLACE FUNCTION conversations.views_of(p_app uuid, p_user text, p_ids uuid[], p_bytes bigint)
RETURNS TABLE (covered bigint, view conversations.view_row)
LANGUAGE plpgsql STABLE ROWS 50 SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    small_tree CONSTANT bigint := 4096; -- bytes
    most_together CONSTANT bigint := 50;
    step bigint := 10;
    done bigint := 0;
    used bigint := 0;
    own bigint;
    room bigint;
    seen record;
BEGIN
    WHILE done < cardinality(p_ids) LOOP
        FOR seen IN
            SELECT i.n, c.row AS c, p.row AS p, o.is_whole, v.row AS view, conversations.view_bytes(v.row) AS bytes,
                t.paths, t.vals
            FROM unnest(p_ids[done + 1 : done + step]) WITH ORDINALITY i(id, n)
            CROSS JOIN LATERAL (
                SELECT x AS row FROM conversations.conversation x WHERE x.id = i.id AND x.app_id = p_app OFFSET 0) c
            LEFT JOIN LATERAL (
                SELECT x AS row FROM conversations.participant x
                WHERE x.conversation_id = i.id AND x.user_id = p_user OFFSET 0) p ON true
            LEFT JOIN LATERAL (
                SELECT coalesce(x.bytes <= small_tree, false) AS is_small
                FROM metadata.tree x WHERE x.conversation_id = i.id OFFSET 0) s ON true
            CROSS JOIN LATERAL (
                SELECT p_user IS NOT NULL AND (p.row).left_position IS NULL AND s.is_small IS NOT false AS is_whole
                OFFSET 0) o
            LEFT JOIN LATERAL (
                SELECT x AS row FROM conversations.select_view(c.row, p.row) x WHERE o.is_whole) v ON true
            CROSS JOIN LATERAL (
                SELECT coalesce(array_agg(l.path), '{}') AS paths, coalesce(array_agg(l.value), '{}') AS vals
                FROM (
                    SELECT y.path, y.value FROM metadata.leaf y
                    WHERE y.conversation_id = i.id AND o.is_whole ORDER BY y.path) l) t
            WHERE CASE WHEN p_user IS NULL THEN (c.row).deleted_position IS NULL
                ELSE (p.row).user_id IS NOT NULL AND conversations.is_visible(c.row, p.row) END
            ORDER BY i.n
        LOOP
            IF seen.is_whole THEN
                view := seen.view;
                view.paths := seen.paths;
                view.vals := seen.vals;
                own := seen.bytes + pg_column_size(view.paths) + pg_column_size(view.vals);
            ELSE
                room := conversations.tree_room(used, p_bytes);
                view := CASE WHEN p_user IS NULL THEN conversations.server_view(seen.c, room)
                    ELSE conversations.view_of(seen.c, seen.p, room) END;
                own := conversations.view_bytes(view);
            END IF;
            IF used > 0 AND (view.paths IS NULL OR used + own > p_bytes) THEN
                covered := done + seen.n - 1;
                view := NULL;
                RETURN NEXT;
                RETURN;
            END IF;
            used := used + own;
            RETURN NEXT;
        END LOOP;
        done := done + step;
        -- About as many as still fit. The first conversation may have exceeded the limit.
        step := greatest(1, least(most_together, (p_bytes - used) / greatest(used / done, 1)));
    END LOOP;
    covered := cardinality(p_ids);
    view := NULL;
    RETURN NEXT;
END
$$;

-- Returns the sort key of a conversation in a user's list: the time of its creation, or of the last message that the
-- user sees, if there is one.
CREATE OR REPLACE FUNCTION conversations.list_key(
    c conversations.conversation, p conversations.participant, p_by_last_message boolean) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    sent_at timestamptz;
BEGIN
    IF NOT p_by_last_message THEN RETURN c.created_at; END IF;
    SELECT m.sent_at INTO sent_at FROM conversations.message m
    WHERE m.conversation_id = c.id AND m.ordinal = conversations.last_visible(c, p);
    RETURN coalesce(sent_at, c.created_at);
END
$$;

-- The flag is_listed of user_conversation says which conversations are on a user's list. Triggers maintain it, so that
-- it is correct after every writing function. They write under the conversation's lock, and only if a participant joins
-- again, leaves or hides something, or if a hidden conversation returns. So a message still writes only the
-- conversation's row and its sender's.
--
-- CREATE TRIGGER locks its table against writes. Triggers of `conversation` are replaced before those of `participant`,
-- in the order in which writers lock these tables. The other order would deadlock.

-- Restores a hidden conversation to users' lists after a new message.
CREATE OR REPLACE FUNCTION conversations.keep_returned() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    returned text;
BEGIN
    FOR returned IN
        SELECT p.user_id FROM conversations.participant p
        WHERE p.conversation_id = NEW.id AND p.is_hidden AND conversations.is_visible(NEW, p)
    LOOP
        UPDATE conversations.user_conversation u SET is_listed = true
        WHERE u.app_id = NEW.app_id AND u.user_id = returned AND u.conversation_id = NEW.id AND NOT u.is_listed;
    END LOOP;
    -- It stays hidden from users who may not see this message. A later one restores it for them.
    IF NOT EXISTS (
        SELECT FROM conversations.participant p
        WHERE p.conversation_id = NEW.id AND p.is_hidden AND p.left_position IS NULL
            AND NOT conversations.is_visible(NEW, p))
    THEN
        UPDATE conversations.conversation x SET has_hidden = false WHERE x.id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER keep_returned AFTER UPDATE OF message_count ON conversations.conversation
FOR EACH ROW WHEN (NEW.has_hidden AND NEW.message_count > OLD.message_count)
EXECUTE FUNCTION conversations.keep_returned();

-- Removes a conversation from all lists after its deletion for all.
CREATE OR REPLACE FUNCTION conversations.keep_unlisted() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    participant text;
BEGIN
    FOR participant IN SELECT p.user_id FROM conversations.participant p WHERE p.conversation_id = NEW.id LOOP
        -- Do not add "AND is_listed": the planner could then use the index of listed conversations, and read all of the
        -- user's conversations.
        UPDATE conversations.user_conversation u SET is_listed = false
        WHERE u.app_id = NEW.app_id AND u.user_id = participant AND u.conversation_id = NEW.id;
    END LOOP;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER keep_unlisted AFTER UPDATE OF deleted_position ON conversations.conversation
FOR EACH ROW WHEN (OLD.deleted_position IS NULL AND NEW.deleted_position IS NOT NULL)
EXECUTE FUNCTION conversations.keep_unlisted();

-- Updates the list of a participant who joined again, left, or hid the conversation.
CREATE OR REPLACE FUNCTION conversations.keep_listed() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    c conversations.conversation;
    listed boolean;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = NEW.conversation_id;
    listed := conversations.is_visible(c, NEW);
    UPDATE conversations.user_conversation u SET is_listed = listed
    WHERE u.app_id = NEW.app_id AND u.user_id = NEW.user_id AND u.conversation_id = NEW.conversation_id
        AND u.is_listed <> listed;
    IF NOT listed AND NEW.left_position IS NULL AND c.deleted_position IS NULL AND NOT c.has_hidden THEN
        UPDATE conversations.conversation x SET has_hidden = true WHERE x.id = NEW.conversation_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER keep_listed AFTER UPDATE ON conversations.participant
FOR EACH ROW WHEN (
    OLD.is_hidden <> NEW.is_hidden
    OR NEW.is_hidden AND (OLD.hidden_count <> NEW.hidden_count OR OLD.left_position IS DISTINCT FROM NEW.left_position))
EXECUTE FUNCTION conversations.keep_listed();

-- Returns the number of conversations on a user's list. It counts the entries of one index, at a tenth of a microsecond
-- each. A stored number would have to be locked by every transaction that adds the user to a conversation.
CREATE OR REPLACE FUNCTION conversations.listed_count(p_app uuid, p_user text) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM (
            SELECT FROM conversations.user_conversation u WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed
            ORDER BY u.created_at DESC, u.conversation_id DESC OFFSET 0) l);
END
$$;

-- Returns the ids of a page by creation time. It reads as many index entries as the page has.
CREATE OR REPLACE FUNCTION conversations.page_by_creation(
    p_app uuid, p_user text, p_page_size bigint, p_from_key timestamptz, p_from_id uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN ARRAY(
        SELECT u.conversation_id FROM conversations.user_conversation u
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed
            AND (u.created_at, u.conversation_id) < (p_from_key, p_from_id)
        ORDER BY u.created_at DESC, u.conversation_id DESC LIMIT p_page_size);
END
$$;

-- Returns the ids of a page by the last message that the user sees.
--
-- This order cannot be stored by user, because each message would then write a row for each participant. So a short
-- pass reads the time of each listed conversation's last change, which is never before its last message. Then the
-- messages are looked up in the order of these times, until no remaining conversation can belong to the page.
CREATE OR REPLACE FUNCTION conversations.page_by_last_message(
    p_app uuid, p_user text, p_page_size bigint, p_from_key timestamptz, p_from_id uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
DECLARE
    ids uuid[];
    bounds timestamptz[];
    page uuid[] := '{}';
    keys timestamptz[] := '{}';
    seen bigint := 0;
    step bigint := p_page_size + 20;
BEGIN
    SELECT array_agg(b.id), array_agg(b.last_change_at) INTO ids, bounds
    FROM (
        SELECT u.conversation_id AS id, c.last_change_at
        FROM conversations.user_conversation u
        CROSS JOIN LATERAL (
            SELECT x.last_change_at FROM conversations.conversation x WHERE x.id = u.conversation_id OFFSET 0) c
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed
        ORDER BY c.last_change_at DESC) b;
    WHILE seen < coalesce(cardinality(ids), 0) LOOP
        EXIT WHEN cardinality(page) = p_page_size AND bounds[seen + 1] < keys[p_page_size];
        SELECT coalesce(array_agg(e.id), '{}'), coalesce(array_agg(e.key), '{}') INTO page, keys
        FROM (
            SELECT k.id, k.key
            FROM (
                SELECT g.id, g.key FROM unnest(page, keys) g(id, key)
                UNION ALL
                SELECT i.id, coalesce(
                    (SELECT m.sent_at FROM conversations.message m
                    WHERE m.conversation_id = i.id AND m.ordinal = conversations.last_visible(c.row, p.row)),
                    (c.row).created_at)
                FROM unnest(ids[seen + 1 : seen + step]) i(id)
                CROSS JOIN LATERAL (SELECT x AS row FROM conversations.conversation x WHERE x.id = i.id OFFSET 0) c
                CROSS JOIN LATERAL (
                    SELECT x AS row FROM conversations.participant x
                    WHERE x.conversation_id = i.id AND x.user_id = p_user OFFSET 0) p) k
            WHERE (k.key, k.id) < (p_from_key, p_from_id)
            ORDER BY k.key DESC, k.id DESC LIMIT p_page_size) e;
        seen := seen + step;
        step := step * 2;
    END LOOP;
    RETURN page;
END
$$;

-- Returns the ids of a user's conversations, including those that the user left, newest first. NULL: the user never had
-- the conversation `p_from_id`. A cursor that has been removed from the list keeps its place.
CREATE OR REPLACE FUNCTION conversations.listed_ids(
    p_app uuid, p_user text, p_by_last_message boolean, p_count bigint, p_from_id uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    from_key timestamptz := 'infinity';
    from_id uuid := coalesce(p_from_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    IF p_from_id IS NOT NULL THEN
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_from_id AND x.app_id = p_app;
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_from_id AND x.user_id = p_user;
        IF c.id IS NULL OR p.user_id IS NULL THEN RETURN NULL; END IF;
        from_key := conversations.list_key(c, p, p_by_last_message);
    END IF;
    RETURN CASE WHEN p_by_last_message
        THEN conversations.page_by_last_message(p_app, p_user, p_count, from_key, from_id)
        ELSE conversations.page_by_creation(p_app, p_user, p_count, from_key, from_id) END;
END
$$;

-- Lists one page of a user's conversations, including those that the user left, newest first. The first row has the
-- outcome, 'ok' or 'unknown_cursor', and the number of conversations on the complete list. A cursor that has been
-- removed from the list keeps its place.
--
-- Only as many views are built as fit into `p_bytes`. The other conversations have only their id, in `later`, and are
-- read with `views_of`, because their places in the list may have changed by then. If the list continues after the
-- page, the last row has the outcome 'more'.
CREATE OR REPLACE FUNCTION conversations.list_conversations_page(
    p_app uuid, p_user text, p_by_last_message boolean, p_page_size bigint, p_from_id uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, later uuid, view conversations.view_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    ids uuid[] := conversations.listed_ids(p_app, p_user, p_by_last_message, p_page_size + 1, p_from_id);
    seen record;
BEGIN
    outcome := CASE WHEN ids IS NULL THEN 'unknown_cursor' ELSE 'ok' END;
    total := CASE WHEN ids IS NULL THEN 0 ELSE conversations.listed_count(p_app, p_user) END;
    RETURN NEXT;
    IF ids IS NULL THEN RETURN; END IF;
    outcome := NULL;
    total := NULL;
    FOR seen IN SELECT * FROM conversations.views_of(p_app, p_user, ids[1:p_page_size], p_bytes) LOOP
        view := seen.view;
        IF seen.covered IS NULL THEN RETURN NEXT; END IF;
    END LOOP;
    FOREACH later IN ARRAY ids[seen.covered + 1 : p_page_size] LOOP
        RETURN NEXT;
    END LOOP;
    IF cardinality(ids) > p_page_size THEN
        outcome := 'more';
        later := NULL;
        RETURN NEXT;
    END IF;
END
$$;

-- Returns the newest messages before `p_before` that this participant sees, newest first, with their approximate sizes
-- in an answer in bytes.
CREATE OR REPLACE FUNCTION conversations.visible_sizes(p conversations.participant, p_before bigint, p_limit bigint)
RETURNS TABLE (ordinal bigint, sender text, bytes bigint)
LANGUAGE plpgsql STABLE ROWS 20 AS $$
BEGIN
    IF isempty(p.hidden) AND p.packed_up_to = 0 THEN
        RETURN QUERY
        SELECT m.ordinal, m.sender::text, 256::bigint + octet_length(m.parts) FROM conversations.message m
        WHERE m.conversation_id = p.conversation_id AND m.ordinal > p.hidden_ordinal AND m.ordinal < p_before
        ORDER BY m.ordinal DESC LIMIT p_limit;
    ELSE
        RETURN QUERY
        SELECT o.ordinal, m.sender, m.bytes
        FROM conversations.visible_ordinals(p, p_before, p_limit) o(ordinal)
        CROSS JOIN LATERAL (
            SELECT x.sender::text, 256::bigint + octet_length(x.parts) AS bytes FROM conversations.message x
            WHERE x.conversation_id = p.conversation_id AND x.ordinal = o.ordinal OFFSET 0) m
        ORDER BY o.ordinal DESC;
    END IF;
END
$$;

-- Selects the messages before the last one that a load includes, newest first, with their approximate size in an
-- answer. `p_messages`: the number of messages including the last one; NULL: all from the first unread one on, at most
-- `p_most`. `is_cut`: more messages exist, but the number or the bytes were exceeded.
CREATE OR REPLACE FUNCTION conversations.earlier_ordinals(
    p conversations.participant, view conversations.view_row, p_messages bigint, p_most bigint, p_bytes bigint,
    OUT ordinals bigint[], OUT bytes bigint, OUT is_cut boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    before bigint := view.last_ordinal;
    missing bigint := coalesce(p_messages, p_most) - 1;
    -- The number of unread messages not found yet. The search ends with the last of them.
    unread bigint := view.message_count - view.uncounted;
    -- The maximum size of a message's recipients: all present and former participants.
    recipients bigint := 64 * (
        SELECT count(*) FROM conversations.participant x WHERE x.conversation_id = p.conversation_id);
    step bigint;
    seen bigint;
    m record;
BEGIN
    ordinals := '{}';
    bytes := 0;
    is_cut := false;
    IF before IS NULL THEN RETURN; END IF;
    IF view.last_sender <> p.user_id AND NOT conversations.has_read(p, before) THEN unread := unread - 1; END IF;
    WHILE p_messages IS NOT NULL OR unread > 0 LOOP
        IF missing <= 0 THEN
            is_cut := p_messages IS NULL;
            RETURN;
        END IF;
        step := CASE WHEN p_messages IS NULL THEN least(missing, unread + 20) ELSE missing END;
        seen := 0;
        FOR m IN SELECT s.* FROM conversations.visible_sizes(p, before, step) s LOOP
            IF bytes + m.bytes + recipients > p_bytes THEN
                is_cut := true;
                RETURN;
            END IF;
            ordinals := ordinals || m.ordinal;
            bytes := bytes + m.bytes + recipients;
            before := m.ordinal;
            seen := seen + 1;
            CONTINUE WHEN p_messages IS NOT NULL OR m.sender = p.user_id OR conversations.has_read(p, m.ordinal);
            unread := unread - 1;
            IF unread <= 0 THEN RETURN; END IF;
        END LOOP;
        IF seen < step OR p_messages IS NOT NULL THEN RETURN; END IF;
        missing := missing - seen;
    END LOOP;
END
$$;

-- Loads one page of a user's conversations with messages of each.
--
-- Rows, in order:
-- - the outcome, 'ok' or 'unknown_cursor', and the number of conversations on the complete list;
-- - for each conversation, a row with its view, and rows with the messages before its last one, newest first;
-- - the outcome 'more', if the list continues after the page.
--
-- `p_messages`: the number of newest messages, including the last one. NULL: all from the first unread one on, or only
-- the last one if all are read. `is_cut`: the conversation has more of them than `p_most` or `p_bytes` allow. The page
-- ends before a conversation that does not fit.
--
-- Generic plans are forced here and in the functions above. For the unnested arrays, the planner would otherwise make a
-- new plan each time, which costs more than a generic plan loses.
CREATE OR REPLACE FUNCTION conversations.load_conversations(
    p_app uuid, p_user text, p_by_last_message boolean, p_page_size bigint, p_from_id uuid,
    p_messages bigint, p_most bigint, p_bytes bigint)
RETURNS TABLE (
    outcome text, total bigint, is_cut boolean, view conversations.view_row, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 1000 SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    ids uuid[] := conversations.listed_ids(p_app, p_user, p_by_last_message, p_page_size + 1, p_from_id);
    page_id uuid;
    c conversations.conversation;
    p conversations.participant;
    earlier record;
    ordinal bigint;
    own bigint;
    used bigint := 0;
    done bigint := 0;
BEGIN
    outcome := CASE WHEN ids IS NULL THEN 'unknown_cursor' ELSE 'ok' END;
    total := CASE WHEN ids IS NULL THEN 0 ELSE conversations.listed_count(p_app, p_user) END;
    RETURN NEXT;
    IF ids IS NULL THEN RETURN; END IF;
    outcome := NULL;
    total := NULL;
    FOREACH page_id IN ARRAY ids[1:p_page_size] LOOP
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = page_id;
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = page_id AND x.user_id = p_user;
        view := conversations.view_of(c, p, conversations.tree_room(used, p_bytes));
        own := conversations.view_bytes(view) + 64 * coalesce(cardinality(view.last_recipients), 0);
        EXIT WHEN used > 0 AND (view.paths IS NULL OR used + own > p_bytes);
        earlier := conversations.earlier_ordinals(p, view, p_messages, p_most, p_bytes - own);
        EXIT WHEN used > 0 AND used + own + earlier.bytes > p_bytes;
        used := used + own + earlier.bytes;
        done := done + 1;
        is_cut := earlier.is_cut;
        RETURN NEXT;
        is_cut := NULL;
        view := NULL;
        CONTINUE WHEN earlier.ordinals = '{}';
        IF p.left_position IS NULL THEN
            RETURN QUERY
            SELECT NULL::text, NULL::bigint, NULL::boolean, NULL::conversations.view_row, m
            FROM conversations.messages_at(page_id, earlier.ordinals) m;
        ELSE
            FOREACH ordinal IN ARRAY earlier.ordinals LOOP
                message := conversations.message_for(p, ordinal);
                RETURN NEXT;
            END LOOP;
            message := NULL;
        END IF;
    END LOOP;
    IF cardinality(ids) > done THEN
        outcome := 'more';
        view := NULL;
        RETURN NEXT;
    END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.is_visible, conversations.search_last_visible, conversations.last_visible,
    conversations.select_view, conversations.view_of, conversations.find_view,
    conversations.get_conversation, conversations.view_bytes, conversations.tree_room, conversations.views_of,
    conversations.list_key, conversations.listed_count, conversations.page_by_creation,
    conversations.page_by_last_message, conversations.listed_ids, conversations.list_conversations_page,
    conversations.visible_sizes, conversations.earlier_ordinals,
    conversations.load_conversations TO strata_conversations;
