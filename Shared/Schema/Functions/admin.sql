-- SPDX-License-Identifier: Apache-2.0
-- Administration of apps by operators, and the reports that the console shows.
--
-- The functions that change apps run as the owner, because no service's role may write these tables. `strata app` calls
-- them, too.

-- Creates an app with its first key and server token. Outcomes: 'ok', also if the same app exists; 'id_in_use' if one
-- of the ids, or the token, is that of another object.
CREATE OR REPLACE FUNCTION conversations.create_app(
    p_app uuid, p_name text, p_provider uuid, p_key uuid, p_public_key text, p_token uuid, p_digest bytea) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO conversations.app (id, name, provider_id) VALUES (p_app, p_name, p_provider);
    INSERT INTO conversations.app_key (id, app_id, public_key) VALUES (p_key, p_app, p_public_key);
    INSERT INTO conversations.server_token (id, digest, app_id) VALUES (p_token, p_digest, p_app);
    RETURN 'ok';
EXCEPTION WHEN unique_violation THEN
    RETURN CASE WHEN EXISTS (
            SELECT FROM conversations.app a
            JOIN conversations.app_key k ON k.app_id = a.id AND k.id = p_key AND k.public_key = p_public_key
            JOIN conversations.server_token t ON t.app_id = a.id AND t.id = p_token AND t.digest = p_digest
            WHERE a.id = p_app AND a.provider_id = p_provider)
        THEN 'ok' ELSE 'id_in_use' END;
END
$$;

-- Suspends an app, or lifts the suspension. An app that is being deleted stays suspended. No row: the app does not
-- exist.
CREATE OR REPLACE FUNCTION conversations.suspend_app(p_app uuid, p_suspended boolean)
RETURNS TABLE (name text, is_being_deleted boolean)
LANGUAGE sql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE conversations.app a SET suspended = p_suspended OR a.deleting_since IS NOT NULL WHERE a.id = p_app
    RETURNING a.name, a.deleting_since IS NOT NULL
$$;

-- Adds a public key to an app. Outcomes: 'ok', also if the app has it; 'not_found'; 'too_many' if the app has `p_most`
-- others; 'id_in_use'.
CREATE OR REPLACE FUNCTION conversations.add_app_key(p_app uuid, p_key uuid, p_public_key text, p_most bigint)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM conversations.app a WHERE a.id = p_app AND a.deleting_since IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN 'not_found'; END IF;
    IF (SELECT count(*) FROM conversations.app_key k WHERE k.app_id = p_app AND k.id <> p_key) >= p_most THEN
        RETURN 'too_many';
    END IF;
    INSERT INTO conversations.app_key (id, app_id, public_key) VALUES (p_key, p_app, p_public_key)
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND OR EXISTS (
            SELECT FROM conversations.app_key k
            WHERE k.id = p_key AND k.app_id = p_app AND k.public_key = p_public_key)
        THEN 'ok' ELSE 'id_in_use' END;
END
$$;

