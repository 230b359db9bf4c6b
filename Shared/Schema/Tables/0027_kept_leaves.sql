-- SPDX-License-Identifier: Apache-2.0
-- The tree as a former participant last saw it, without a copy: a removal notes its position, and a leaf that is changed or deleted later is kept if
-- a user who was removed had seen it. So a removal costs the same whatever the tree's size, and no more is ever kept than patches have written.

-- The newest position at which a kept tree stands; NULL: there is none.
ALTER TABLE metadata.tree ADD COLUMN kept_position bigint;

-- Former values, each with the positions at which it was there: from `position` up to, not including, `until_position`.
--
-- What was there at one position is to be found without reading the rest, however much was kept before and after it. So each row stands at a node of
-- the binary tree that all whole numbers form (the odd ones are its leaves, 2 is the parent of 1 and 3, 4 of 2 and 6): at the node of its range that is
-- highest. A range that contains a position then stands at this position or at one of its ancestors, which are as many as the number has digits.
CREATE TABLE metadata.kept_leaf (
    conversation_id uuid NOT NULL,
    node            bigint NOT NULL,
    position        bigint NOT NULL,
    until_position  bigint NOT NULL,
    path            text COLLATE "C" NOT NULL,
    value           text NOT NULL,
    PRIMARY KEY (conversation_id, node, position, path)
);
CREATE INDEX kept_leaf_until ON metadata.kept_leaf (conversation_id, node, until_position);

-- Positions at which no kept tree stands any more, so that leaves may have been kept for nothing: there can be many, and metadata.sweep removes them.
-- Position 0 stands for all of a conversation that was deleted.
CREATE TABLE metadata.forgotten_tree (
    conversation_id uuid NOT NULL,
    position        bigint NOT NULL,
    PRIMARY KEY (conversation_id, position)
);

