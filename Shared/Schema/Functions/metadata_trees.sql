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
CREATE OR REPLACE FUNCTION metadata.kept_leaves(
    conversation uuid, at_position bigint, head bigint) RETURNS SETOF metadata.kept_leaf
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
        WHERE a.node >= at_position AND k.conversation_id = conversation AND k.node = a.node
            AND k.position <= at_position
        ORDER BY k.position OFFSET 0)
        UNION ALL
        (SELECT k.* FROM metadata.kept_leaf k
        WHERE a.node < at_position AND k.conversation_id = conversation AND k.node = a.node
            AND k.until_position > at_position
        ORDER BY k.until_position OFFSET 0)
    ) l
    WHERE 1::bigint << b.bit <= head;
END
$$;

-- Keeps the tree for a participant who is being removed. Call it after the removal has taken its position.
CREATE OR REPLACE FUNCTION metadata.keep_tree(conversation uuid, user_id text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head bigint := (SELECT c.position FROM conversations.conversation c WHERE c.id = keep_tree.conversation);
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
    IF NOT FOUND OR EXISTS (
        SELECT FROM metadata.kept_tree k WHERE k.conversation_id = conversation AND k.position = stood_at)
    THEN
        RETURN;
    END IF;
    UPDATE metadata.tree t
    SET kept_position = (
        SELECT k.position FROM metadata.kept_tree k WHERE k.conversation_id = conversation
        ORDER BY k.position DESC LIMIT 1)
    WHERE t.conversation_id = conversation AND t.kept_position = stood_at;
    INSERT INTO metadata.forgotten_tree (conversation_id, position) VALUES (conversation, stood_at)
    ON CONFLICT DO NOTHING;
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

-- Returns the leaves of a tree as a former participant last saw it, ordered by path.
CREATE OR REPLACE FUNCTION metadata.kept_tree_of(
    conversation uuid, former_user text, head bigint, OUT paths text[], OUT vals text[])
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    kept_at bigint := (
        SELECT k.position FROM metadata.kept_tree k WHERE k.conversation_id = conversation AND k.user_id = former_user);
BEGIN
    SELECT array_agg(l.path ORDER BY l.path), array_agg(l.value ORDER BY l.path) INTO paths, vals
    FROM (
        SELECT s.path, s.value FROM metadata.leaf s WHERE s.conversation_id = conversation AND s.position <= kept_at
        UNION ALL
        SELECT f.path, f.value FROM metadata.kept_leaves(conversation, kept_at, head) f) l;
END
$$;

-- Returns the leaves of a conversation's present tree, ordered by path.
CREATE OR REPLACE FUNCTION metadata.present_tree(conversation uuid, OUT paths text[], OUT vals text[])
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
    SELECT array_agg(l.path), array_agg(l.value) INTO paths, vals
    FROM (SELECT s.path, s.value FROM metadata.leaf s WHERE s.conversation_id = conversation ORDER BY s.path) l;
END
$$;

-- Returns a conversation's tree. NULL: it has more than `room` bytes. The sizes of nearly all trees are known before
-- they are read.
--
-- `former_user`: a user who has left, and sees the tree at the time of the removal; NULL returns the present tree.
-- `head`: the conversation's position.
CREATE OR REPLACE FUNCTION metadata.tree_within(
    room bigint, conversation uuid, former_user text, head bigint, OUT paths text[], OUT vals text[])
LANGUAGE plpgsql STABLE AS $$
DECLARE
    present_bytes bigint;
    tree record;
BEGIN
    IF room <= 0 THEN RETURN; END IF;
    SELECT t.bytes INTO present_bytes FROM metadata.tree t WHERE t.conversation_id = conversation;
    IF NOT FOUND OR former_user IS NULL AND present_bytes = 0 THEN
        paths := '{}';
        vals := '{}';
        RETURN;
    END IF;
    IF former_user IS NOT NULL THEN
        tree := metadata.kept_tree_of(conversation, former_user, head);
    ELSIF coalesce(present_bytes, 0) <= room THEN
        tree := metadata.present_tree(conversation);
    ELSE
        RETURN;
    END IF;
    paths := coalesce(tree.paths, '{}');
    vals := coalesce(tree.vals, '{}');
    IF pg_column_size(paths) + pg_column_size(vals) > room THEN
        paths := NULL;
        vals := NULL;
    END IF;
END
$$;

-- Deletes leaves that were kept for removed trees. Returns the number of rows; call again while it is not 0. No lock is
-- needed, because every kept tree has a newer position than those at which such a leaf held.
CREATE OR REPLACE FUNCTION metadata.sweep(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET strata.sweeping = 'on' SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgotten metadata.forgotten_tree;
    removed bigint;
BEGIN
    SELECT * INTO forgotten FROM metadata.forgotten_tree LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 0; END IF;
    IF forgotten.position = 0 THEN
        DELETE FROM metadata.kept_leaf d USING (
            SELECT k.node, k.position, k.path FROM metadata.kept_leaf k
            WHERE k.conversation_id = forgotten.conversation_id LIMIT p_limit) s
        WHERE d.conversation_id = forgotten.conversation_id
            AND (d.node, d.position, d.path) = (s.node, s.position, s.path);
    ELSE
        DELETE FROM metadata.kept_leaf d USING (
            SELECT k.node, k.position, k.path
            FROM conversations.conversation c
            CROSS JOIN LATERAL metadata.kept_leaves(c.id, forgotten.position, c.position) k
            WHERE c.id = forgotten.conversation_id AND NOT EXISTS (
                SELECT FROM metadata.kept_tree t
                WHERE t.conversation_id = k.conversation_id AND t.position >= k.position
                    AND t.position < k.until_position)
            LIMIT p_limit) s
        WHERE d.conversation_id = forgotten.conversation_id
            AND (d.node, d.position, d.path) = (s.node, s.position, s.path);
    END IF;
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed < p_limit THEN
        DELETE FROM metadata.forgotten_tree f
        WHERE (f.conversation_id, f.position) = (forgotten.conversation_id, forgotten.position);
        removed := removed + 1;
    END IF;
    RETURN removed;
END
$$;

GRANT EXECUTE ON FUNCTION
    metadata.keep_tree, metadata.forget_kept_tree, metadata.drop_tree, metadata.sweep, metadata.kept_leaves,
    metadata.kept_tree_of, metadata.present_tree, metadata.tree_within TO strata_conversations;
