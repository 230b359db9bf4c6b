-- SPDX-License-Identifier: Apache-2.0
-- The metadata of conversations: one row per leaf, so that setting one of 10,000 keys writes one row.
--
-- A path is the dotted way to a value; keys are letters, digits, - and _. A subtree is the range from 'a.b.' up to 'a.b/', '/' being the
-- character after '.' in the C collation. No stored path is ever a prefix (by keys) of another one of the same conversation.
-- Operations and effects are in the JSON that Contracts describes; callers have validated paths, values and depth.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_conversations') THEN CREATE ROLE strata_conversations LOGIN; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'strata_metadata') THEN CREATE ROLE strata_metadata LOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- roles belong to the cluster: another database's migration made them at this moment
END
$$;

CREATE SCHEMA IF NOT EXISTS metadata;

-- Values change far more often than keys come and go: the free space lets such an update stay on its page, without touching the index.
CREATE TABLE metadata.leaf (
    conversation_id uuid NOT NULL,
    path text COLLATE "C" NOT NULL CHECK (path <> '' AND octet_length(path) <= 1024),
    value text NOT NULL CHECK (octet_length(value) <= 2048),
    position bigint NOT NULL,
    PRIMARY KEY (conversation_id, path)
) WITH (fillfactor = 85);

-- The tree as a former participant last saw it: [["path","value"],…] by path.
CREATE TABLE metadata.kept_tree (
    conversation_id uuid NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    leaves jsonb NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);

-- Where the other schema stands, readable in the same snapshot as the leaves.
CREATE VIEW metadata.conversation_position AS
    SELECT c.id AS conversation_id, c.app_id, c.position FROM conversations.conversation c;

-- 'a.b.c' → {a,a.b,a.b.c}; the root has none.
CREATE FUNCTION metadata.prefixes(path text) RETURNS text[]
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