-- The highest node of a range of whole numbers above 0, both ends included: the one that the highest power of 2 divides.
CREATE FUNCTION metadata.fork_node(first bigint, last bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    low bigint := 1;
BEGIN
    -- As long as there is a multiple of the next power of 2 in the range.
    WHILE last / (2 * low) > (first - 1) / (2 * low) LOOP
        low := 2 * low;
    END LOOP;
    RETURN last / low * low;
END
$$;

-- The former values that were there at a position. `head` is the conversation's position, beyond which there are no nodes.
CREATE FUNCTION metadata.kept_leaves(conversation uuid, at_position bigint, head bigint) RETURNS SETOF metadata.kept_leaf
LANGUAGE plpgsql STABLE STRICT ROWS 100 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    -- The position itself and its ancestors, and below it some nodes at which no range that contains it stands. OFFSET 0 keeps each an index scan
    -- of its own, and the order makes it that of the right index, whatever the statistics say.
    RETURN QUERY
    SELECT l.*
    FROM generate_series(0, 62) b(bit)
    CROSS JOIN LATERAL (SELECT ((at_position >> b.bit) | 1) << b.bit) a(node)
    CROSS JOIN LATERAL (
        (SELECT k.* FROM metadata.kept_leaf k
        WHERE a.node >= at_position AND k.conversation_id = conversation AND k.node = a.node AND k.position <= at_position
        ORDER BY k.position OFFSET 0)
        UNION ALL
        (SELECT k.* FROM metadata.kept_leaf k
        WHERE a.node < at_position AND k.conversation_id = conversation AND k.node = a.node AND k.until_position > at_position
        ORDER BY k.until_position OFFSET 0)
    ) l
    WHERE 1::bigint << b.bit <= head;
END
$$;

-- Trees that were kept as copies: what is still there unchanged needs no row, all else was there at that position, if not longer.
INSERT INTO metadata.kept_leaf (conversation_id, node, position, until_position, path, value)
SELECT DISTINCT k.conversation_id, k.position, k.position, k.position + 1, e.v ->> 0, e.v ->> 1
FROM metadata.kept_tree k CROSS JOIN LATERAL jsonb_array_elements(k.leaves) e(v)
WHERE NOT EXISTS (
    SELECT FROM metadata.leaf l WHERE l.conversation_id = k.conversation_id AND l.path = e.v ->> 0 AND l.position <= k.position);
INSERT INTO metadata.tree AS t (conversation_id, kept_position)
SELECT k.conversation_id, max(k.position) FROM metadata.kept_tree k GROUP BY k.conversation_id
ON CONFLICT (conversation_id) DO UPDATE SET kept_position = excluded.kept_position;
ALTER TABLE metadata.kept_tree DROP COLUMN leaves;
CREATE INDEX kept_tree_position ON metadata.kept_tree (conversation_id, position);

-- Writes a difference and tells it as clients are told: deletions first, then sets, each by path. What is gone is announced as the deletion of the
-- highest ancestor that was emptied, not at all where a value stands above it now, and by its own path where values stand below it now.
CREATE OR REPLACE FUNCTION metadata.write(conversation uuid, gone text[], paths text[], vals text[], at_position bigint) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    deleted text[] := '{}';
    kept_at bigint;
BEGIN
    SELECT t.kept_position INTO kept_at FROM metadata.tree t WHERE t.conversation_id = conversation;
    IF kept_at IS NOT NULL THEN
        INSERT INTO metadata.kept_leaf (conversation_id, node, position, until_position, path, value)
        SELECT conversation, metadata.fork_node(l.position, at_position - 1), l.position, at_position, l.path, l.value
        FROM metadata.leaf l WHERE l.conversation_id = conversation AND l.path = ANY (gone || paths) AND l.position <= kept_at;
    END IF;
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

-- The trees of many conversations of one app, each with the position it belongs to, in one snapshot. `users[i]` is who asks for `conversations[i]`: a
-- user who has left it sees what was kept for them, even if that was not known when they asked. An item that is not there has position 0 and no leaves.
CREATE OR REPLACE FUNCTION metadata.trees(app uuid, conversations uuid[], users text[])
RETURNS TABLE (n bigint, "position" bigint, paths text[], vals text[])
LANGUAGE sql STABLE ROWS 100 AS $$
    SELECT i.n, coalesce(k.position, h.position, 0), coalesce(t.paths, '{}'), coalesce(t.vals, '{}')
    FROM unnest(trees.conversations, trees.users) WITH ORDINALITY i(id, user_id, n)
    LEFT JOIN metadata.conversation_position h ON h.conversation_id = i.id AND h.app_id = trees.app
    LEFT JOIN LATERAL (
        SELECT x.conversation_id, x.position FROM metadata.kept_tree x WHERE x.conversation_id = i.id AND x.user_id = i.user_id OFFSET 0
    ) k ON h.conversation_id IS NOT NULL
    LEFT JOIN LATERAL (
        SELECT array_agg(l.path) AS paths, array_agg(l.value) AS vals
        FROM (
            SELECT s.path, s.value FROM metadata.leaf s WHERE s.conversation_id = i.id AND k.conversation_id IS NULL ORDER BY s.path
        ) l
        HAVING k.conversation_id IS NULL
        UNION ALL
        SELECT array_agg(l.path ORDER BY l.path), array_agg(l.value ORDER BY l.path)
        FROM (
            SELECT s.path, s.value FROM metadata.leaf s WHERE s.conversation_id = i.id AND s.position <= k.position AND k.conversation_id IS NOT NULL
            UNION ALL
            SELECT f.path, f.value FROM metadata.kept_leaves(i.id, k.position, h.position) f
            WHERE k.conversation_id IS NOT NULL
        ) l
        HAVING k.conversation_id IS NOT NULL
    ) t ON h.conversation_id IS NOT NULL
    ORDER BY i.n
$$;

-- Keeps the tree for a participant who is being removed. To be called after the removal has taken its position.
CREATE OR REPLACE FUNCTION metadata.keep_tree(conversation uuid, user_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head bigint := (SELECT c.position FROM metadata.conversation_position c WHERE c.conversation_id = keep_tree.conversation);
BEGIN
    PERFORM metadata.forget_kept_tree(conversation, user_id);
    INSERT INTO metadata.kept_tree (conversation_id, user_id, position) VALUES (conversation, user_id, head);
    INSERT INTO metadata.tree AS t (conversation_id, kept_position) VALUES (conversation, head)
    ON CONFLICT (conversation_id) DO UPDATE SET kept_position = excluded.kept_position;
END
$$;

-- Forgets it when the user is added again.
CREATE OR REPLACE FUNCTION metadata.forget_kept_tree(conversation uuid, user_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stood_at bigint;
BEGIN
    DELETE FROM metadata.kept_tree k WHERE k.conversation_id = conversation AND k.user_id = forget_kept_tree.user_id
    RETURNING k.position INTO stood_at;
    -- What was kept only for this position is of no use any more, unless another user's tree stands at it, too.
    IF NOT FOUND OR EXISTS (SELECT FROM metadata.kept_tree k WHERE k.conversation_id = conversation AND k.position = stood_at) THEN RETURN; END IF;
    UPDATE metadata.tree t
    SET kept_position = (SELECT k.position FROM metadata.kept_tree k WHERE k.conversation_id = conversation ORDER BY k.position DESC LIMIT 1)
    WHERE t.conversation_id = conversation AND t.kept_position = stood_at;
    INSERT INTO metadata.forgotten_tree (conversation_id, position) VALUES (conversation, stood_at) ON CONFLICT DO NOTHING;
END
$$;

-- Everything about a conversation that is deleted for all.
CREATE OR REPLACE FUNCTION metadata.drop_tree(conversation uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM metadata.leaf l WHERE l.conversation_id = drop_tree.conversation;
    DELETE FROM metadata.kept_tree k WHERE k.conversation_id = drop_tree.conversation;
    DELETE FROM metadata.tree t WHERE t.conversation_id = drop_tree.conversation;
    DELETE FROM metadata.forgotten_tree f WHERE f.conversation_id = drop_tree.conversation;
    INSERT INTO metadata.forgotten_tree (conversation_id, position) VALUES (drop_tree.conversation, 0)
$$;

-- Removes some leaves that were kept for trees that are forgotten, returns how many rows, to be called again while that is not 0. It needs no lock: a
-- kept tree always stands at a newer position than those at which such a leaf was there.
CREATE FUNCTION metadata.sweep(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgotten metadata.forgotten_tree;
    removed bigint;
BEGIN
    SELECT * INTO forgotten FROM metadata.forgotten_tree LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 0; END IF;
    IF forgotten.position = 0 THEN
        DELETE FROM metadata.kept_leaf d USING (
            SELECT k.node, k.position, k.path FROM metadata.kept_leaf k WHERE k.conversation_id = forgotten.conversation_id LIMIT p_limit) s
        WHERE d.conversation_id = forgotten.conversation_id AND (d.node, d.position, d.path) = (s.node, s.position, s.path);
    ELSE
        DELETE FROM metadata.kept_leaf d USING (
            SELECT k.node, k.position, k.path
            FROM metadata.conversation_position c
            CROSS JOIN LATERAL metadata.kept_leaves(c.conversation_id, forgotten.position, c.position) k
            WHERE c.conversation_id = forgotten.conversation_id AND NOT EXISTS (
                SELECT FROM metadata.kept_tree t
                WHERE t.conversation_id = k.conversation_id AND t.position >= k.position AND t.position < k.until_position)
            LIMIT p_limit) s
        WHERE d.conversation_id = forgotten.conversation_id AND (d.node, d.position, d.path) = (s.node, s.position, s.path);
    END IF;
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed < p_limit THEN
        DELETE FROM metadata.forgotten_tree f WHERE (f.conversation_id, f.position) = (forgotten.conversation_id, forgotten.position);
        removed := removed + 1;
    END IF;
    RETURN removed;
END
$$;

REVOKE ALL ON FUNCTION metadata.fork_node, metadata.kept_leaves, metadata.sweep FROM PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON metadata.kept_leaf TO strata_metadata;
GRANT EXECUTE ON FUNCTION metadata.fork_node, metadata.kept_leaves TO strata_metadata;
GRANT EXECUTE ON FUNCTION metadata.sweep TO strata_conversations;