-- Removes a public key from an app, if it has it.
CREATE OR REPLACE FUNCTION conversations.remove_app_key(p_app uuid, p_key uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM conversations.app_key k WHERE k.id = p_key AND k.app_id = p_app
$$;

-- Creates a server token that expires after `p_seconds` (NULL: never), and deletes expired ones of the app. Outcomes:
-- 'ok', also if the app has it; 'not_found', also if the app is being deleted; 'id_in_use'.
CREATE OR REPLACE FUNCTION conversations.create_server_token(
    p_app uuid, p_token uuid, p_name text, p_digest bytea, p_seconds bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM conversations.app a WHERE a.id = p_app AND a.deleting_since IS NULL FOR KEY SHARE;
    IF NOT FOUND THEN RETURN 'not_found'; END IF;
    DELETE FROM conversations.server_token t WHERE t.app_id = p_app AND t.expires_at < now();
    INSERT INTO conversations.server_token (id, name, digest, app_id, expires_at)
    VALUES (p_token, p_name, p_digest, p_app, now() + p_seconds * interval '1 second')
    ON CONFLICT DO NOTHING;
    RETURN CASE WHEN FOUND OR EXISTS (
            SELECT FROM conversations.server_token t WHERE t.id = p_token AND t.app_id = p_app AND t.digest = p_digest)
        THEN 'ok' ELSE 'id_in_use' END;
END
$$;

-- Revokes a server token of an app, if it has it.
CREATE OR REPLACE FUNCTION conversations.revoke_server_token(p_app uuid, p_token uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM conversations.server_token t WHERE t.id = p_token AND t.app_id = p_app
$$;

-- The reports. Each returns a JSON document, or NULL if its object does not exist. Lists have at most `p_limit` items.
-- `next` is the `p_after` of the following page; null: there is none. No report reads a large table as a whole.

-- Shows the database: its name (null: it is the only one), its size, and the number of apps that live in it.
CREATE OR REPLACE FUNCTION conversations.report_databases() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'name', d.name, 'bytes', pg_database_size(current_database()),
            'apps', (SELECT count(*) FROM conversations.app a WHERE NOT conversations.is_away(a.id)))
        FROM conversations.database d WHERE d.is_only);
END
$$;

-- Lists the apps that live in the database, oldest first, as an array. `p_after`: the id of the last app of the page
-- before.
CREATE OR REPLACE FUNCTION conversations.report_apps(p_after text, p_limit bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT coalesce(json_agg(json_build_object(
            'id', a.id, 'name', a.name, 'created_at', a.created_at, 'suspended', a.suspended,
            'deleting', a.deleting_since IS NOT NULL,
            'database', (SELECT d.name FROM conversations.database d WHERE d.is_only),
            'moving_to', (SELECT m.other FROM conversations.app_move m WHERE m.app_id = a.id),
            'keys', (SELECT count(*) FROM conversations.app_key k WHERE k.app_id = a.id),
            'tokens', (SELECT count(*) FROM conversations.server_token t
                WHERE t.app_id = a.id AND (t.expires_at > now()) IS NOT FALSE),
            'webhooks', (SELECT count(*) FROM webhooks.hook h WHERE h.app_id = a.id),
            'indexes', (SELECT count(*) FROM metadata.index_path i WHERE i.app_id = a.id AND i.removed_at IS NULL))
            ORDER BY a.created_at, a.id), '[]')
        FROM (
            SELECT x.* FROM conversations.app x
            WHERE NOT conversations.is_away(x.id) AND (p_after = '' OR (x.created_at, x.id) > (
                SELECT y.created_at, y.id FROM conversations.app y WHERE y.id = p_after::uuid))
            ORDER BY x.created_at, x.id LIMIT p_limit) a);
END
$$;

-- Shows an app with its settings, keys and server tokens.
CREATE OR REPLACE FUNCTION conversations.report_app(p_app uuid) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'id', a.id, 'name', a.name, 'provider_id', a.provider_id, 'created_at', a.created_at,
            'suspended', a.suspended, 'deleting', a.deleting_since IS NOT NULL,
            'database', (SELECT d.name FROM conversations.database d WHERE d.is_only),
            'moving_to', (SELECT m.other FROM conversations.app_move m WHERE m.app_id = a.id),
            'settings', json_build_object(
                'session_ttl_in_seconds', a.session_ttl, 'badge_counts', a.badge_counts,
                'badge_counts_announcements', a.badge_announcements, 'participants_added_by', a.added_by,
                'stranger_additions_per_hour', a.stranger_additions),
            'keys', (
                SELECT coalesce(json_agg(json_build_object(
                    'id', k.id, 'public_key', k.public_key, 'created_at', k.created_at)
                    ORDER BY k.created_at, k.id), '[]')
                FROM conversations.app_key k WHERE k.app_id = a.id),
            'tokens', (
                SELECT coalesce(json_agg(json_build_object(
                    'id', t.id, 'name', t.name, 'created_at', t.created_at, 'expires_at', t.expires_at)
                    ORDER BY t.created_at, t.id), '[]')
                FROM (
                    SELECT x.* FROM conversations.server_token x WHERE x.app_id = a.id
                    ORDER BY x.created_at DESC LIMIT 200) t))
        FROM conversations.app a WHERE a.id = p_app);
