-- SPDX-License-Identifier: Apache-2.0
-- Metadata indexes: updated by every change, built in the background, and read by queries.
--
-- The transaction that writes a value also writes its index entries. Two rules make an index complete:
-- * A writer gets a transaction number before it reads the app's indexes. The build begins when all transactions have
--   ended that had a number when the index first became visible (the fence). So each writer sees the index, or has
--   ended before the build reads its conversation.
-- * Both hold the conversation's lock.

-- Returns the index key of a value, which sorts by bytes. A long value is truncated and made unique by its digest. The
-- byte FF separates the two, because it occurs in no UTF-8 text.
CREATE OR REPLACE FUNCTION metadata.index_key(p_value text) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(p_value) <= 224 THEN convert_to(p_value, 'UTF8')
    ELSE substr(convert_to(p_value, 'UTF8'), 1, 224) || '\xff'::bytea || sha256(convert_to(p_value, 'UTF8')) END;

-- Marks new conversations of an app with indexes as indexed.
CREATE OR REPLACE FUNCTION metadata.note_indexes() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Get the transaction number before reading the indexes.
    PERFORM pg_current_xact_id();
    NEW.is_indexed := NEW.is_indexed
        OR EXISTS (SELECT FROM metadata.index_path i WHERE i.app_id = NEW.app_id AND i.removed_at IS NULL);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER note_indexes BEFORE INSERT ON conversations.conversation
    FOR EACH ROW EXECUTE FUNCTION metadata.note_indexes();

-- Deletes the index entries of a conversation that was deleted for all.
CREATE OR REPLACE FUNCTION metadata.forget_indexed() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM metadata.index_entry e WHERE e.conversation_id = NEW.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER forget_indexed AFTER UPDATE OF deleted_position ON conversations.conversation FOR EACH ROW
WHEN (NEW.deleted_position IS NOT NULL AND NEW.is_indexed) EXECUTE FUNCTION metadata.forget_indexed();

-- Sets the index entries of some users (an empty id: the app's) to a value; NULL: deletes them. The caller holds the
-- conversation's lock.
CREATE OR REPLACE FUNCTION metadata.set_index_entries(
    p_app uuid, p_conversation uuid, p_created_at timestamptz, p_path_id bigint, p_users text[], p_value text)
        RETURNS void
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF p_value IS NULL THEN
        DELETE FROM metadata.index_entry e WHERE e.conversation_id = p_conversation AND e.path_id = p_path_id
            AND e.user_id = ANY (p_users);
    ELSE
        INSERT INTO metadata.index_entry AS e (conversation_id, path_id, user_id, app_id, value_key, created_at)
        SELECT p_conversation, p_path_id, u.id, p_app, k.value_key, p_created_at
        FROM unnest(p_users) u(id) CROSS JOIN (SELECT metadata.index_key(p_value) AS value_key) k
        ON CONFLICT (conversation_id, path_id, user_id) DO UPDATE SET value_key = excluded.value_key
        WHERE e.value_key <> excluded.value_key;
    END IF;
END
$$;

-- Updates the index entries for removed and changed leaves of an indexed conversation: those of the app and of present
-- participants. Former participants keep their entries. The caller holds the conversation's lock.
CREATE OR REPLACE FUNCTION metadata.index_leaves(p_conversation uuid, p_gone text[], p_paths text[], p_vals text[])
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    c record;
    users text[];
    indexed record;
BEGIN
    SELECT x.app_id, x.created_at INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    FOR indexed IN
        SELECT i.path_id, i.path::text FROM metadata.index_path i
        WHERE i.app_id = c.app_id AND i.removed_at IS NULL AND (i.path = ANY (p_gone) OR i.path = ANY (p_paths))
        ORDER BY i.path_id
    LOOP
        IF users IS NULL THEN
            users := (SELECT r.user_ids || ''::text FROM conversations.roster r
                WHERE r.conversation_id = p_conversation);
        END IF;
        PERFORM metadata.set_index_entries(
            c.app_id, p_conversation, c.created_at, indexed.path_id, users,
            p_vals[array_position(p_paths, indexed.path)]);
    END LOOP;
END
$$;

-- Returns the number of entries that index_leaves writes or removes for leaves at these paths.
CREATE OR REPLACE FUNCTION metadata.count_index_entries(p_conversation uuid, p_paths text[]) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM metadata.index_path i
        WHERE i.app_id = (SELECT x.app_id FROM conversations.conversation x WHERE x.id = p_conversation)
            AND i.removed_at IS NULL AND i.path = ANY (p_paths))
        * (SELECT 1 + cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = p_conversation);
