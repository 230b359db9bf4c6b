-- SPDX-License-Identifier: Apache-2.0
-- Metadata: present trees, and the trees that former participants see.

-- Returns the highest node of a range of positive whole numbers, both ends included: the number that is divisible by
-- the highest power of 2.
CREATE OR REPLACE FUNCTION metadata.fork_node(first bigint, last bigint) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    low bigint := 1;
BEGIN
    -- Continue while the range contains a multiple of the next power of 2.
    WHILE last / (2 * low) > (first - 1) / (2 * low) LOOP
        low := 2 * low;
    END LOOP;
    RETURN last / low * low;
END
$$;

-- Returns the former values that held at a position. `head` is the conversation's position; there are no higher nodes.
CREATE OR REPLACE FUNCTION metadata.kept_leaves(conversation uuid, at_position bigint, head bigint) RETURNS SETOF metadata.kept_leaf
LANGUAGE plpgsql STABLE STRICT ROWS 100 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
    -- Read the position itself and its ancestors, and some lower nodes that contain no matching range. OFFSET 0 makes
    -- each a separate index scan, and the order selects the right index, regardless of the statistics.
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

-- Keeps the tree for a participant who is being removed. Call it after the removal has taken its position.
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

-- Deletes a kept tree when the user is added again.
CREATE OR REPLACE FUNCTION metadata.forget_kept_tree(conversation uuid, user_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stood_at bigint;
BEGIN
    DELETE FROM metadata.kept_tree k WHERE k.conversation_id = conversation AND k.user_id = forget_kept_tree.user_id
    RETURNING k.position INTO stood_at;
    -- Leaves that were kept only for this position are no longer needed, unless another user's tree has the same
    -- position.
    IF NOT FOUND OR EXISTS (SELECT FROM metadata.kept_tree k WHERE k.conversation_id = conversation AND k.position = stood_at) THEN RETURN; END IF;
    UPDATE metadata.tree t
    SET kept_position = (SELECT k.position FROM metadata.kept_tree k WHERE k.conversation_id = conversation ORDER BY k.position DESC LIMIT 1)
    WHERE t.conversation_id = conversation AND t.kept_position = stood_at;
    INSERT INTO metadata.forgotten_tree (conversation_id, position) VALUES (conversation, stood_at) ON CONFLICT DO NOTHING;
END
$$;

CREATE OR REPLACE FUNCTION metadata.drop_tree(conversation uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM metadata.leaf l WHERE l.conversation_id = drop_tree.conversation;
    DELETE FROM metadata.kept_tree k WHERE k.conversation_id = drop_tree.conversation;
    DELETE FROM metadata.tree t WHERE t.conversation_id = drop_tree.conversation;
    DELETE FROM metadata.forgotten_tree f WHERE f.conversation_id = drop_tree.conversation;
    INSERT INTO metadata.forgotten_tree (conversation_id, position) VALUES (drop_tree.conversation, 0)
$$;

-- Returns the trees of many conversations of one app in one snapshot, each with its position. `users[i]` is the reader
-- of `conversations[i]`: a user who has left sees the kept tree, even if the leaving was unknown when they asked. A
-- missing conversation has position 0 and no leaves.
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

-- Returns the same rows as `trees` for the first conversations that fit into `p_bytes`. The sizes of nearly all trees
-- are known before they are read. A tree of more than `p_most` bytes is not read: it ends the answer; if it is the
-- first one, it is the only row, without paths and values.
CREATE OR REPLACE FUNCTION metadata.trees_within(p_app uuid, p_conversations uuid[], p_users text[], p_bytes bigint, p_most bigint)
RETURNS TABLE (n bigint, "position" bigint, paths text[], vals text[])
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off AS $$
DECLARE
    tree record;
    own bigint;
    used bigint := 0;
    done bigint := 0;
    -- The sizes of the next trees. 0: not counted, or kept for a user who left.
    sizes bigint[];
    planned bigint;
    count bigint;
    -- The estimated size of an uncounted tree. A few are read first, and then as many as probably fit.
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

-- Deletes leaves that were kept for removed trees. Returns the number of rows; call again while it is not 0. No lock is
-- needed, because every kept tree has a newer position than those at which such a leaf held.
CREATE OR REPLACE FUNCTION metadata.sweep(p_limit bigint) RETURNS bigint
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

GRANT EXECUTE ON FUNCTION
    metadata.keep_tree, metadata.forget_kept_tree, metadata.drop_tree, metadata.sweep TO strata_conversations;

GRANT EXECUTE ON FUNCTION
    metadata.fork_node, metadata.kept_leaves, metadata.trees, metadata.trees_within TO strata_metadata;