END
$$;

-- Returns the conversations of an app whose newest change is before a time, newest first, from the log. It reads up to
-- `batch` entries at a time, and `most` in all, because other apps' conversations are among them. `before` is the time
-- to continue before; NULL: the log has been read to its beginning.
CREATE OR REPLACE FUNCTION conversations.active_conversations(
    p_app uuid, p_before timestamptz, p_limit bigint, OUT ids uuid[], OUT before timestamptz)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    batch CONSTANT bigint := 2000;
    most CONSTANT bigint := 200000;
    looked_at bigint := 0;
    entries record;
    newest record;
BEGIN
    ids := '{}';
    before := p_before;
    WHILE looked_at < most LOOP
        SELECT count(*) AS number, min(e.created_at) AS oldest, array_agg(e.conversation_id) AS ids,
            array_agg(e.position) AS positions
        INTO entries
        FROM (
            SELECT h.conversation_id, h.position, h.created_at FROM conversations.change h
            WHERE h.created_at < before ORDER BY h.created_at DESC LIMIT batch) e;
        FOR newest IN
            SELECT c.id, c.last_change_at
            FROM (
                SELECT e.id, max(e.position) AS position FROM unnest(entries.ids, entries.positions) e(id, position)
                GROUP BY e.id) e
            CROSS JOIN LATERAL (
                SELECT x.id, x.last_change_at, x.position, x.app_id FROM conversations.conversation x
                WHERE x.id = e.id OFFSET 0) c
            WHERE c.app_id = p_app AND c.position = e.position
            ORDER BY c.last_change_at DESC
        LOOP
            ids := ids || newest.id;
            before := newest.last_change_at;
            IF cardinality(ids) = p_limit THEN RETURN; END IF;
        END LOOP;
        before := CASE WHEN entries.number = batch THEN entries.oldest END;
        looked_at := looked_at + batch;
        EXIT WHEN before IS NULL;
    END LOOP;
END
$$;

-- Returns the conversations of an app whose newest change is no longer in the log, by id, after an id. It reads up to
-- `most` conversations, because those of other apps are among them. `after` is the id to continue after; NULL: all have
-- been read.
CREATE OR REPLACE FUNCTION conversations.silent_conversations(
    p_app uuid, p_after uuid, p_limit bigint, OUT ids uuid[], OUT after uuid)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    most CONSTANT bigint := 10000;
    -- The time of the log's oldest entry.
    begins CONSTANT timestamptz := coalesce(
        (SELECT h.created_at FROM conversations.change h ORDER BY h.created_at LIMIT 1), 'infinity');
    looked_at bigint := 0;
    c record;
BEGIN
    ids := '{}';
    FOR c IN
        SELECT x.id, x.app_id, x.last_change_at FROM conversations.conversation x
        WHERE x.id > p_after ORDER BY x.id LIMIT most
    LOOP
        looked_at := looked_at + 1;
        after := c.id;
        CONTINUE WHEN c.app_id <> p_app OR c.last_change_at >= begins;
        ids := ids || c.id;
        IF cardinality(ids) = p_limit THEN RETURN; END IF;
    END LOOP;
    IF looked_at < most THEN after := NULL; END IF;
END
$$;

-- Lists the conversations of an app: first those with a change in the log, the latest first; then the others. A page
-- may have fewer items than `p_limit` although a next page exists. Cursors: 'before <microseconds>', and 'after <id>'
-- among the others.
CREATE OR REPLACE FUNCTION conversations.report_conversations(p_app uuid, p_after text, p_limit bigint) RETURNS json
LANGUAGE plpgsql STABLE AS $$
DECLARE
    no_id CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
    cursor CONSTANT text[] := string_to_array(p_after, ' ');
    ids uuid[] := '{}';
    more uuid[];
    before timestamptz;
    after uuid := no_id;