END
$$;

-- Writes the index entries of users who were added to an indexed conversation, some of them perhaps again. The caller
-- holds the conversation's lock.
CREATE OR REPLACE FUNCTION metadata.index_users(p_conversation uuid, p_users text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    c record;
    indexed record;
BEGIN
    SELECT x.app_id, x.created_at INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    FOR indexed IN
        SELECT i.path_id, i.path FROM metadata.index_path i WHERE i.app_id = c.app_id AND i.removed_at IS NULL
        ORDER BY i.path_id
    LOOP
        PERFORM metadata.set_index_entries(
            c.app_id, p_conversation, c.created_at, indexed.path_id, p_users,
            (SELECT l.value FROM metadata.leaf l WHERE l.conversation_id = p_conversation AND l.path = indexed.path));
    END LOOP;
END
$$;

-- Writes all entries of a conversation at one path, including those of former participants with the value they last
-- saw. The caller holds the conversation's lock. Returns the number of readers.
CREATE OR REPLACE FUNCTION metadata.index_conversation(
    p_app uuid, p_conversation uuid, p_created_at timestamptz, p_path_id bigint, p_path text)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    users text[] := (SELECT r.user_ids || ''::text FROM conversations.roster r
        WHERE r.conversation_id = p_conversation);
    former text[] := ARRAY(SELECT k.user_id FROM metadata.kept_tree k WHERE k.conversation_id = p_conversation);
    present record;
    kept record;
BEGIN
    SELECT l.value, l.position INTO present FROM metadata.leaf l
    WHERE l.conversation_id = p_conversation AND l.path = p_path;
    PERFORM metadata.set_index_entries(p_app, p_conversation, p_created_at, p_path_id, users, present.value);
    IF former = '{}' THEN RETURN cardinality(users); END IF;
    -- Users who left after the value was set see that value. The others see a kept value, or none. The loop runs over
    -- values, not over users.
    PERFORM metadata.set_index_entries(p_app, p_conversation, p_created_at, p_path_id, former, NULL);
    FOR kept IN
        SELECT l.value, l.position, l.until_position FROM metadata.kept_leaf l
        WHERE l.conversation_id = p_conversation AND l.path = p_path
        UNION ALL SELECT present.value, present.position, conversations.end_of_log() WHERE present.position IS NOT NULL
    LOOP
        PERFORM metadata.set_index_entries(
            p_app, p_conversation, p_created_at, p_path_id,
            ARRAY(
                SELECT k.user_id FROM metadata.kept_tree k
                WHERE k.conversation_id = p_conversation AND k.position >= kept.position
                    AND k.position < kept.until_position),
            kept.value);
    END LOOP;
    RETURN cardinality(users) + cardinality(former);
END
$$;

CREATE OR REPLACE FUNCTION metadata.apps_with_unfinished_indexes() RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN ARRAY(
        SELECT u.app_id FROM (
            SELECT DISTINCT i.app_id FROM metadata.index_path i
            WHERE i.ready_at IS NULL OR i.removed_at IS NOT NULL) u
        WHERE NOT conversations.is_away(u.app_id));
END
$$;

-- Continues one index of an app that is being built or removed. Returns the number of processed conversations or
-- entries. 0: no work is possible at the moment. NULL: no index is unfinished. Concurrent calls work on different
-- indexes.
CREATE OR REPLACE FUNCTION metadata.build_indexes(p_app uuid, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    i metadata.index_path;
    present xid8;
    oldest CONSTANT xid8 := pg_snapshot_xmin(pg_current_snapshot());
    worked bigint;
BEGIN
    -- Choose an index that waits for its fence only if there is no other. Choose among the others at random, so that
    -- one that cannot be built does not block the rest.
    SELECT x.* INTO i FROM metadata.index_path x
    WHERE x.app_id = p_app AND (x.ready_at IS NULL OR x.removed_at IS NOT NULL)
    ORDER BY coalesce(x.fence >= oldest AND x.fence < pg_snapshot_xmax(pg_current_snapshot()), false),
        random() LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN NULL; END IF;
    -- Writers that did not see the index, or its removal, got their numbers before this transaction gets its own,
    -- because it has seen it. (A greater number belongs to another cluster, of which this one is a restored backup.)
    present := pg_current_xact_id();
    IF i.fence IS NULL OR i.fence > present THEN
        UPDATE metadata.index_path x SET fence = present WHERE x.app_id = i.app_id AND x.path_id = i.path_id;
        RETURN 0;
    END IF;
    IF oldest <= i.fence THEN RETURN 0; END IF;
    worked := CASE WHEN i.removed_at IS NULL THEN metadata.build_index(i, p_limit)
        ELSE metadata.clear_index(i, p_limit) END;
    RETURN greatest(worked, 1);
END
$$;

-- Adds a batch of conversations, in the order of their ids, to an index. Returns the number of conversations read,
-- including those of other apps.
CREATE OR REPLACE FUNCTION metadata.build_index(i metadata.index_path, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off AS $$
DECLARE
    -- The maximum number of conversations locked in one transaction.
    most CONSTANT bigint := 200;
    -- No further conversation is started after this number of readers. A conversation is never split: one with 100,000
    -- former participants who all saw different values takes about 10 s.
    most_readers CONSTANT bigint := 5000;
    seen record;
    c record;
    looked_at bigint := 0;
    locked bigint := 0;
    readers bigint := 0;
    reached uuid := i.built_up_to;
    is_cut boolean := false;
BEGIN
    FOR seen IN
        SELECT x.id, x.app_id, x.deleted_position FROM conversations.conversation x
        WHERE x.id > coalesce(i.built_up_to, '00000000-0000-0000-0000-000000000000') ORDER BY x.id LIMIT p_limit
    LOOP
        IF seen.app_id = i.app_id AND seen.deleted_position IS NULL THEN
            is_cut := locked = most OR readers >= most_readers;
            EXIT WHEN is_cut;
            -- Wait only for the first lock. Transactions that wait for one lock while they hold another can deadlock.
            IF locked = 0 THEN
                SELECT x.app_id, x.created_at, x.position, x.is_indexed, x.deleted_position INTO c
                FROM conversations.conversation x WHERE x.id = seen.id FOR UPDATE;
            ELSE
                SELECT x.app_id, x.created_at, x.position, x.is_indexed, x.deleted_position INTO c
                FROM conversations.conversation x WHERE x.id = seen.id FOR UPDATE SKIP LOCKED;
                is_cut := NOT FOUND;
                EXIT WHEN is_cut;
            END IF;
            locked := locked + 1;
            IF c.app_id = i.app_id AND c.deleted_position IS NULL THEN
                IF NOT c.is_indexed THEN
                    UPDATE conversations.conversation x SET is_indexed = true WHERE x.id = seen.id;
                END IF;
                readers := readers + metadata.index_conversation(i.app_id, seen.id, c.created_at, i.path_id, i.path);
            END IF;
        END IF;
        looked_at := looked_at + 1;
        reached := seen.id;
    END LOOP;
    UPDATE metadata.index_path x
    SET built_up_to = reached, ready_at = CASE WHEN looked_at < p_limit AND NOT is_cut THEN clock_timestamp() END
    WHERE x.app_id = i.app_id AND x.path_id = i.path_id;
    RETURN looked_at;
END
$$;

-- Deletes a batch of entries of a removed index, and finally its row. Returns the number of entries.
CREATE OR REPLACE FUNCTION metadata.clear_index(i metadata.index_path, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM metadata.index_entry e WHERE e.ctid = ANY (ARRAY(
        SELECT x.ctid FROM metadata.index_entry x WHERE x.app_id = i.app_id AND x.path_id = i.path_id LIMIT p_limit));
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed < p_limit THEN
        DELETE FROM metadata.index_path x WHERE x.app_id = i.app_id AND x.path_id = i.path_id;
    END IF;
    RETURN removed;
END
$$;

-- Lists the key paths of an app, by path, with the state 'building' or 'ready'.
CREATE OR REPLACE FUNCTION metadata.indexes_of(p_app uuid)
RETURNS TABLE (path text, state text, created_at timestamptz, ready_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER ROWS 16 SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.path, CASE WHEN i.ready_at IS NULL THEN 'building' ELSE 'ready' END, i.created_at, i.ready_at
    FROM metadata.index_path i WHERE i.app_id = p_app AND i.removed_at IS NULL ORDER BY i.path
$$;

-- Declares a key path.
--
-- Outcomes:
-- - 'created'.
-- - 'found': the app has already declared it.
-- - 'too_many': the app has `p_most` other paths.
-- - 'removing': the entries of `p_most` dropped paths are still being deleted.
-- - 'no_app': also if the app is being deleted.
CREATE OR REPLACE FUNCTION metadata.add_index(p_app uuid, p_path text, p_most bigint)
RETURNS TABLE (outcome text, path text, state text, created_at timestamptz, ready_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Allow one declaration at a time, and none while the app is being deleted.
    PERFORM FROM conversations.app a WHERE a.id = p_app AND a.deleting_since IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        outcome := 'no_app';
    ELSIF EXISTS (SELECT FROM metadata.indexes_of(p_app) i WHERE i.path = p_path) THEN
        outcome := 'found';
    ELSIF (SELECT count(*) FROM metadata.indexes_of(p_app)) >= p_most THEN
        outcome := 'too_many';
    ELSIF (SELECT count(*) FROM metadata.index_path i WHERE i.app_id = p_app AND i.removed_at IS NOT NULL) >= p_most
    THEN
        outcome := 'removing';
    ELSE
        INSERT INTO metadata.index_path (app_id, path) VALUES (p_app, p_path);
        outcome := 'created';
    END IF;
    SELECT i.path, i.state, i.created_at, i.ready_at
    INTO add_index.path, add_index.state, add_index.created_at, add_index.ready_at
    FROM metadata.indexes_of(p_app) i WHERE i.path = p_path;
    RETURN NEXT;
END
$$;

-- Drops a key path: immediately for queries, while its entries are deleted in the background. Returns false if the app
-- had not declared it.
CREATE OR REPLACE FUNCTION metadata.remove_index(p_app uuid, p_path text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE metadata.index_path i SET removed_at = now(), fence = NULL
    WHERE i.app_id = p_app AND i.path = p_path AND i.removed_at IS NULL;
    RETURN FOUND;
END
$$;

-- Returns the place of a cursor in an index. NULL: it has none. `p_key`: the key of equal values. A cursor that does
-- not match any longer still has a place among them.
CREATE OR REPLACE FUNCTION metadata.index_cursor(
    p_app uuid, p_user text, p_path_id bigint, p_kind text, p_key bytea, p_from_id uuid,
    OUT from_key bytea, OUT from_time timestamptz, OUT from_id uuid)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT e.value_key, e.created_at, e.conversation_id INTO from_key, from_time, from_id
    FROM metadata.index_entry e WHERE e.conversation_id = p_from_id AND e.path_id = p_path_id
        AND e.user_id = p_user;
    IF p_kind = 'equal' AND from_key IS DISTINCT FROM p_key THEN
        from_key := p_key;
        SELECT c.created_at, c.id INTO from_time, from_id FROM conversations.conversation c
        WHERE c.id = p_from_id AND c.app_id = p_app AND (p_user = '' OR EXISTS (
            SELECT FROM conversations.participant p WHERE p.conversation_id = p_from_id AND p.user_id = p_user));
    END IF;
END
$$;

-- Lists one page of conversations by their value at an indexed path: all of an app (an empty user id), or those on a
-- user's list. `total` is NULL if there are more than `p_most`. `has_more`: true if the list continues after the page.
--
-- `p_kind`:
-- - 'equal': conversations with this value, newest first.
-- - 'prefix': conversations whose value begins with it, by value, and newest first for equal values.
-- - 'exists': conversations with any value, in the same order.
--
-- Outcomes: 'ok'; 'not_indexed'; 'building'; 'unknown_cursor'.
--
-- The function reads as many entries as the page has, and as many as it counts. Each entry belongs to a matching
-- conversation, unless the user has removed it from their list.
CREATE OR REPLACE FUNCTION metadata.find_conversations(
    p_app uuid, p_user text, p_path text, p_kind text, p_value text, p_page_size bigint, p_from_id uuid, p_most bigint,
    OUT outcome text, OUT ids uuid[], OUT total bigint, OUT has_more boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off AS $$
DECLARE
    i metadata.index_path;
    -- The first key, and the first key after the range.
    low bytea := CASE p_kind WHEN 'exists' THEN '' WHEN 'equal' THEN metadata.index_key(p_value)
        ELSE convert_to(p_value, 'UTF8') END;
    high bytea := CASE p_kind WHEN 'exists' THEN '\xff' WHEN 'equal' THEN low || '\x00'::bytea
        ELSE low || decode(repeat('ff', 40), 'hex') END;
    from_key bytea := low;
    from_time timestamptz := 'infinity';
    from_id uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
BEGIN
    ids := '{}';
    SELECT * INTO i FROM metadata.index_path x WHERE x.app_id = p_app AND x.path = p_path AND x.removed_at IS NULL;
    outcome := CASE WHEN i.path_id IS NULL THEN 'not_indexed' WHEN i.ready_at IS NULL THEN 'building' ELSE 'ok' END;
    IF outcome <> 'ok' THEN RETURN; END IF;

    IF p_from_id IS NOT NULL THEN
        SELECT u.* INTO from_key, from_time, from_id
        FROM metadata.index_cursor(p_app, p_user, i.path_id, p_kind, low, p_from_id) u;
        IF from_id IS NULL OR from_key < low OR from_key >= high THEN outcome := 'unknown_cursor'; RETURN; END IF;
    END IF;

    ids := ARRAY(
        SELECT e.conversation_id FROM metadata.index_entry e
        WHERE e.app_id = p_app AND e.path_id = i.path_id AND e.user_id = p_user AND e.value_key = from_key
            AND (e.created_at, e.conversation_id) < (from_time, from_id)
            AND CASE WHEN p_user = '' THEN true ELSE (
                SELECT u.is_listed FROM conversations.user_conversation u
                WHERE u.app_id = p_app AND u.user_id = p_user AND u.conversation_id = e.conversation_id) END
        ORDER BY e.created_at DESC, e.conversation_id DESC LIMIT p_page_size + 1);
    IF p_kind <> 'equal' AND cardinality(ids) <= p_page_size THEN
        ids := ids || ARRAY(
            SELECT e.conversation_id FROM metadata.index_entry e
            WHERE e.app_id = p_app AND e.path_id = i.path_id AND e.user_id = p_user AND e.value_key > from_key
                AND e.value_key < high
                AND CASE WHEN p_user = '' THEN true ELSE (
                    SELECT u.is_listed FROM conversations.user_conversation u
                    WHERE u.app_id = p_app AND u.user_id = p_user AND u.conversation_id = e.conversation_id) END
            ORDER BY e.value_key, e.created_at DESC, e.conversation_id DESC LIMIT p_page_size + 1 - cardinality(ids));
    END IF;
    has_more := cardinality(ids) > p_page_size;
    ids := ids[1:p_page_size];
    total := (
        SELECT count(*) FROM (
            SELECT FROM metadata.index_entry e
            WHERE e.app_id = p_app AND e.path_id = i.path_id AND e.user_id = p_user AND e.value_key >= low
                AND e.value_key < high
                AND CASE WHEN p_user = '' THEN true ELSE (
                    SELECT u.is_listed FROM conversations.user_conversation u
                    WHERE u.app_id = p_app AND u.user_id = p_user AND u.conversation_id = e.conversation_id) END
            ORDER BY e.value_key, e.created_at DESC, e.conversation_id DESC LIMIT p_most + 1) m);
    IF total > p_most THEN total := NULL; END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    metadata.index_users, metadata.apps_with_unfinished_indexes, metadata.build_indexes, metadata.indexes_of,
    metadata.add_index, metadata.remove_index, metadata.find_conversations TO strata_conversations;
