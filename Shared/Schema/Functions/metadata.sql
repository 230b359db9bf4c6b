-- SPDX-License-Identifier: Apache-2.0
-- Metadata: changes of a tree.

-- Returns the prefixes of a path: 'a.b.c' → {a,a.b,a.b.c}. The root has none.
CREATE OR REPLACE FUNCTION metadata.prefixes(path text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    found text[] := '{}';
    prefix text;
    key text;
BEGIN
    FOREACH key IN ARRAY string_to_array(path, '.') LOOP
        prefix := coalesce(prefix || '.' || key, key);
        found := found || prefix;
    END LOOP;
    RETURN found;
END
$$;

-- Return the bounds, both exclusive, of the paths below a path.
CREATE OR REPLACE FUNCTION metadata.lower_bound(path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE WHEN path = '' THEN '' ELSE path || '.' END;

CREATE OR REPLACE FUNCTION metadata.upper_bound(path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE WHEN path = '' THEN '~' ELSE path || '/' END;

-- Returns the difference that setting one value makes. This is by far the most frequent patch, and the function avoids
-- planning. `bytes` is the growth of the tree.
CREATE OR REPLACE FUNCTION metadata.difference_of_one(
    conversation uuid, key_path text, new_value text, OUT gone text[], OUT paths text[], OUT vals text[],
    OUT added bigint, OUT bytes bigint)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ancestors text[] := metadata.prefixes(key_path);
    low text := metadata.lower_bound(key_path);
    high text := metadata.upper_bound(key_path);
    old_value text;
    old_bytes bigint;
BEGIN
    SELECT coalesce(array_agg(b.path) FILTER (WHERE b.path <> key_path), '{}'),
        max(b.value) FILTER (WHERE b.path = key_path),
        coalesce(sum(octet_length(b.path) + octet_length(b.value)), 0)
    INTO gone, old_value, old_bytes
    FROM (
        SELECT l.path, l.value FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path = ANY (ancestors)
        UNION ALL
        SELECT l.path, l.value FROM metadata.leaf l
        WHERE l.conversation_id = conversation AND l.path > low AND l.path < high
    ) b;
    IF old_value = new_value THEN
        paths := '{}';
        vals := '{}';
        added := 0;
        bytes := 0;
    ELSE
        paths := ARRAY[key_path];
        vals := ARRAY[new_value];
        added := CASE WHEN old_value IS NULL THEN 1 ELSE 0 END;
        bytes := octet_length(key_path) + octet_length(new_value) - old_bytes;
    END IF;
END
$$;

-- Returns the leaves that remain after the operations: those of `old` and those set by the operations, without those
-- that a later operation removes. An operation removes the leaves at its path, below it and, if it sets something,
-- above it.
CREATE OR REPLACE FUNCTION metadata.survivors(operations jsonb, old_paths text[], old_vals text[], OUT paths text[],
    OUT vals text[])
LANGUAGE sql IMMUTABLE AS $$
    WITH operation AS MATERIALIZED (
        SELECT o.i, o.v ->> 'path' AS path, o.v -> 'set' AS leaves,
            coalesce(jsonb_array_length(o.v -> 'set') > 0, false) AS sets
        FROM jsonb_array_elements(operations) WITH ORDINALITY o(v, i)
    ), last_at AS MATERIALIZED (
        SELECT path, max(i) AS i FROM operation GROUP BY path
    ), last_set_below AS MATERIALIZED (
        SELECT a.path, max(o.i) AS i
        FROM operation o CROSS JOIN LATERAL unnest(metadata.prefixes(o.path)) a(path)
        WHERE o.sets AND a.path <> o.path GROUP BY a.path
    ), candidate AS MATERIALIZED (
        SELECT 0::bigint AS i, b.path, b.value FROM unnest(old_paths, old_vals) b(path, value)
        UNION ALL
        SELECT o.i, s.v ->> 0, s.v ->> 1 FROM operation o CROSS JOIN LATERAL jsonb_array_elements(o.leaves) s(v)
        WHERE o.sets
    ), removed AS MATERIALIZED (
        SELECT DISTINCT c.i, c.path
        FROM candidate c CROSS JOIN LATERAL unnest(''::text || metadata.prefixes(c.path)) a(path)
        JOIN last_at l ON l.path = a.path AND l.i > c.i
        UNION
        SELECT c.i, c.path FROM candidate c JOIN last_set_below s ON s.path = c.path AND s.i > c.i
    )
    SELECT coalesce(array_agg(c.path), '{}'), coalesce(array_agg(c.value), '{}')
    FROM candidate c LEFT JOIN removed r ON r.i = c.i AND r.path = c.path
    WHERE r.path IS NULL
$$;

-- Returns the paths that operations can affect: `exact` ones, and the bounds of ranges.
CREATE OR REPLACE FUNCTION metadata.affected_paths(
    operations jsonb, OUT exact text[], OUT lower_bounds text[], OUT upper_bounds text[])
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    path text;
BEGIN
    -- A set also removes a value above its path. A deletion does not, nor does setting an empty object, which is
    -- equivalent.
    IF jsonb_array_length(operations) = 1 THEN
        path := operations -> 0 ->> 'path';
        exact := CASE WHEN jsonb_array_length(operations -> 0 -> 'set') > 0 THEN metadata.prefixes(path)
            ELSE ARRAY[path] END;
        lower_bounds := ARRAY[metadata.lower_bound(path)];
        upper_bounds := ARRAY[metadata.upper_bound(path)];
    ELSE
        SELECT coalesce(array_agg(DISTINCT e.path), '{}') INTO exact
        FROM jsonb_array_elements(operations) o(v)
        CROSS JOIN LATERAL unnest(
            CASE WHEN jsonb_array_length(o.v -> 'set') > 0 THEN metadata.prefixes(o.v ->> 'path')
                ELSE ARRAY[o.v ->> 'path'] END) e(path);
        SELECT array_agg(metadata.lower_bound(p.path)), array_agg(metadata.upper_bound(p.path))
        INTO lower_bounds, upper_bounds
        FROM (SELECT DISTINCT o.v ->> 'path' AS path FROM jsonb_array_elements(operations) o(v)) p;
    END IF;
END
$$;

-- Returns the difference that `operations` make when executed in order: removed leaves, and leaves that are added or
-- get another value. `bytes` is the growth of the tree. Writes nothing. The caller holds the conversation's lock. It
-- reads only leaves that the operations can affect: the given paths, their ancestors, and everything below them.
CREATE OR REPLACE FUNCTION metadata.difference(
    conversation uuid, operations jsonb, OUT gone text[], OUT paths text[], OUT vals text[], OUT added bigint,
    OUT bytes bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    is_single boolean := jsonb_array_length(operations) = 1;
    exact text[];
    lower_bounds text[];
    upper_bounds text[];
    old_paths text[];
    old_vals text[];
    new_paths text[];
    new_vals text[];
BEGIN
    IF is_single AND operations -> 0 -> 'set' -> 0 ->> 0 = operations -> 0 ->> 'path' THEN
        SELECT d.gone, d.paths, d.vals, d.added, d.bytes INTO gone, paths, vals, added, bytes
        FROM metadata.difference_of_one(
            conversation, operations -> 0 ->> 'path', operations -> 0 -> 'set' -> 0 ->> 1) d;
        RETURN;
    END IF;
    SELECT t.* INTO exact, lower_bounds, upper_bounds FROM metadata.affected_paths(operations) t;
    -- OFFSET 0 makes each range a separate index scan, regardless of the statistics.
    SELECT coalesce(array_agg(b.path), '{}'), coalesce(array_agg(b.value), '{}'),
        coalesce(-sum(octet_length(b.path) + octet_length(b.value)), 0)
    INTO old_paths, old_vals, bytes
    FROM (
        SELECT l.path, l.value FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path = ANY (exact)
        UNION
        SELECT x.path, x.value
        FROM unnest(lower_bounds, upper_bounds) r(low, high)
        CROSS JOIN LATERAL (
            SELECT l.path, l.value FROM metadata.leaf l
            WHERE l.conversation_id = conversation AND l.path > r.low AND l.path < r.high OFFSET 0) x
    ) b;

    IF is_single THEN
        -- A single operation replaces all old leaves by the given ones.
        SELECT coalesce(array_agg(s.v ->> 0), '{}'), coalesce(array_agg(s.v ->> 1), '{}') INTO new_paths, new_vals
        FROM jsonb_array_elements(operations -> 0 -> 'set') s(v);
    ELSE
        SELECT s.paths, s.vals INTO new_paths, new_vals FROM metadata.survivors(operations, old_paths, old_vals) s;
    END IF;
    bytes := bytes + (SELECT coalesce(sum(octet_length(n.path) + octet_length(n.value)), 0)
        FROM unnest(new_paths, new_vals) n(path, value));

    gone := '{}';
    IF old_paths <> '{}' AND old_paths <> new_paths THEN
        SELECT coalesce(array_agg(o.path), '{}') INTO gone
        FROM (SELECT unnest(old_paths) AS path EXCEPT SELECT unnest(new_paths)) o;
    END IF;

    SELECT coalesce(array_agg(n.path ORDER BY n.path COLLATE "C"), '{}'),
        coalesce(array_agg(n.value ORDER BY n.path COLLATE "C"), '{}'),
        count(*) FILTER (WHERE o.path IS NULL)
    INTO paths, vals, added
    FROM unnest(new_paths, new_vals) n(path, value)
    LEFT JOIN unnest(old_paths, old_vals) o(path, value) ON o.path = n.path
    WHERE o.value IS DISTINCT FROM n.value;
END
$$;

-- Updates the stored size of a tree before its leaves are written. Outcomes: 'ok'; 'too_many_keys' or 'too_large' if
-- the tree would exceed a limit (NULL: none), in which case nothing was updated. A tree that exceeds a limit can still
-- change, if it does not grow. The caller holds the conversation's lock.
CREATE OR REPLACE FUNCTION metadata.resize(conversation uuid, by_bytes bigint, by_leaves bigint, max_keys bigint,
    max_bytes bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    size record;
BEGIN
    IF by_bytes = 0 AND by_leaves = 0 THEN RETURN 'ok'; END IF;
    FOR attempt IN 1..2 LOOP
        UPDATE metadata.tree t SET bytes = t.bytes + by_bytes, leaves = t.leaves + by_leaves
        WHERE t.conversation_id = conversation
            AND (by_leaves <= 0 OR t.leaves + by_leaves <= coalesce(max_keys, t.leaves + by_leaves))
            AND (by_bytes <= 0 OR t.bytes + by_bytes <= coalesce(max_bytes, t.bytes + by_bytes))
            AND t.bytes IS NOT NULL;
        IF FOUND THEN RETURN 'ok'; END IF;
        SELECT t.bytes, t.leaves INTO size FROM metadata.tree t WHERE t.conversation_id = conversation;
        EXIT WHEN size.bytes IS NOT NULL;
        INSERT INTO metadata.tree AS t (conversation_id, bytes, leaves)
        SELECT conversation, coalesce(sum(octet_length(l.path) + octet_length(l.value)), 0), count(*)
        FROM metadata.leaf l WHERE l.conversation_id = conversation
        ON CONFLICT (conversation_id) DO UPDATE SET bytes = excluded.bytes, leaves = excluded.leaves;
    END LOOP;
    RETURN CASE WHEN by_leaves > 0 AND size.leaves + by_leaves > max_keys THEN 'too_many_keys' ELSE 'too_large' END;
END
$$;

-- Returns the limit (NULL: none) that the operations would exceed, 'too_many_keys' or 'too_large'; NULL: none. The
-- caller holds the conversation's lock.
CREATE OR REPLACE FUNCTION metadata.outgrown(conversation uuid, operations jsonb, max_keys bigint, max_bytes bigint)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    size record;
    change record;
BEGIN
    IF max_keys IS NULL AND max_bytes IS NULL THEN RETURN NULL; END IF;
    SELECT t.bytes, t.leaves INTO size FROM metadata.tree t WHERE t.conversation_id = conversation;
    IF size.bytes IS NULL THEN
        SELECT coalesce(sum(octet_length(l.path) + octet_length(l.value)), 0) AS bytes, count(*) AS leaves INTO size
        FROM metadata.leaf l WHERE l.conversation_id = conversation;
    END IF;
    -- The operations cannot add more bytes than their own length, so a short patch needs no difference.
    IF max_keys IS NULL AND size.bytes + octet_length(operations::text) <= max_bytes THEN RETURN NULL; END IF;
    SELECT * INTO change FROM metadata.difference(conversation, operations);
    RETURN CASE
        WHEN change.added > cardinality(change.gone)
            AND size.leaves + change.added - cardinality(change.gone) > max_keys THEN 'too_many_keys'
        WHEN change.bytes > 0 AND size.bytes + change.bytes > max_bytes THEN 'too_large'
    END;
END
$$;

-- Writes a difference and returns its effects in the order of clients: deletions first, then sets, each by path. A
-- removed leaf is reported as the deletion of its highest ancestor that is now empty. It is not reported if a value now
-- stands above it, and by its own path if values now stand below it. `is_indexed`: the conversation's flag.
CREATE OR REPLACE FUNCTION metadata.write(
    conversation uuid, gone text[], paths text[], vals text[], at_position bigint, is_indexed boolean DEFAULT false)
        RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    deleted text[] := '{}';
    kept_at bigint;
BEGIN
    SELECT t.kept_position INTO kept_at FROM metadata.tree t WHERE t.conversation_id = conversation;
    IF kept_at IS NOT NULL THEN
        INSERT INTO metadata.kept_leaf (conversation_id, node, position, until_position, path, value)
        SELECT conversation, metadata.fork_node(l.position, at_position - 1), l.position, at_position, l.path, l.value
        FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path = ANY (gone || paths)
            AND l.position <= kept_at;
    END IF;
    IF is_indexed THEN PERFORM metadata.index_leaves(conversation, gone, paths, vals); END IF;
    IF cardinality(gone) > 0 THEN
        DELETE FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path = ANY (gone);
    END IF;
    IF cardinality(gone) = 0 AND cardinality(paths) = 1 THEN
        INSERT INTO metadata.leaf AS l (conversation_id, path, value, position)
        VALUES (conversation, paths[1], vals[1], at_position)
        ON CONFLICT (conversation_id, path) DO UPDATE SET value = excluded.value, position = excluded.position;
        RETURN jsonb_build_array(jsonb_build_array(paths[1], vals[1]));
    END IF;
    INSERT INTO metadata.leaf AS l (conversation_id, path, value, position)
    SELECT conversation, s.path, s.value, at_position FROM unnest(paths, vals) s(path, value)
    ON CONFLICT (conversation_id, path) DO UPDATE SET value = excluded.value, position = excluded.position;

    IF cardinality(gone) > 0 THEN
        -- Check each ancestor once, regardless of the number of its removed leaves, because the deleted rows are still
        -- in the index.
        WITH ancestor AS MATERIALIZED (
            SELECT g.path AS leaf, a.path, a.n
            FROM unnest(gone) g(path) CROSS JOIN LATERAL unnest(metadata.prefixes(g.path)) WITH ORDINALITY a(path, n)
        ), emptied AS MATERIALIZED (
            SELECT d.path FROM (SELECT DISTINCT a.path FROM ancestor a) d
            WHERE (SELECT true FROM metadata.leaf l
                WHERE l.conversation_id = conversation AND l.path > d.path || '.'
                    AND l.path < d.path || '/' LIMIT 1) IS NULL
        ), announced AS (
            SELECT coalesce((array_agg(e.path ORDER BY a.n) FILTER (WHERE e.path IS NOT NULL))[1], a.leaf) AS path
            FROM ancestor a
            LEFT JOIN emptied e ON e.path = a.path
            LEFT JOIN unnest(paths) s(path) ON s.path = a.path
            GROUP BY a.leaf HAVING count(s.path) = 0
        )
        SELECT coalesce(array_agg(DISTINCT n.path), '{}') INTO deleted FROM announced n;
    END IF;

    RETURN (
        SELECT jsonb_agg(jsonb_build_array(e.path, e.value) ORDER BY e.value IS NOT NULL, e.path COLLATE "C")
        FROM (
            SELECT d.path, NULL::text AS value FROM unnest(deleted) d(path)
            UNION ALL
            SELECT s.path, s.value FROM unnest(paths, vals) s(path, value)
        ) e);
END
$$;

-- Executes operations ([{"path":"a.b","set":[["a.b","v"],…]} | {"path":"a.b","delete":true}, …]) in order and
-- atomically. The caller holds the conversation's lock. `effects`: [["path","value"|null],…].
--
-- Outcomes; only 'ok' writes:
-- - 'ok'.
-- - 'none': nothing changed.
-- - 'too_many_keys', 'too_large': the tree would exceed `max_keys` leaves or `max_bytes` bytes of paths and values
--   (NULL: no limit).
-- - 'large': the operations would write too many rows for a shared transaction, counting leaves and index entries.
--   Repeat them in their own transaction.
--
-- `is_shared`: true if the transaction is shared with statements of other callers.
CREATE OR REPLACE FUNCTION metadata.apply(
    conversation uuid, operations jsonb, at_position bigint, is_indexed boolean, max_keys bigint, max_bytes bigint,
    is_shared boolean, OUT outcome text, OUT effects jsonb)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The maximum number of rows written in a shared transaction.
    most_shared CONSTANT bigint := 500;
    change record;
BEGIN
    SELECT * INTO change FROM metadata.difference(conversation, operations);
    IF cardinality(change.gone) = 0 AND cardinality(change.paths) = 0 THEN
        outcome := 'none';
        RETURN;
    END IF;
    IF is_shared AND cardinality(change.gone) + cardinality(change.paths)
        + (CASE WHEN is_indexed THEN metadata.count_index_entries(conversation, change.gone || change.paths)
            ELSE 0 END) > most_shared
    THEN
        outcome := 'large';
        RETURN;
    END IF;
    outcome := metadata.resize(
        conversation, change.bytes, change.added - cardinality(change.gone), max_keys, max_bytes);
    IF outcome = 'ok' THEN
        effects := metadata.write(conversation, change.gone, change.paths, change.vals, at_position, is_indexed);
    END IF;
END
$$;

-- Executes a client's patch in one round trip. Only 'ok' takes a position and writes. Outcomes: those of begin_change
-- and of `apply`.
CREATE OR REPLACE FUNCTION metadata.patch(
    app uuid, conversation uuid, actor text, operations jsonb, origin_connection bigint, origin_request bigint,
    max_keys bigint, max_bytes bigint DEFAULT NULL, is_shared boolean DEFAULT false,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT effects jsonb)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    begun record;
    appended record;
BEGIN
    SELECT * INTO begun FROM conversations.begin_change(app, conversation, actor);
    IF begun.outcome <> 'ok' THEN
        outcome := begun.outcome;
        RETURN;
    END IF;
    -- This and the following statements are separate from the first, so that they see everything that was committed
    -- while it waited for the lock.
    SELECT a.outcome, a.effects INTO patch.outcome, patch.effects
    FROM metadata.apply(
        conversation, operations, begun.position + 1, begun.is_indexed, max_keys, max_bytes, is_shared) a;
    IF outcome <> 'ok' THEN RETURN; END IF;
    SELECT * INTO appended FROM conversations.append_change(
        conversation, conversations.kind_metadata(), actor, origin_connection, origin_request, NULL::uuid, NULL::bigint,
        jsonb_build_object('effects', effects));
    "position" := appended.position;
    created_at := appended.created_at;
    message_count := appended.message_count;
END
$$;

-- Writes a conversation's first tree, whose limits the caller has checked. If one path is a prefix of another, only the
-- longer one is stored. The caller updates the indexes.
CREATE OR REPLACE FUNCTION metadata.create_tree(conversation uuid, paths text[], vals text[], at_position bigint)
RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH written AS (
        INSERT INTO metadata.leaf (conversation_id, path, value, position)
        SELECT create_tree.conversation, s.path, s.value, create_tree.at_position
        FROM unnest(create_tree.paths, create_tree.vals) s(path, value)
        WHERE NOT EXISTS (
            SELECT FROM unnest(create_tree.paths) o(path) CROSS JOIN LATERAL unnest(metadata.prefixes(o.path)) a(path)
            WHERE a.path = s.path AND a.path <> o.path)
        ON CONFLICT DO NOTHING
        RETURNING octet_length(path) + octet_length(value) AS bytes
    )
    INSERT INTO metadata.tree AS t (conversation_id, bytes, leaves)
    SELECT create_tree.conversation, coalesce(sum(w.bytes), 0), count(*) FROM written w
    ON CONFLICT (conversation_id) DO UPDATE SET bytes = t.bytes + excluded.bytes, leaves = t.leaves + excluded.leaves
$$;

-- True if the conversation's tree consists of exactly these leaves.
CREATE OR REPLACE FUNCTION metadata.equals_tree(conversation uuid, paths text[], vals text[]) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT FROM (SELECT l.path, l.value FROM metadata.leaf l
            WHERE l.conversation_id = equals_tree.conversation) stored
        FULL JOIN unnest(equals_tree.paths, equals_tree.vals) given(path, value) ON given.path = stored.path
        WHERE stored.value IS DISTINCT FROM given.value)
$$;

GRANT EXECUTE ON FUNCTION
    metadata.outgrown, metadata.apply, metadata.create_tree, metadata.equals_tree TO strata_conversations;

GRANT EXECUTE ON FUNCTION metadata.apply, metadata.patch TO strata_metadata;