BEGIN
    IF cursor[1] = 'after' THEN
        after := cursor[2]::uuid;
    ELSE
        before := CASE WHEN cursor[1] = 'before'
            THEN timestamptz 'epoch' + cursor[2]::bigint * interval '1 microsecond' ELSE 'infinity' END;
        SELECT a.ids, a.before INTO ids, before FROM conversations.active_conversations(p_app, before, p_limit) a;
    END IF;
    IF before IS NULL AND cardinality(ids) < p_limit THEN
        SELECT s.ids, s.after INTO more, after
        FROM conversations.silent_conversations(p_app, after, p_limit - cardinality(ids)) s;
        ids := ids || more;
    END IF;
    RETURN (
        SELECT json_build_object('items', coalesce(json_agg(json_build_object(
            'id', c.id, 'created_at', c.created_at, 'last_at', c.last_change_at, 'position', c.position,
            'messages', c.message_count, 'participants', coalesce(r.user_ids[1:5], '{}'),
            'participant_count', coalesce(cardinality(r.user_ids), 0), 'deleted', c.deleted_position IS NOT NULL)
            ORDER BY w.n), '[]'), 'next', CASE
                WHEN before IS NOT NULL THEN 'before ' || (extract(epoch FROM before) * 1000000)::bigint
                ELSE 'after ' || after END)
        FROM unnest(ids) WITH ORDINALITY w(id, n)
        CROSS JOIN LATERAL (SELECT x.* FROM conversations.conversation x WHERE x.id = w.id OFFSET 0) c
        LEFT JOIN LATERAL (
            SELECT x.user_ids FROM conversations.roster x WHERE x.conversation_id = w.id OFFSET 0) r ON true);
END
$$;

-- Lists the users of an app whose ids begin with `p_prefix`, by id. `p_after`: the last user of the previous page.
CREATE OR REPLACE FUNCTION conversations.report_users(p_app uuid, p_prefix text, p_after text, p_limit bigint)
RETURNS json
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    last_character CONSTANT text := chr(1114111);
BEGIN
    RETURN (
        SELECT json_build_object('items', coalesce(json_agg(json_build_object(
            'user_id', u.user_id, 'display_name', u.display_name, 'suspended', u.suspended, 'is_bot', u.is_bot,
            'created_at', u.created_at)), '[]'), 'next', CASE WHEN count(*) = p_limit THEN max(u.user_id) END)
        FROM (
            SELECT i.user_id, i.display_name, i.suspended, i.is_bot, i.created_at FROM conversations.identity i
            WHERE i.app_id = p_app AND i.user_id >= p_prefix AND i.user_id < p_prefix || last_character
                AND i.user_id > p_after AND NOT i.is_doomed
            ORDER BY i.user_id LIMIT p_limit) u);
END
$$;

-- True if the app has a conversation with this id, which may be deleted.
CREATE OR REPLACE FUNCTION conversations.is_conversation_of(p_app uuid, p_conversation uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversations.conversation c WHERE c.id = p_conversation AND c.app_id = p_app);
END
$$;