-- The bounds, both exclusive, of what lies below a path.
CREATE FUNCTION metadata.lower_bound(path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE WHEN path = '' THEN '' ELSE path || '.' END;
CREATE FUNCTION metadata.upper_bound(path text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE WHEN path = '' THEN '~' ELSE path || '/' END;

-- What setting one value would change: the commonest patch by far, kept free of planning.
CREATE FUNCTION metadata.difference_of_one(
    conversation uuid, key_path text, new_value text, OUT gone text[], OUT paths text[], OUT vals text[], OUT added bigint)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ancestors text[] := metadata.prefixes(key_path);
    low text := metadata.lower_bound(key_path);
    high text := metadata.upper_bound(key_path);
    old_value text;
BEGIN
    SELECT coalesce(array_agg(b.path) FILTER (WHERE b.path <> key_path), '{}'), max(b.value) FILTER (WHERE b.path = key_path)
    INTO gone, old_value
    FROM (
        SELECT l.path, l.value FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path = ANY (ancestors)
        UNION ALL
        SELECT l.path, l.value FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path > low AND l.path < high
    ) b;
    IF old_value = new_value THEN
        paths := '{}';
        vals := '{}';
        added := 0;
    ELSE
        paths := ARRAY[key_path];
        vals := ARRAY[new_value];
        added := CASE WHEN old_value IS NULL THEN 1 ELSE 0 END;
    END IF;
END
$$;

-- What `operations`, executed in order, would change: leaves that go, and leaves that come or get another value. Writes nothing. The caller
-- holds the conversation's lock. Only what the operations can reach is read: the paths named, their ancestors, and what lies below them.
CREATE FUNCTION metadata.difference(
    conversation uuid, operations jsonb, OUT gone text[], OUT paths text[], OUT vals text[], OUT added bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    is_single boolean := jsonb_array_length(operations) = 1;
    path text;
    exact text[];
    lower_bounds text[];
    upper_bounds text[];
    old_paths text[];
    old_vals text[];
    new_paths text[];
    new_vals text[];
BEGIN
    IF is_single AND operations -> 0 -> 'set' -> 0 ->> 0 = operations -> 0 ->> 'path' THEN
        SELECT d.gone, d.paths, d.vals, d.added INTO gone, paths, vals, added
        FROM metadata.difference_of_one(conversation, operations -> 0 ->> 'path', operations -> 0 -> 'set' -> 0 ->> 1) d;
        RETURN;
    END IF;

    -- A set also ends a value above it; a deletion, and the setting of an empty object, which is the same, does not.
    IF is_single THEN
        path := operations -> 0 ->> 'path';
        exact := CASE WHEN jsonb_array_length(operations -> 0 -> 'set') > 0 THEN metadata.prefixes(path) ELSE ARRAY[path] END;
        lower_bounds := ARRAY[metadata.lower_bound(path)];
        upper_bounds := ARRAY[metadata.upper_bound(path)];
    ELSE
        SELECT coalesce(array_agg(DISTINCT e.path), '{}') INTO exact
        FROM jsonb_array_elements(operations) o(v)
        CROSS JOIN LATERAL unnest(
            CASE WHEN jsonb_array_length(o.v -> 'set') > 0 THEN metadata.prefixes(o.v ->> 'path') ELSE ARRAY[o.v ->> 'path'] END) e(path);
        SELECT array_agg(metadata.lower_bound(p.path)), array_agg(metadata.upper_bound(p.path)) INTO lower_bounds, upper_bounds
        FROM (SELECT DISTINCT o.v ->> 'path' AS path FROM jsonb_array_elements(operations) o(v)) p;
    END IF;

    -- OFFSET 0 keeps each range an index scan of its own, whatever the statistics say.
    SELECT coalesce(array_agg(b.path), '{}'), coalesce(array_agg(b.value), '{}') INTO old_paths, old_vals
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
        -- All that was read goes, all that is given comes.
        SELECT coalesce(array_agg(s.v ->> 0), '{}'), coalesce(array_agg(s.v ->> 1), '{}') INTO new_paths, new_vals
        FROM jsonb_array_elements(operations -> 0 -> 'set') s(v);
    ELSE
        SELECT s.paths, s.vals INTO new_paths, new_vals FROM metadata.survivors(operations, old_paths, old_vals) s;
    END IF;

    IF old_paths = '{}' OR old_paths = new_paths THEN
        gone := '{}';
    ELSE
        SELECT coalesce(array_agg(o.path), '{}') INTO gone FROM (SELECT unnest(old_paths) AS path EXCEPT SELECT unnest(new_paths)) o;
    END IF;

    SELECT coalesce(array_agg(n.path ORDER BY n.path COLLATE "C"), '{}'), coalesce(array_agg(n.value ORDER BY n.path COLLATE "C"), '{}'),
        count(*) FILTER (WHERE o.path IS NULL)
    INTO paths, vals, added
    FROM unnest(new_paths, new_vals) n(path, value)
    LEFT JOIN unnest(old_paths, old_vals) o(path, value) ON o.path = n.path
    WHERE o.value IS DISTINCT FROM n.value;
END
$$;

-- Of the leaves that were there (`old`) and those that the operations set, the ones that no later operation removes. An operation removes what is
-- at its path, below it and, if it sets something, above it.
CREATE FUNCTION metadata.survivors(operations jsonb, old_paths text[], old_vals text[], OUT paths text[], OUT vals text[])
LANGUAGE sql IMMUTABLE AS $$
    WITH operation AS MATERIALIZED (
        SELECT o.i, o.v ->> 'path' AS path, o.v -> 'set' AS leaves, coalesce(jsonb_array_length(o.v -> 'set') > 0, false) AS sets
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
        SELECT o.i, s.v ->> 0, s.v ->> 1 FROM operation o CROSS JOIN LATERAL jsonb_array_elements(o.leaves) s(v) WHERE o.sets
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

-- Writes a difference and tells it as clients are told: deletions first, then sets, each by path. What is gone is announced as the deletion of the
-- highest ancestor that was emptied, not at all where a value stands above it now, and by its own path where values stand below it now.
CREATE FUNCTION metadata.write(conversation uuid, gone text[], paths text[], vals text[], at_position bigint) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    deleted text[] := '{}';
BEGIN
    IF cardinality(gone) > 0 THEN
        DELETE FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path = ANY (gone);
    END IF;
    IF cardinality(gone) = 0 AND cardinality(paths) = 1 THEN
        INSERT INTO metadata.leaf AS l (conversation_id, path, value, position) VALUES (conversation, paths[1], vals[1], at_position)
        ON CONFLICT (conversation_id, path) DO UPDATE SET value = excluded.value, position = excluded.position;
        RETURN jsonb_build_array(jsonb_build_array(paths[1], vals[1]));
    END IF;
    INSERT INTO metadata.leaf AS l (conversation_id, path, value, position)
    SELECT conversation, s.path, s.value, at_position FROM unnest(paths, vals) s(path, value)
    ON CONFLICT (conversation_id, path) DO UPDATE SET value = excluded.value, position = excluded.position;

    IF cardinality(gone) > 0 THEN
        -- Each ancestor is looked at once, however many leaves it lost: the rows just deleted are still in the index.
        WITH ancestor AS MATERIALIZED (
            SELECT g.path AS leaf, a.path, a.n
            FROM unnest(gone) g(path) CROSS JOIN LATERAL unnest(metadata.prefixes(g.path)) WITH ORDINALITY a(path, n)
        ), emptied AS MATERIALIZED (
            SELECT d.path FROM (SELECT DISTINCT a.path FROM ancestor a) d
            WHERE (SELECT true FROM metadata.leaf l
                WHERE l.conversation_id = conversation AND l.path > d.path || '.' AND l.path < d.path || '/' LIMIT 1) IS NULL
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

-- Executes operations ([{"path":"a.b","set":[["a.b","v"],…]} | {"path":"a.b","delete":true}, …]) in order, all or nothing. Returns the effects,
-- [["path","value"|null],…], or NULL if nothing changed, and then nothing was written. The caller holds the conversation's lock.
CREATE FUNCTION metadata.apply(conversation uuid, operations jsonb, at_position bigint) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    change record;
BEGIN
    SELECT * INTO change FROM metadata.difference(conversation, operations);
    IF cardinality(change.gone) = 0 AND cardinality(change.paths) = 0 THEN RETURN NULL; END IF;
    RETURN metadata.write(conversation, change.gone, change.paths, change.vals, at_position);
END
$$;

-- Whether the operations would let the tree grow, and beyond `max_keys` leaves. Under the conversation's lock.
CREATE FUNCTION metadata.exceeds(conversation uuid, operations jsonb, max_keys bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    change record;
BEGIN
    SELECT * INTO change FROM metadata.difference(conversation, operations);
    RETURN change.added > cardinality(change.gone)
        AND max_keys < change.added - cardinality(change.gone)
            + (SELECT count(*) FROM metadata.leaf l WHERE l.conversation_id = conversation);
END
$$;

-- A client's patch, in one round trip. Outcomes: 'ok'; 'none', nothing changed; 'not_found', 'access_denied' as begin_change says;
-- 'too_many_keys', the tree would grow beyond `max_keys` leaves (NULL: no limit). Only 'ok' takes a position and writes.
CREATE FUNCTION metadata.patch(
    app uuid, conversation uuid, actor text, operations jsonb, origin_connection bigint, origin_request bigint, max_keys bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT effects jsonb)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    begun record;
    change record;
    appended record;
BEGIN
    SELECT * INTO begun FROM conversations.begin_change(app, conversation, actor);
    IF begun.outcome <> 'ok' THEN
        outcome := begun.outcome;
        RETURN;
    END IF;

    -- This and what follows are statements of their own: they see what was committed while the first waited for the lock.
    SELECT * INTO change FROM metadata.difference(conversation, operations);
    IF cardinality(change.gone) = 0 AND cardinality(change.paths) = 0 THEN
        outcome := 'none';
        RETURN;
    END IF;
    IF max_keys IS NOT NULL AND metadata.exceeds(conversation, operations, max_keys) THEN
        outcome := 'too_many_keys';
        RETURN;
    END IF;

    effects := metadata.write(conversation, change.gone, change.paths, change.vals, begun.position + 1);
    SELECT * INTO appended FROM conversations.append_change(
        conversation, 3::smallint, actor, origin_connection, origin_request, NULL::uuid, NULL::bigint, jsonb_build_object('effects', effects));
    outcome := 'ok';
    "position" := appended.position;
    created_at := appended.created_at;
    message_count := appended.message_count;
END
$$;

-- The trees of many conversations of one app, each with the position it belongs to, in one snapshot. `users[i]` is who asks for `conversations[i]`: if he
-- has left it, he sees what was kept for him, even if that was not known when he asked. An item that is not there has position 0 and no leaves.
CREATE FUNCTION metadata.trees(app uuid, conversations uuid[], users text[])
RETURNS TABLE (n bigint, "position" bigint, paths text[], vals text[])
LANGUAGE sql STABLE ROWS 100 AS $$
    SELECT i.n, coalesce(k.position, h.position, 0), coalesce(t.paths, '{}'), coalesce(t.vals, '{}')
    FROM unnest(trees.conversations, trees.users) WITH ORDINALITY i(id, user_id, n)
    LEFT JOIN metadata.conversation_position h ON h.conversation_id = i.id AND h.app_id = trees.app
    LEFT JOIN metadata.kept_tree k ON k.conversation_id = i.id AND k.user_id = i.user_id AND h.conversation_id IS NOT NULL
    LEFT JOIN LATERAL (
        SELECT array_agg(l.path) AS paths, array_agg(l.value) AS vals
        FROM (
            SELECT s.path, s.value FROM metadata.leaf s WHERE s.conversation_id = i.id AND k.conversation_id IS NULL ORDER BY s.path
        ) l
        HAVING k.conversation_id IS NULL
        UNION ALL
        SELECT array_agg(e.v ->> 0 ORDER BY e.o), array_agg(e.v ->> 1 ORDER BY e.o)
        FROM jsonb_array_elements(k.leaves) WITH ORDINALITY e(v, o)
        HAVING k.conversation_id IS NOT NULL
    ) t ON h.conversation_id IS NOT NULL
    ORDER BY i.n
$$;

-- A conversation's first tree. Should one path be a prefix of another, the longer one stays.
CREATE FUNCTION metadata.create_tree(conversation uuid, paths text[], vals text[], at_position bigint) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO metadata.leaf (conversation_id, path, value, position)
    SELECT create_tree.conversation, s.path, s.value, create_tree.at_position
    FROM unnest(create_tree.paths, create_tree.vals) s(path, value)
    WHERE NOT EXISTS (
        SELECT FROM unnest(create_tree.paths) o(path) CROSS JOIN LATERAL unnest(metadata.prefixes(o.path)) a(path)
        WHERE a.path = s.path AND a.path <> o.path)
    ON CONFLICT DO NOTHING
$$;

-- Whether the conversation's tree holds exactly these leaves.
CREATE FUNCTION metadata.equals_tree(conversation uuid, paths text[], vals text[]) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT NOT EXISTS (
        SELECT FROM (SELECT l.path, l.value FROM metadata.leaf l WHERE l.conversation_id = equals_tree.conversation) stored
        FULL JOIN unnest(equals_tree.paths, equals_tree.vals) given(path, value) ON given.path = stored.path
        WHERE stored.value IS DISTINCT FROM given.value)
$$;

-- Keeps the tree for a participant who is being removed. To be called after the removal has taken its position.
CREATE FUNCTION metadata.keep_tree(conversation uuid, user_id text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO metadata.kept_tree AS k (conversation_id, user_id, position, leaves)
    SELECT c.conversation_id, keep_tree.user_id, c.position, coalesce(
        (SELECT jsonb_agg(jsonb_build_array(l.path, l.value) ORDER BY l.path)
        FROM metadata.leaf l WHERE l.conversation_id = keep_tree.conversation), '[]')
    FROM metadata.conversation_position c WHERE c.conversation_id = keep_tree.conversation
    ON CONFLICT (conversation_id, user_id) DO UPDATE SET position = excluded.position, leaves = excluded.leaves
$$;

-- Forgets it when he is added again.
CREATE FUNCTION metadata.forget_kept_tree(conversation uuid, user_id text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM metadata.kept_tree k WHERE k.conversation_id = forget_kept_tree.conversation AND k.user_id = forget_kept_tree.user_id
$$;

-- Everything about a conversation that is deleted for all.
CREATE FUNCTION metadata.drop_tree(conversation uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM metadata.leaf l WHERE l.conversation_id = drop_tree.conversation;
    DELETE FROM metadata.kept_tree k WHERE k.conversation_id = drop_tree.conversation
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA metadata FROM PUBLIC;
GRANT USAGE ON SCHEMA metadata TO strata_metadata, strata_conversations;
GRANT SELECT, INSERT, UPDATE, DELETE ON metadata.leaf, metadata.kept_tree TO strata_metadata;
GRANT SELECT ON metadata.conversation_position TO strata_metadata;
GRANT EXECUTE ON FUNCTION
    metadata.patch, metadata.trees, metadata.difference, metadata.difference_of_one, metadata.survivors, metadata.write, metadata.prefixes,
    metadata.lower_bound, metadata.upper_bound, metadata.exceeds
TO strata_metadata;
GRANT EXECUTE ON FUNCTION
    metadata.apply, metadata.create_tree, metadata.equals_tree, metadata.keep_tree, metadata.forget_kept_tree, metadata.drop_tree,
    metadata.exceeds
TO strata_conversations;
