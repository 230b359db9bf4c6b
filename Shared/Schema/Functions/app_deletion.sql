-- SPDX-License-Identifier: Apache-2.0
-- Deletion of an app with all of its data.

-- Returns every table that holds rows of apps, with each partition separately: every table with the id of an app or of
-- a conversation, including those of later migrations. Other tables hold no data of apps. is_indexed is true if the
-- rows of one id can be found by an index.
CREATE OR REPLACE FUNCTION conversations.tables_of_apps()
RETURNS TABLE (relation regclass, key text, is_indexed boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.oid::regclass, a.attname::text,
        EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indpred IS NULL
            AND i.indisvalid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname IN ('conversations', 'metadata', 'webhooks') AND c.relkind = 'r'
        AND a.attname IN ('app_id', 'conversation_id') AND NOT a.attisdropped
    ORDER BY 1, 2
$$;

-- Counts an app's data. Messages include deleted ones.
CREATE OR REPLACE FUNCTION conversations.app_extent(
    p_app uuid, OUT conversations bigint, OUT messages bigint, OUT users bigint, OUT sessions bigint, OUT files bigint,
    OUT file_bytes bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT count(*), coalesce(sum(c.message_count), 0) INTO conversations, messages FROM conversations.conversation c
    WHERE c.app_id = p_app;
    SELECT count(*) INTO users FROM conversations.identity i WHERE i.app_id = p_app;
    SELECT count(*) INTO sessions FROM conversations.session s WHERE s.app_id = p_app AND s.expires_at > now();
    SELECT count(*), coalesce(sum(x.size), 0) INTO files, file_bytes FROM conversations.content x
    WHERE x.app_id = p_app AND x.uploaded_at IS NOT NULL;
END
$$;

-- Returns the parts of a deletion, in order: sessions, so that sockets close; conversations, with all tables by
-- conversation id; the other tables by app id; and contents. The app's own row and the tables that cascade from it are
-- not included.
CREATE OR REPLACE FUNCTION conversations.app_deletion_parts() RETURNS TABLE (part text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    part := 'conversations.session'; RETURN NEXT;
    part := 'conversations.conversation'; RETURN NEXT;
    RETURN QUERY
    SELECT t.relation::text FROM conversations.tables_of_apps() t
    WHERE t.key = 'app_id' AND t.relation NOT IN (
        'conversations.session'::regclass, 'conversations.conversation', 'conversations.app_key',
        'conversations.server_token', 'conversations.content');
    part := 'conversations.content'; RETURN NEXT;
END
$$;

-- Suspends an app permanently and marks it as being deleted. Returns false if it is being moved to another database.
CREATE OR REPLACE FUNCTION conversations.begin_app_deletion(p_app uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- A move begins under the same lock.
    PERFORM FROM conversations.app a WHERE a.id = p_app FOR UPDATE;
    PERFORM FROM conversations.app_move m WHERE m.app_id = p_app AND m.state <> 'moved';
    IF FOUND THEN RETURN false; END IF;
    UPDATE conversations.app a SET suspended = true, deleting_since = coalesce(a.deleting_since, now())
    WHERE a.id = p_app;
    RETURN true;
END
$$;

-- Deletes conversations of an app in a range of rows, with up to `p_most` rows of each table. Returns the number of
-- deleted rows; NULL: the range has no conversation that is not locked.
CREATE OR REPLACE FUNCTION conversations.delete_app_conversations(p_app uuid, p_first tid, p_last tid, p_most bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed bigint := 0;
    gone uuid[];
    place record;
    count bigint;
    is_complete boolean := true;
BEGIN
    -- Lock first the row that every change of a conversation locks. Skip locked rows instead of waiting for them,
    -- so that no deadlock occurs.
    gone := ARRAY(
        SELECT c.id FROM conversations.conversation c
        WHERE c.ctid >= p_first AND c.ctid < p_last AND c.app_id = p_app
        LIMIT 100 FOR UPDATE SKIP LOCKED);
    IF gone = '{}' THEN RETURN NULL; END IF;
    FOR place IN
        SELECT t.relation FROM conversations.tables_of_apps() t
        WHERE t.key = 'conversation_id' AND (t.is_indexed OR NOT EXISTS (
            SELECT FROM conversations.tables_of_apps() o WHERE o.relation = t.relation AND o.key = 'app_id'))
    LOOP
        BEGIN
            EXECUTE format(
                'DELETE FROM %1$s WHERE ctid = ANY (ARRAY('
                    'SELECT x.ctid FROM %1$s x WHERE x.conversation_id = ANY ($1) LIMIT $2))', place.relation)
            USING gone, p_most;
            GET DIAGNOSTICS count = ROW_COUNT;
            removed := removed + count;
            is_complete := is_complete AND count < p_most;
        EXCEPTION WHEN undefined_table THEN
            NULL; -- the partition was dropped in between
        END;
    END LOOP;
    IF is_complete THEN
        DELETE FROM conversations.conversation c WHERE c.id = ANY (gone);
        GET DIAGNOSTICS count = ROW_COUNT;
        removed := removed + count;
    END IF;
    RETURN removed;
END
$$;

-- Deletes a batch of one part, starting at a block of its table. Returns the number of deleted rows and the next block;
-- NULL: none. Locked conversations are skipped; the parts are repeated until no rows are left.
CREATE OR REPLACE FUNCTION conversations.delete_app_rows(
    p_app uuid, p_part text, p_block bigint, OUT removed bigint, OUT next_block bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The maximum number of rows of one table in one transaction.
    most CONSTANT bigint := 1000;
    -- The maximum number of blocks read in one transaction without an index: 8 MB.
    blocks CONSTANT bigint := 1024;
    target CONSTANT regclass := p_part;
    first_row CONSTANT tid := format('(%s,0)', p_block);
    last_row CONSTANT tid := format('(%s,0)', least(p_block + blocks, 4294967295));
BEGIN
    PERFORM FROM conversations.app a WHERE a.id = p_app AND a.suspended AND a.deleting_since IS NOT NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the app is not being deleted' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    removed := 0;
    next_block := CASE
        WHEN pg_relation_size(target) > (p_block + blocks) * current_setting('block_size')::bigint
        THEN p_block + blocks END;

    IF target = 'conversations.conversation'::regclass THEN
        removed := conversations.delete_app_conversations(p_app, first_row, last_row, most);
        IF removed IS NULL THEN
            removed := 0;
            RETURN;
        END IF;
        -- These blocks may contain more conversations.
        next_block := p_block;
    ELSIF target = 'conversations.content'::regclass THEN
        -- Gateways remove the bytes of doomed contents, and then their rows.
        UPDATE conversations.content x SET is_doomed = true, unreferenced_since = '-infinity'
        WHERE x.ctid >= first_row AND x.ctid < last_row AND x.app_id = p_app
            AND (NOT x.is_doomed OR x.unreferenced_since > '-infinity'
            OR x.unreferenced_since IS NULL);
        GET DIAGNOSTICS removed = ROW_COUNT;
    ELSIF EXISTS (SELECT FROM conversations.tables_of_apps() t
        WHERE t.relation = target AND t.key = 'app_id' AND t.is_indexed)
    THEN
        EXECUTE format(
            'DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT x.ctid FROM %1$s x WHERE x.app_id = $1 LIMIT $2))', target)
        USING p_app, most;
        GET DIAGNOSTICS removed = ROW_COUNT;
        next_block := CASE WHEN removed = most THEN p_block END;
    ELSE
        EXECUTE format('DELETE FROM %s WHERE ctid >= $1 AND ctid < $2 AND app_id = $3', target) USING first_row,
            last_row, p_app;
        GET DIAGNOSTICS removed = ROW_COUNT;
    END IF;
END
$$;