-- Shows a conversation with its participants: present ones first, at most `most` in all. `participant_count` is the
-- number of present ones. `read_through` is the ordinal of the newest message that the user has read, among the ranges
-- in the participant's row.
CREATE OR REPLACE FUNCTION conversations.report_conversation(p_app uuid, p_conversation uuid) RETURNS json
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    most CONSTANT bigint := 1000;
BEGIN
    RETURN (
        SELECT json_build_object(
            'id', c.id, 'created_at', c.created_at, 'distinct', c.is_distinct, 'position', c.position,
            'messages', c.message_count, 'deleted_at', c.deleted_at,
            'participant_count', coalesce((
                SELECT cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = c.id), 0),
            'participants', (
                SELECT coalesce(json_agg(json_build_object(
                    'user_id', p.user_id, 'display_name', i.display_name, 'joined_position', p.joined,
                    'read_through', upper(p.read) - 1,
                    'unread', coalesce(p.left_ordinal, c.message_count) - p.uncounted,
                    'left_position', p.left_position) ORDER BY p.left_position IS NOT NULL, p.user_id), '[]')
                FROM (
                    SELECT x.* FROM conversations.participant x WHERE x.conversation_id = c.id
                    ORDER BY x.left_position IS NOT NULL, x.user_id LIMIT most) p
                LEFT JOIN LATERAL (
                    SELECT y.display_name FROM conversations.identity y
                    WHERE y.app_id = p_app AND y.user_id = p.user_id OFFSET 0) i ON true))
        FROM conversations.conversation c WHERE c.id = p_conversation AND c.app_id = p_app);
END
$$;

-- Lists the metadata of a conversation, by path, each value with the change that wrote it. `actor` and `at` are null if
-- that change is no longer in the log; the actor '' is the app's own server. `p_after`: the last path of the previous
-- page.
CREATE OR REPLACE FUNCTION conversations.report_leaves(p_app uuid, p_conversation uuid, p_after text, p_limit bigint)
RETURNS json
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    IF NOT conversations.is_conversation_of(p_app, p_conversation) THEN RETURN NULL; END IF;
    RETURN (
        SELECT json_build_object('items', coalesce(json_agg(json_build_object(
            'path', l.path, 'value', l.value, 'position', l.position, 'actor', h.actor, 'at', h.created_at)), '[]'),
            'next', CASE WHEN count(*) = p_limit THEN max(l.path) END)
        FROM (
            SELECT x.path, x.value, x.position FROM metadata.leaf x
            WHERE x.conversation_id = p_conversation AND x.path > p_after ORDER BY x.path LIMIT p_limit) l
        LEFT JOIN LATERAL (
            SELECT x.actor, x.created_at FROM conversations.change x
            WHERE x.conversation_id = p_conversation AND x.position = l.position LIMIT 1) h ON true);
END
$$;

-- Returns the operations of a change as the console shows them; NULL: the kind has none.
--
-- - metadata: [{path, value}, …]; a null value: the path was deleted.
-- - participants: {added, removed}.
-- - receipts: [{user, message_id, status}, …].
-- - all read: {user, up_to}.
CREATE OR REPLACE FUNCTION conversations.shown_operations(p_kind smallint, p_operations jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE p_kind
        WHEN conversations.kind_metadata() THEN (
            SELECT jsonb_agg(jsonb_build_object('path', e ->> 0, 'value', e ->> 1))
            FROM jsonb_array_elements(p_operations -> 'effects') e)
        WHEN conversations.kind_participants() THEN jsonb_build_object(
            'added', p_operations -> 'added', 'removed', p_operations -> 'removed')
        WHEN conversations.kind_receipts() THEN (
            SELECT jsonb_agg(jsonb_build_object('user', e -> 'user', 'message_id', e -> 'message_id',
                'status', CASE e ->> 'status' WHEN '2' THEN 'read' ELSE 'delivered' END))
            FROM jsonb_array_elements(p_operations) e)
        WHEN conversations.kind_all_read() THEN jsonb_build_object(
            'user', p_operations -> 'user', 'up_to', p_operations -> 'up_to') END;
END
$$;

-- Lists the changes of a conversation, newest first, with at most about 1 MB of operations. The actor '' is the app's
-- own server. `p_after`: the last position of the previous page.
CREATE OR REPLACE FUNCTION conversations.report_changes(p_app uuid, p_conversation uuid, p_after text, p_limit bigint)
RETURNS json
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    most_bytes CONSTANT bigint := 1048576;
    kinds CONSTANT text[] := '{
        conversation_created, participants_changed, metadata_changed, conversation_deleted, message_created,
        message_deleted, receipts, all_read, parts_changed}';
    -- Positions below it are listed.
    before CONSTANT bigint := coalesce(nullif(p_after, '')::bigint, conversations.end_of_log());
