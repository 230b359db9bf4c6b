-- SPDX-License-Identifier: Apache-2.0
-- Moves of apps between databases. `strata app move` calls these functions as the owner, in the database that the app
-- leaves (the source) and in the one that it enters (the target).
--
-- While an app is moved, a trigger on every table with its rows notes the primary key of each row that changes. The
-- command copies all rows once, and then again those that have changed since, as they are at that moment. So their
-- order does not matter, nor does a repetition. The same trigger refuses writes from the pause on.

-- Returns the tables that hold rows of apps, with each partition separately, the table to which a partition belongs,
-- and the column by which an app's rows are found:
-- - id, app_id: that of the app.
-- - conversation_id: that of a conversation of the app.
-- - hook_id: that of a webhook of the app.
-- Tables come before those whose rows are found through them.
CREATE OR REPLACE FUNCTION conversations.tables_of_moves()
RETURNS TABLE (relation regclass, root regclass, key text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.relation, coalesce(pg_partition_root(t.relation)::regclass, t.relation), min(t.key)
    FROM (
        SELECT o.relation, o.key FROM conversations.tables_of_apps() o
        UNION ALL SELECT 'conversations.app'::regclass, 'id'
        UNION ALL SELECT 'webhooks.outbox'::regclass, 'hook_id') t
    WHERE t.relation NOT IN (
        'conversations.app_move'::regclass, 'conversations.app_move_part', 'conversations.app_move_row',
        'conversations.app_epoch')
    GROUP BY t.relation
    ORDER BY array_position(ARRAY[
        'conversations.app', 'conversations.conversation', 'webhooks.hook']::regclass[], t.relation), t.relation
$$;

-- Returns the columns of a table's primary key, in order.
CREATE OR REPLACE FUNCTION conversations.key_columns(p_table regclass) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(a.attname::text ORDER BY k.n)
    FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k(number, n)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
    WHERE i.indrelid = p_table AND i.indisprimary
$$;

-- Returns a digest of the tables' columns. Rows can be copied between databases with the same digest.
CREATE OR REPLACE FUNCTION conversations.move_shape() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT md5(string_agg(format('%s %s %s', t.root, a.attname, format_type(a.atttypid, a.atttypmod)), ','
        ORDER BY t.root::text, a.attname))
    FROM (SELECT DISTINCT o.root FROM conversations.tables_of_moves() o) t
    JOIN pg_attribute a ON a.attrelid = t.root AND a.attnum > 0 AND NOT a.attisdropped
$$;

-- Returns the condition for rows `x` of an app (`$1`), by the column of tables_of_moves.
CREATE OR REPLACE FUNCTION conversations.move_condition(p_key text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN CASE p_key
    WHEN 'conversation_id' THEN
        'EXISTS (SELECT FROM conversations.conversation c WHERE c.id = x.conversation_id AND c.app_id = $1)'
    WHEN 'hook_id' THEN 'EXISTS (SELECT FROM webhooks.hook h WHERE h.id = x.hook_id AND h.app_id = $1)'
    ELSE format('x.%I = $1', p_key) END;

-- The key of the advisory lock that writers of an app share during a move.
CREATE OR REPLACE FUNCTION conversations.move_lock(p_app uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN hashtextextended('strata app move ' || p_app::text, 0);

-- Notes the key of a changed row, or refuses the change. Arguments: the app, the column of tables_of_moves, the table,
-- and the columns of its primary key. A session with the setting strata.copying is the command's; with strata.sweeping
-- it is maintenance, which leaves the rows alone and goes on with other apps.
CREATE OR REPLACE FUNCTION conversations.track_move() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    app CONSTANT uuid := TG_ARGV[0];
    result record;
    changed jsonb;
    former jsonb;
    move_state text;
BEGIN
    IF TG_OP = 'DELETE' THEN result := OLD; ELSE result := NEW; END IF;
    IF current_setting('strata.copying', true) = 'on' THEN RETURN result; END IF;
    changed := to_jsonb(result);
    IF TG_ARGV[1] = 'conversation_id' THEN
        PERFORM FROM conversations.conversation c
        WHERE c.id = (changed ->> 'conversation_id')::uuid AND c.app_id = app;
        IF NOT FOUND THEN RETURN result; END IF;
    ELSIF TG_ARGV[1] = 'hook_id' THEN
        PERFORM FROM webhooks.hook h WHERE h.id = (changed ->> 'hook_id')::uuid AND h.app_id = app;
        IF NOT FOUND THEN RETURN result; END IF;
    END IF;
    -- The pause waits for this lock. So the next statement, which has a newer snapshot, sees the pause, or the pause
    -- waits for this transaction.
    PERFORM pg_advisory_xact_lock_shared(conversations.move_lock(app));
    SELECT m.state INTO move_state FROM conversations.app_move m WHERE m.app_id = app;
    IF move_state = 'copying' THEN
        -- An update can change the key.
        IF TG_OP = 'UPDATE' THEN former := to_jsonb(OLD); END IF;
        INSERT INTO conversations.app_move_row (app_id, relation, key)
        SELECT DISTINCT app, TG_ARGV[2], k.key FROM (VALUES (former), (changed)) r(data) CROSS JOIN LATERAL (
            SELECT jsonb_object_agg(a.name, r.data -> a.name) AS key FROM unnest(TG_ARGV[3:]) a(name)) k
        WHERE r.data IS NOT NULL;
    ELSIF move_state = 'arriving' THEN
        -- Maintenance must not judge an app of which only a part is here.
        RETURN NULL;
    ELSIF move_state = 'moved' AND TG_TABLE_SCHEMA = 'webhooks' THEN
        -- The results of deliveries that were under way. The target delivers again.
        RETURN NULL;
    ELSIF move_state IS NOT NULL AND current_setting('strata.sweeping', true) = 'on' THEN
        RETURN NULL;
    ELSIF move_state IN ('paused', 'moved') THEN
        -- Callers repeat statements that fail with this code.
        RAISE EXCEPTION 'the app is being moved to another database' USING ERRCODE = 'lock_not_available';
    END IF;
    RETURN result;
END
$$;

-- Creates the triggers of an app on a table, unless they exist. It waits for the table's writers.
CREATE OR REPLACE FUNCTION conversations.begin_tracking(p_app uuid, p_table regclass, p_key text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name CONSTANT text := 'move_' || replace(p_app::text, '-', '');
    arguments CONSTANT text := (
        SELECT string_agg(quote_literal(a.value), ', ' ORDER BY a.n)
        FROM unnest(ARRAY[p_app::text, p_key, p_table::text] || conversations.key_columns(p_table))
            WITH ORDINALITY a(value, n));
    is_direct CONSTANT boolean := p_key IN ('id', 'app_id');
BEGIN
    PERFORM FROM pg_trigger t WHERE t.tgrelid = p_table AND t.tgname = name;
    IF FOUND THEN RETURN; END IF;
    -- The condition of a trigger for insertions cannot name OLD, and the other way round.
    EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE OR DELETE ON %s FOR EACH ROW %s EXECUTE FUNCTION %s(%s)',
        name || '_changed', p_table, CASE WHEN is_direct THEN format('WHEN (OLD.%I = %L)', p_key, p_app) ELSE '' END,
        'conversations.track_move', arguments);
    EXECUTE format('CREATE TRIGGER %I BEFORE INSERT ON %s FOR EACH ROW %s EXECUTE FUNCTION %s(%s)',
        name, p_table, CASE WHEN is_direct THEN format('WHEN (NEW.%I = %L)', p_key, p_app) ELSE '' END,
        'conversations.track_move', arguments);
END
$$;

-- Removes the triggers of an app from a table.
CREATE OR REPLACE FUNCTION conversations.end_tracking(p_app uuid, p_table regclass) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name CONSTANT text := 'move_' || replace(p_app::text, '-', '');
BEGIN
    EXECUTE format('DROP TRIGGER IF EXISTS %I ON %s', name || '_changed', p_table);
    EXECUTE format('DROP TRIGGER IF EXISTS %I ON %s', name, p_table);
END
$$;

-- In the source: begins a move, or finds the one to the same database. Returns false if the app does not live here, is
-- being deleted, or is being moved to another database.
CREATE OR REPLACE FUNCTION conversations.begin_move(p_app uuid, p_target text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known record;
BEGIN
    -- If an earlier move has left triggers, none is created that would wait for open writers, which note nothing yet.
    PERFORM pg_advisory_xact_lock(conversations.move_lock(p_app));
    PERFORM FROM conversations.app a WHERE a.id = p_app AND a.deleting_since IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    SELECT m.state, m.other INTO known FROM conversations.app_move m WHERE m.app_id = p_app;
    IF FOUND THEN RETURN known.state IN ('copying', 'paused') AND known.other = p_target; END IF;
    INSERT INTO conversations.app_move (app_id, other, state) VALUES (p_app, p_target, 'copying');
    RETURN true;
END
$$;

-- In the source, when all triggers exist: notes the parts to copy, once. Tables with a second unique index are copied
-- like changed rows, in the order of the changes, because two states of their rows can contradict each other.
CREATE OR REPLACE FUNCTION conversations.note_move_parts(p_app uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    part record;
BEGIN
    PERFORM FROM conversations.app_move_part p WHERE p.app_id = p_app;
    IF FOUND THEN RETURN; END IF;
    FOR part IN SELECT * FROM conversations.tables_of_moves() LOOP
        IF EXISTS (SELECT FROM pg_index i WHERE i.indrelid = part.relation AND i.indisunique AND NOT i.indisprimary)
        THEN
            EXECUTE format(
                'INSERT INTO conversations.app_move_row (app_id, relation, key) SELECT $1, $2, jsonb_build_object(%s) '
                    'FROM %s x WHERE %s',
                (SELECT string_agg(format('%L, x.%I', k.name, k.name), ', ')
                    FROM unnest(conversations.key_columns(part.relation)) k(name)),
                part.relation, conversations.move_condition(part.key))
            USING p_app, part.root::text;
        ELSE
            INSERT INTO conversations.app_move_part (app_id, relation, end_block, file)
            VALUES (p_app, part.relation::text,
                pg_relation_size(part.relation) / current_setting('block_size')::bigint,
                pg_relation_filenode(part.relation));
        END IF;
    END LOOP;
END
$$;

-- In the source: returns the next rows of a part as a JSON array, up to a number of rows and about a number of bytes,
-- and the row to continue at; NULL: the part is complete. A part whose partition was dropped is complete.
CREATE OR REPLACE FUNCTION conversations.export_part(
    p_app uuid, p_relation text, p_limit bigint, p_bytes bigint,
    OUT root text, OUT rows text, OUT next_row text, OUT file bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    part conversations.app_move_part;
    place record;
    found_row record;
    texts text[] := '{}';
    bytes bigint := 0;
    blocks CONSTANT bigint := 64;
    start tid;
    last tid;
    end_block bigint;
BEGIN
    rows := '[]';
    file := 0;
    SELECT * INTO part FROM conversations.app_move_part p WHERE p.app_id = p_app AND p.relation = p_relation;
    SELECT t.* INTO place FROM conversations.tables_of_moves() t WHERE t.relation = to_regclass(p_relation);
    IF place.relation IS NULL OR part.next_row IS NULL THEN RETURN; END IF;
    root := place.root::text;
    file := pg_relation_filenode(place.relation);
    start := part.next_row;
    end_block := part.end_block;
    IF file <> part.file::bigint THEN
        -- A table that was rewritten is copied from its beginning.
        start := '(0,0)';
        end_block := pg_relation_size(place.relation) / current_setting('block_size')::bigint;
    END IF;
    last := format('(%s,0)', least((start::text::point)[0]::bigint + blocks, 4294967295))::tid;
    FOR found_row IN EXECUTE format(
        'SELECT x.ctid AS place, to_jsonb(x)::text AS text FROM %s x WHERE x.ctid >= $2 AND x.ctid < $3 AND %s '
            'ORDER BY x.ctid', place.relation, conversations.move_condition(place.key))
        USING p_app, start, last
    LOOP
        IF cardinality(texts) >= p_limit OR bytes >= p_bytes THEN
            last := found_row.place;
            EXIT;
        END IF;
        texts := texts || found_row.text;
        bytes := bytes + octet_length(found_row.text);
    END LOOP;
    rows := '[' || array_to_string(texts, ',') || ']';
    next_row := CASE WHEN (last::text::point)[0]::bigint < end_block THEN last::text END;
EXCEPTION WHEN undefined_table THEN
    rows := '[]';
    next_row := NULL;
END
$$;

-- In the source: notes how far a part has been copied, from the file that export_part named.
CREATE OR REPLACE FUNCTION conversations.move_part_copied(p_app uuid, p_relation text, p_next text, p_file bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE conversations.app_move_part p
    SET next_row = p_next::tid, file = p_file::oid,
        end_block = CASE WHEN p.file = p_file::oid THEN p.end_block
            ELSE coalesce(pg_relation_size(to_regclass(p_relation)) / current_setting('block_size')::bigint, 0) END
    WHERE p.app_id = p_app AND p.relation = p_relation;
END
$$;

-- In the source: returns the parts of which rows are still to be copied, in order.
CREATE OR REPLACE FUNCTION conversations.move_parts(p_app uuid) RETURNS TABLE (relation text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT t.relation::text FROM conversations.tables_of_moves() WITH ORDINALITY t(relation, root, key, n)
    JOIN conversations.app_move_part p ON p.app_id = p_app AND p.relation = t.relation::text
    WHERE p.next_row IS NOT NULL ORDER BY t.n;
END
$$;

-- In the source: returns the oldest noted changes by table: their numbers, the keys of the rows, and the rows as they
-- are now. Each is a JSON array.
CREATE OR REPLACE FUNCTION conversations.export_changes(p_app uuid, p_limit bigint)
RETURNS TABLE (root text, numbers bigint[], keys text, rows text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    noted record;
    conditions text;
BEGIN
    FOR noted IN
        SELECT o.relation, array_agg(o.number) AS numbers, jsonb_agg(DISTINCT o.key) AS keys
        FROM (
            SELECT r.* FROM conversations.app_move_row r
            WHERE r.app_id = p_app ORDER BY r.app_id, r.number LIMIT p_limit) o
        GROUP BY o.relation
        -- The target finds a conversation's id taken before it gets the conversation's rows.
        ORDER BY o.relation::regclass <> 'conversations.conversation'::regclass, o.relation
    LOOP
        export_changes.root := noted.relation;
        export_changes.numbers := noted.numbers;
        export_changes.keys := noted.keys::text;
        SELECT string_agg(format('x.%I = k.%I', c.name, c.name), ' AND ') INTO conditions
        FROM unnest(conversations.key_columns(noted.relation::regclass)) c(name);
        EXECUTE format(
            'SELECT coalesce(jsonb_agg(to_jsonb(x)), ''[]'')::text FROM jsonb_populate_recordset(NULL::%s, $1) k '
                'JOIN %s x ON %s', noted.relation, noted.relation, conditions)
        INTO export_changes.rows USING noted.keys;
        RETURN NEXT;
    END LOOP;
END
$$;

-- In the source: forgets changes that the target has. Returns the number of those that are left, at most `p_most`.
CREATE OR REPLACE FUNCTION conversations.changes_copied(p_app uuid, p_numbers bigint[], p_most bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM conversations.app_move_row r WHERE r.number = ANY (p_numbers);
    RETURN (SELECT count(*) FROM (
        SELECT FROM conversations.app_move_row r WHERE r.app_id = p_app LIMIT p_most) l);
END
$$;

-- In the target: expects an app. Its row, and what it has here, are of no effect yet. Returns false if the app lives
-- here.
CREATE OR REPLACE FUNCTION conversations.expect_app(p_app uuid, p_source text, p_epoch text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF conversations.app_state(p_app) = 'here'
        OR EXISTS (SELECT FROM conversations.app_move m WHERE m.app_id = p_app AND m.state IN ('copying', 'paused'))
    THEN
        RETURN false;
    END IF;
    INSERT INTO conversations.app_move AS m (app_id, other, state) VALUES (p_app, p_source, 'arriving')
    ON CONFLICT (app_id) DO UPDATE SET other = p_source, state = 'arriving', changed_at = clock_timestamp()
    WHERE m.state <> 'arriving' OR m.other <> p_source;
    -- A repetition must not accept another history of the source.
    IF NOT FOUND THEN RETURN true; END IF;
    INSERT INTO conversations.app_epoch (app_id, value, base) SELECT p_app, p_epoch, e.value FROM conversations.epoch e
    ON CONFLICT (app_id) DO UPDATE SET value = excluded.value, base = excluded.base, arrived_at = NULL;
    RETURN true;
END
$$;

-- In the target: writes rows of an app, a JSON array. With `p_keys`, the rows with these keys are replaced; without,
-- rows that exist stay, because later changes of them are noted in the source. Rows of other apps stay in any case.
CREATE OR REPLACE FUNCTION conversations.import_rows(p_app uuid, p_root text, p_keys text, p_rows text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    target CONSTANT regclass := p_root;
    key_names CONSTANT text[] := conversations.key_columns(target);
    names text;
    vals text;
    conditions text;
    is_taken boolean;
    is_app CONSTANT boolean := target = 'conversations.app'::regclass;
    -- The column by which a row belongs to an app; NULL: no client chooses the ids.
    owner CONSTANT text := (
        SELECT min(a.attname) FROM pg_attribute a
        WHERE a.attrelid = target AND a.attname IN ('app_id', 'conversation_id') AND NOT a.attisdropped);
    is_foreign CONSTANT text := CASE owner
        WHEN 'app_id' THEN 'x.app_id <> $2'
        WHEN 'conversation_id' THEN
            'EXISTS (SELECT FROM conversations.conversation c WHERE c.id = x.conversation_id AND c.app_id <> $2)'
        ELSE 'false' END;
BEGIN
    PERFORM set_config('strata.copying', 'on', true);
    SELECT string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum),
        -- A transaction's number of the source means nothing here. The index then takes a new one.
        string_agg(CASE WHEN a.atttypid = 'xid8'::regtype THEN 'NULL' ELSE format('r.%I', a.attname) END, ', '
            ORDER BY a.attnum),
        string_agg(format('%I = excluded.%I', a.attname, a.attname), ', ')
    INTO names, vals, conditions
    FROM pg_attribute a WHERE a.attrelid = target AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '';
    IF is_app THEN
        EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM jsonb_populate_recordset(NULL::%s, $1) r '
            'ON CONFLICT (id) DO UPDATE SET %s', target, names, vals, target, conditions) USING p_rows::jsonb;
        RETURN;
    END IF;
    IF p_keys IS NOT NULL THEN
        SELECT string_agg(format('x.%I = k.%I', c.name, c.name), ' AND ') INTO conditions
        FROM unnest(key_names) c(name);
        EXECUTE format('DELETE FROM %s x USING jsonb_populate_recordset(NULL::%s, $1) k WHERE %s AND NOT (%s)',
            target, target, conditions, is_foreign) USING p_keys::jsonb, p_app;
    END IF;
    EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s '
        'FROM jsonb_populate_recordset(NULL::%s, $1) r ON CONFLICT DO NOTHING', target, names, vals, target)
    USING p_rows::jsonb;
    -- Clients choose ids. Of two apps in one database, only one can have an id.
    SELECT string_agg(format('x.%I = r.%I', c.name, c.name), ' AND ') INTO conditions FROM unnest(key_names) c(name);
    EXECUTE format('SELECT EXISTS (SELECT FROM jsonb_populate_recordset(NULL::%s, $1) r JOIN %s x ON %s WHERE %s)',
        target, target, conditions, is_foreign) INTO is_taken USING p_rows::jsonb, p_app;
    IF is_taken THEN
        RAISE EXCEPTION 'another app of this database has an object with the same id in %', p_root
        USING ERRCODE = 'unique_violation';
    END IF;
END
$$;

-- In the source: pauses the app, or lets it go on, when no write of it is under way.
CREATE OR REPLACE FUNCTION conversations.set_move_state(p_app uuid, p_state text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(conversations.move_lock(p_app));
    UPDATE conversations.app_move m SET state = p_state, changed_at = clock_timestamp()
    WHERE m.app_id = p_app AND m.state <> p_state;
END
$$;

-- In the source: what the target must know besides the rows: the beginning of the log, the epoch that the app's clients
-- know, and the last numbers of deliveries and of events. `clock`: the present time.
CREATE OR REPLACE FUNCTION conversations.move_facts(
    p_app uuid, OUT epoch text, OUT log_begin timestamptz, OUT clock timestamptz, OUT delivery bigint,
    OUT number bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT coalesce(m.value, e.value) INTO move_facts.epoch FROM conversations.epoch e
    LEFT JOIN conversations.app_epoch m ON m.app_id = p_app AND m.base = e.value;
    log_begin := (SELECT b.at FROM conversations.log_begin b);
    delivery := (SELECT coalesce(max(d.number), 0) FROM webhooks.delivery d WHERE d.app_id = p_app);
    number := (SELECT s.last_value FROM webhooks.number s);
    clock := clock_timestamp();
END
$$;

-- In the source: returns unexpired used nonces after a digest, and the last digest; NULL: there are none.
CREATE OR REPLACE FUNCTION conversations.export_nonces(p_after bytea, p_limit bigint, OUT rows text, OUT last bytea)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- max(bytea) does not exist in every release.
    SELECT coalesce(jsonb_agg(to_jsonb(n)), '[]')::text, (array_agg(n.digest ORDER BY n.digest DESC))[1]
    INTO export_nonces.rows, export_nonces.last
    FROM (
        SELECT u.* FROM conversations.used_nonce u WHERE u.digest > p_after AND u.expires_at > now()
        ORDER BY u.digest LIMIT p_limit) n;
END
$$;

-- In the target: makes sure that the app does not arrive, not even by a receive_app that is under way. Returns false
-- if it has arrived.
CREATE OR REPLACE FUNCTION conversations.refuse_app(p_app uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM conversations.app_move m WHERE m.app_id = p_app AND m.state = 'arriving' FOR UPDATE;
    IF FOUND THEN
        UPDATE conversations.app_epoch e SET value = '' WHERE e.app_id = p_app;
    END IF;
    RETURN conversations.app_state(p_app) IS DISTINCT FROM 'here';
END
$$;

-- In a database that was restored to a time at which an app had not left it, or was being copied: the app is gone.
-- Returns false if it has another state here.
CREATE OR REPLACE FUNCTION conversations.leave_app(p_app uuid, p_target text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO conversations.app_move AS m (app_id, other, state) VALUES (p_app, p_target, 'moved')
    ON CONFLICT (app_id) DO UPDATE SET state = 'moved', changed_at = clock_timestamp()
    WHERE m.state = 'copying' AND m.other = p_target;
    RETURN EXISTS (
        SELECT FROM conversations.app_move m
        WHERE m.app_id = p_app AND m.state = 'moved' AND m.other = p_target);
END
$$;

-- In the target: the app lives here from now on. Returns false if a repetition cannot succeed either.
CREATE OR REPLACE FUNCTION conversations.receive_app(
    p_app uuid, p_epoch text, p_log_begin timestamptz, p_delivery bigint, p_number bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    step CONSTANT bigint := 1024;
    own CONSTANT bigint := (SELECT d.number FROM conversations.database d WHERE d.is_only);
    made record;
BEGIN
    PERFORM FROM conversations.app_move m WHERE m.app_id = p_app AND m.state = 'arriving' FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    -- The clients' epoch has changed since the move began, or that of this database, or the move is undone.
    IF NOT EXISTS (SELECT FROM conversations.app_epoch a JOIN conversations.epoch e ON e.value = a.base
        WHERE a.app_id = p_app AND a.value = p_epoch) THEN
        RETURN false;
    END IF;
    -- Replays from before the source's log are incomplete.
    UPDATE conversations.log_begin b SET at = p_log_begin WHERE b.at < p_log_begin;
    FOR made IN
        SELECT * FROM (VALUES (pg_get_serial_sequence('webhooks.delivery', 'number'), p_delivery),
            ('webhooks.number', p_number)) v(name, minimum)
    LOOP
        -- Later numbers must be greater than those of the rows that arrived.
        EXECUTE format('SELECT setval(%L, ($1 / $2 + 1) * $2 + $3, false) FROM %s s WHERE s.last_value < $1',
            made.name, made.name) USING made.minimum, step, own;
    END LOOP;
    UPDATE conversations.app_epoch e SET arrived_at = clock_timestamp() WHERE e.app_id = p_app;
    DELETE FROM conversations.app_move m WHERE m.app_id = p_app AND m.state = 'arriving';
    RETURN true;
END
$$;

-- Deletes rows of an app in a range of blocks: in the source after the move, in the target if it is undone. Returns the
-- next block; NULL: the table has no more. Contents keep their bytes, which the app still has.
CREATE OR REPLACE FUNCTION conversations.clean_move(
    p_app uuid, p_relation text, p_key text, p_block bigint, OUT removed bigint, OUT next_block bigint)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    blocks CONSTANT bigint := 256;
    target CONSTANT regclass := to_regclass(p_relation);
BEGIN
    removed := 0;
    IF target IS NULL THEN RETURN; END IF;
    PERFORM FROM conversations.app_move m WHERE m.app_id = p_app AND m.state IN ('moved', 'arriving');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the app lives in this database' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    PERFORM set_config('strata.copying', 'on', true);
    EXECUTE format('DELETE FROM %s x WHERE x.ctid >= $2 AND x.ctid < $3 AND %s', target,
        conversations.move_condition(p_key))
    USING p_app, format('(%s,0)', p_block)::tid, format('(%s,0)', least(p_block + blocks, 4294967295))::tid;
    GET DIAGNOSTICS removed = ROW_COUNT;
    next_block := CASE WHEN pg_relation_size(target) > (p_block + blocks) * current_setting('block_size')::bigint
        THEN p_block + blocks END;
END
$$;

-- Forgets a move: the triggers are gone. In the source the row with the state 'moved' stays, so that services and
-- gateways learn where the app is.
CREATE OR REPLACE FUNCTION conversations.end_move(p_app uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM conversations.app_move_part p WHERE p.app_id = p_app;
    DELETE FROM conversations.app_move_row r WHERE r.app_id = p_app;
    DELETE FROM conversations.app_epoch e WHERE e.app_id = p_app
        AND EXISTS (SELECT FROM conversations.app_move m WHERE m.app_id = p_app AND m.state IN ('moved', 'arriving'));
    DELETE FROM conversations.app_move m WHERE m.app_id = p_app AND m.state <> 'moved';
END
$$;

-- Returns the state of a move here. No app: the app has no row here.
CREATE OR REPLACE FUNCTION conversations.move_state(
    p_app uuid, OUT has_app boolean, OUT state text, OUT other text, OUT seconds double precision,
    OUT arrived_at timestamptz)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    has_app := EXISTS (SELECT FROM conversations.app a WHERE a.id = p_app);
    arrived_at := conversations.app_arrival(p_app);
    SELECT m.state, m.other, extract(epoch FROM clock_timestamp() - m.changed_at)
    INTO move_state.state, move_state.other, move_state.seconds FROM conversations.app_move m WHERE m.app_id = p_app;
END
$$;