BEGIN
    IF NOT conversations.is_conversation_of(p_app, p_conversation) THEN RETURN NULL; END IF;
    RETURN (
        SELECT json_build_object('items', coalesce(json_agg((
            jsonb_build_object(
                'position', h.position, 'kind', kinds[h.kind], 'actor', h.actor, 'at', h.created_at)
            || CASE WHEN h.message_id IS NULL THEN '{}' ELSE jsonb_build_object('message_id', h.message_id) END
            || CASE WHEN o.shown IS NULL THEN '{}' ELSE jsonb_build_object('operations', o.shown) END)
            ORDER BY h.position DESC), '[]'), 'next', CASE WHEN min(h.position) > min(h.oldest) OR count(*) = p_limit
                THEN min(h.position)::text END)
        FROM (
            SELECT x.*, sum(coalesce(octet_length(x.operations::text), 0)) OVER w AS bytes,
                row_number() OVER w AS number, min(x.position) OVER () AS oldest
            FROM (
                SELECT y.position, y.kind, y.actor, y.created_at, y.message_id, y.operations FROM conversations.change y
                WHERE y.conversation_id = p_conversation AND y.position < before
                ORDER BY y.position DESC LIMIT p_limit) x
            WINDOW w AS (ORDER BY x.position DESC ROWS UNBOUNDED PRECEDING)) h
        CROSS JOIN LATERAL (SELECT conversations.shown_operations(h.kind, h.operations) AS shown) o
        WHERE h.number = 1 OR h.bytes <= most_bytes);
END
$$;

-- Shows a user, or the erasure of one. `following` and `followers` count at most 10,000 users each who are followed
-- without being in a conversation together. `unread_messages` is null for a user of more than 1000 conversations.
CREATE OR REPLACE FUNCTION conversations.report_user(p_app uuid, p_user text) RETURNS json
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    most_follows CONSTANT bigint := 10000;
    most_conversations CONSTANT bigint := 1000;
    suspended CONSTANT boolean := (
        SELECT i.suspended FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_user);
    erasure CONSTANT json := (
        SELECT json_build_object('requested_at', e.requested_at, 'not_before', e.not_before)
        FROM conversations.erasure e WHERE e.app_id = p_app AND e.user_id = p_user);
    is_short boolean;
BEGIN
    IF suspended IS NULL AND erasure IS NULL THEN RETURN NULL; END IF;
    is_short := (
        SELECT count(*) <= most_conversations
        FROM (SELECT FROM conversations.user_conversation u
            WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed LIMIT most_conversations + 1) x);
    RETURN json_build_object(
        'user_id', p_user, 'suspended', coalesce(suspended, false),
        'push_tokens', (
            SELECT coalesce(json_agg(json_build_object(
                'device_id', t.device_id, 'type', t.type, 'updated_at', t.updated_at) ORDER BY t.updated_at DESC), '[]')
            FROM (SELECT x.* FROM conversations.push_token x WHERE x.app_id = p_app AND x.user_id = p_user
                ORDER BY x.updated_at DESC LIMIT 200) t),
        'log_position', coalesce((
            SELECT l.position FROM conversations.user_log l WHERE l.app_id = p_app AND l.user_id = p_user), 0),
        'unread_messages', CASE WHEN is_short THEN (
            SELECT t.messages FROM conversations.unread_totals(p_app, p_user) t) END,
        'following', (SELECT count(*) FROM (SELECT FROM conversations.follow f
            WHERE f.app_id = p_app AND f.user_id = p_user AND f.is_followed AND NOT f.is_met LIMIT most_follows) x),
        'followers', (SELECT count(*) FROM (SELECT FROM conversations.follow f
            WHERE f.app_id = p_app AND f.followed = p_user AND f.is_followed LIMIT most_follows) x),
        'erasure', erasure);
END
$$;

-- Shows the space that tables take; a partitioned table counts as one. `rows` are estimates.
CREATE OR REPLACE FUNCTION conversations.table_sizes()
RETURNS TABLE (schema text, name text, bytes numeric, table_bytes numeric, index_bytes numeric, rows numeric)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT n.nspname::text, w.relname::text, sum(pg_total_relation_size(c.oid)), sum(pg_table_size(c.oid)),
        sum(pg_indexes_size(c.oid)), sum(greatest(c.reltuples, 0)::numeric)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class w ON w.oid = coalesce(i.inhparent, c.oid)
    WHERE n.nspname IN ('conversations', 'metadata', 'webhooks', 'console', 'strata') AND c.relkind = 'r'
    GROUP BY n.nspname, w.relname
$$;

-- Estimates the numbers of messages that apps have ever had, by the statistics of PostgreSQL. No row: it has collected
-- none.
CREATE OR REPLACE FUNCTION conversations.estimated_messages() RETURNS TABLE (app_id uuid, messages numeric)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.id, round(c.reltuples::numeric * coalesce(
        (SELECT f.share FROM unnest(s.most_common_vals::text::uuid[], s.most_common_freqs) f(id, share)
            WHERE f.id = a.id),
        -- The apps that are not among the most frequent ones have equal shares of the rest.
        greatest(1 - coalesce((SELECT sum(f) FROM unnest(s.most_common_freqs) f), 0), 0)
            / greatest(n.apps - coalesce(cardinality(s.most_common_freqs), 0), 1))::numeric)
    FROM pg_stats s
    JOIN pg_class c ON c.oid = 'conversations.message_place'::regclass AND c.reltuples > 0
    CROSS JOIN LATERAL (
        SELECT CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * c.reltuples ELSE s.n_distinct END AS apps) n
    CROSS JOIN conversations.app a
    WHERE s.schemaname = 'conversations' AND s.tablename = 'message_place' AND s.attname = 'app_id'
$$;

-- Returns the bytes of the write-ahead log on disk; NULL if the owner of the database may not see them.
CREATE OR REPLACE FUNCTION conversations.wal_bytes() RETURNS numeric
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT has_function_privilege('pg_ls_waldir()', 'EXECUTE') THEN RETURN NULL; END IF;
    RETURN (SELECT sum(w.size) FROM pg_ls_waldir() w);
END
$$;

-- Estimates the bytes of apps' rich content, from blocks of the table with about 10,000 rows. No row: an app has none,
-- or none in these blocks.
CREATE OR REPLACE FUNCTION conversations.estimated_content() RETURNS TABLE (app_id uuid, bytes numeric)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    share CONSTANT real := (
        SELECT least(100, 1000000 / greatest(c.reltuples, 1))
        FROM pg_class c WHERE c.oid = 'conversations.content'::regclass);
BEGIN
    RETURN QUERY
    SELECT c.app_id, round(sum(c.size) * 100 / share::numeric)
    FROM conversations.content c TABLESAMPLE SYSTEM (share) WHERE c.uploaded_at IS NOT NULL GROUP BY c.app_id;
END
$$;

-- Returns the time of the last backup that deploy/backup.sh has recorded. NULL: none.
CREATE OR REPLACE FUNCTION conversations.last_backup_at() RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT max(a.at) FROM console.audit a WHERE a.action = 'backup'
$$;

-- Shows the space that the database takes: by table, by app (at most `p_limit`, the largest first), and by week of the
-- log. Numbers by app are estimates, and null without statistics. `p_service` has the members that the service knows.
CREATE OR REPLACE FUNCTION conversations.report_space(p_limit bigint, p_service jsonb) RETURNS json
LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- The bytes of the tables that grow with messages.
    grown CONSTANT numeric := (
        SELECT sum(t.bytes) FROM conversations.table_sizes() t WHERE t.schema IN ('conversations', 'metadata'));
    all_messages CONSTANT numeric := (SELECT sum(m.messages) FROM conversations.estimated_messages() m);
BEGIN
    RETURN p_service || jsonb_build_object(
        'database_bytes', pg_database_size(current_database()),
        'tables', (
            SELECT jsonb_agg(jsonb_build_object(
                'schema', t.schema, 'table', t.name, 'bytes', t.bytes, 'table_bytes', t.table_bytes,
                'index_bytes', t.index_bytes, 'rows', t.rows) ORDER BY t.bytes DESC)
            FROM conversations.table_sizes() t),
        'apps', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'id', a.id, 'name', a.name, 'messages', a.messages, 'bytes_estimate',
                round(grown * a.messages / nullif(all_messages, 0)), 'content_bytes', coalesce(b.bytes, 0))
                ORDER BY a.messages DESC NULLS LAST, a.created_at), '[]')
            FROM (
                SELECT x.id, x.name, x.created_at, m.messages
                FROM conversations.app x LEFT JOIN conversations.estimated_messages() m ON m.app_id = x.id
                ORDER BY m.messages DESC NULLS LAST, x.created_at LIMIT p_limit) a
            LEFT JOIN conversations.estimated_content() b ON b.app_id = a.id),
        'log_partitions', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'name', p.name, 'from', p.starts, 'to', p.starts + interval '7 days', 'bytes', p.bytes)
                ORDER BY p.starts), '[]')
            FROM (
                SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes,
                    to_date(substring(c.relname FROM '^change_([0-9]{8})$'), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC'
                        AS starts
                FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = 'conversations.change'::regclass) p),
        'oldest_change_at', (SELECT h.created_at FROM conversations.change h ORDER BY h.created_at LIMIT 1),
        'wal_bytes', conversations.wal_bytes(),
        'last_archived_at', (SELECT a.last_archived_time FROM pg_stat_archiver a),
        'last_backup_at', conversations.last_backup_at());
END
$$;

-- Returns a report by its name. NULL: its object, or the report, does not exist. `p_service` is that of report_space.
CREATE OR REPLACE FUNCTION conversations.report(
    p_name text, p_app uuid, p_user text, p_conversation uuid, p_after text, p_limit bigint, p_service jsonb)
RETURNS json
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN CASE p_name
        WHEN 'databases' THEN conversations.report_databases()
        WHEN 'apps' THEN conversations.report_apps(p_after, p_limit)
        WHEN 'app' THEN conversations.report_app(p_app)
        WHEN 'conversations' THEN conversations.report_conversations(p_app, p_after, p_limit)
        WHEN 'users' THEN conversations.report_users(p_app, p_user, p_after, p_limit)
        WHEN 'conversation' THEN conversations.report_conversation(p_app, p_conversation)
        WHEN 'leaves' THEN conversations.report_leaves(p_app, p_conversation, p_after, p_limit)
        WHEN 'changes' THEN conversations.report_changes(p_app, p_conversation, p_after, p_limit)
        WHEN 'user' THEN conversations.report_user(p_app, p_user)
        WHEN 'space' THEN conversations.report_space(p_limit, p_service) END;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.create_app, conversations.suspend_app, conversations.add_app_key, conversations.remove_app_key,
    conversations.create_server_token, conversations.revoke_server_token, conversations.report_databases,
    conversations.report_apps,
    conversations.report_app, conversations.active_conversations, conversations.silent_conversations,
    conversations.report_conversations, conversations.report_users, conversations.is_conversation_of,
    conversations.report_conversation, conversations.report_leaves, conversations.shown_operations,
    conversations.report_changes, conversations.report_user, conversations.table_sizes,
    conversations.estimated_messages, conversations.estimated_content, conversations.wal_bytes,
    conversations.last_backup_at, conversations.report_space,
    conversations.report TO strata_conversations;
