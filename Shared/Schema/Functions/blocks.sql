-- SPDX-License-Identifier: Apache-2.0
-- Blocks between users. A block acts in both directions, and only on events during its lifetime. Below, "blocked" means
-- that one of the two users has blocked the other.
--
-- A block is applied when data is written. A message that is hidden from a participant is in that participant's
-- `hidden` set from its creation. So lists, counts, replays and receipts need no rule for blocks.

-- Returns the members of `p_users` with whom a user has a block. Each is found by an index lookup.
CREATE OR REPLACE FUNCTION conversations.blocked_among(p_app uuid, p_user text, p_users text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    -- Nearly all users have no blocks.
    IF NOT EXISTS (SELECT FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT u.id FROM unnest(p_users) u(id)
        CROSS JOIN LATERAL (
            SELECT FROM conversations.block x WHERE x.app_id = p_app AND x.user_id = p_user
                AND x.other_id = u.id OFFSET 0) b
        ORDER BY u.id COLLATE "C");
END
$$;

-- Hides a message that is about to be written from participants who have a block with its sender. Returns them with
-- their new counts; NULL: none. The caller holds the conversation's lock and writes the conversation's row afterwards,
-- so that the triggers of that write see the new rows.
CREATE OR REPLACE FUNCTION conversations.hide_new_message(
    p_app uuid, p_conversation uuid, p_sender text, p_roster text[], p_ordinal bigint, p_position bigint,
    OUT users text[], OUT uncounted bigint[], OUT hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    kept_from text[] := conversations.blocked_among(p_app, p_sender, p_roster);
    reader text;
    p conversations.participant;
BEGIN
    FOREACH reader IN ARRAY kept_from LOOP
        SELECT * INTO p FROM conversations.participant x
        WHERE x.conversation_id = p_conversation AND x.user_id = reader;
        p.hidden := p.hidden + int8multirange(int8range(p_ordinal, p_ordinal, '[]'));
        p := conversations.packed(p, p_position);
        UPDATE conversations.participant x
        SET hidden = p.hidden, packed_up_to = p.packed_up_to, hidden_count = x.hidden_count + 1,
            uncounted = x.uncounted + 1,
            first_kept = CASE WHEN x.first_kept > x.joined THEN x.first_kept ELSE p_position END
        WHERE x.conversation_id = p_conversation AND x.user_id = reader
        RETURNING x.* INTO p;
        hide_new_message.users := hide_new_message.users || reader;
        hide_new_message.uncounted := hide_new_message.uncounted || p.uncounted;
        hide_new_message.hidden := hide_new_message.hidden || p.hidden_count;
    END LOOP;
END
$$;

-- Filters the users whom `p_actor` is about to add to a conversation. Returns those from whom a block hides the
-- addition, because the conversation is new to them. Former participants who still have it on their lists are not among
-- them.
CREATE OR REPLACE FUNCTION conversations.kept_from(c conversations.conversation, p_users text[], p_actor text)
RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT u.id FROM unnest(conversations.blocked_among(c.app_id, p_actor, p_users)) u(id)
        WHERE NOT EXISTS (
            SELECT FROM conversations.participant x
            WHERE x.conversation_id = c.id AND x.user_id = u.id AND conversations.is_visible(c, x)));
END
$$;

-- Removes a conversation from the lists of users who have just been added to it, as if they had deleted it from their
-- devices. The next message that they may see restores it. `p_position` is the position of the addition.
CREATE OR REPLACE FUNCTION conversations.keep_from(c conversations.conversation, p_users text[], p_position bigint)
RETURNS void
LANGUAGE sql VOLATILE AS $$
    UPDATE conversations.participant x
    SET hidden_up_to = p_position, hidden_ordinal = c.message_count, is_hidden = true, hidden = '{}',
        uncounted = c.message_count,
        hidden_count = c.message_count
    WHERE x.conversation_id = c.id AND x.user_id = ANY (p_users)
$$;

-- Applies [{"kind":"add"|"remove"|"set","users":["a",…]},…] in order to a user's block list, without writing. Returns
-- the users for whom the list would change.
CREATE OR REPLACE FUNCTION conversations.block_changes(
    p_app uuid, p_user text, p_operations jsonb, OUT blocked text[], OUT unblocked text[])
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    operation jsonb;
    named text[];
    wanted text[] := '{}';
    unwanted text[] := '{}';
    is_set boolean := false;
BEGIN
    FOR operation IN SELECT o.v FROM jsonb_array_elements(p_operations) o(v) LOOP
        named := ARRAY(SELECT jsonb_array_elements_text(operation -> 'users'));
        CASE operation ->> 'kind'
            WHEN 'add' THEN
                wanted := wanted || named;
                unwanted := ARRAY(SELECT unnest(unwanted) EXCEPT SELECT unnest(named));
            WHEN 'remove' THEN
                unwanted := unwanted || named;
                wanted := ARRAY(SELECT unnest(wanted) EXCEPT SELECT unnest(named));
            WHEN 'set' THEN
                is_set := true;
                wanted := named;
                unwanted := '{}';
        END CASE;
    END LOOP;
    IF is_set THEN
        unwanted := ARRAY(
            SELECT b.other_id FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user AND b.is_own
            EXCEPT SELECT unnest(wanted));
    END IF;
    blocked := ARRAY(
        SELECT u.id COLLATE "C" FROM unnest(conversations.sorted_users(wanted)) u(id)
        WHERE u.id <> p_user AND (
            SELECT b.is_own FROM conversations.block b
            WHERE b.app_id = p_app AND b.user_id = p_user AND b.other_id = u.id) IS NOT TRUE
        ORDER BY 1);
    unblocked := ARRAY(
        SELECT u.id COLLATE "C" FROM unnest(conversations.sorted_users(unwanted)) u(id)
        WHERE (SELECT b.is_own FROM conversations.block b
            WHERE b.app_id = p_app AND b.user_id = p_user AND b.other_id = u.id)
        ORDER BY 1);
END
$$;

-- Writes the rows of a user's changed block list. It locks all rows in the order of their keys, as all other writers of
-- pairs do. Both rows of a pair are locked before either is read.
CREATE OR REPLACE FUNCTION conversations.write_blocks(p_app uuid, p_user text, p_blocked text[], p_unblocked text[])
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    other text;
BEGIN
    INSERT INTO conversations.block AS b (app_id, user_id, other_id, is_own)
    SELECT p_app, k.user_id, k.other_id, false
    FROM (
        SELECT p_user AS user_id, u.id AS other_id FROM unnest(p_blocked || p_unblocked) u(id)
        UNION ALL SELECT u.id, p_user FROM unnest(p_blocked || p_unblocked) u(id)) k
    ORDER BY k.user_id COLLATE "C", k.other_id COLLATE "C"
    ON CONFLICT (app_id, user_id, other_id) DO UPDATE SET is_own = b.is_own;
    UPDATE conversations.block b SET is_own = b.other_id = ANY (p_blocked), changed_at = clock_timestamp()
    WHERE b.app_id = p_app AND b.user_id = p_user AND b.other_id = ANY (p_blocked || p_unblocked);
    FOREACH other IN ARRAY p_unblocked LOOP
        CONTINUE WHEN (
            SELECT b.is_own FROM conversations.block b
            WHERE b.app_id = p_app AND b.user_id = other AND b.other_id = p_user);
        DELETE FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user AND b.other_id = other;
        DELETE FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = other AND b.other_id = p_user;
    END LOOP;
END
$$;

-- Changes a user's block list by [{"kind":"add"|"remove"|"set","users":["a",…]},…], in order. Creates minimal
-- identities for the blocked users.
--
-- | Outcome    | Meaning                                                                                       |
-- |------------|-----------------------------------------------------------------------------------------------|
-- | 'ok'       | `blocked` and `unblocked` are the users for whom the block list changed. `told_…` are the     |
-- |            | users whose logs have a new entry, including the caller's own, in microseconds since 1970.    |
-- | 'none'     | Nothing changed.                                                                              |
-- | 'too_many' | Nothing was done: the user would have blocked more than `p_quota` users (NULL: no limit).     |
CREATE OR REPLACE FUNCTION conversations.change_blocks(
    p_app uuid, p_user text, p_operations jsonb, p_quota bigint,
    OUT outcome text, OUT "position" bigint, OUT blocked text[], OUT unblocked text[], OUT told_users text[],
    OUT told_positions bigint[], OUT told_at bigint[])
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
    used bigint;
BEGIN
    PERFORM conversations.lock_quota(p_app, p_user, 'block');
    SELECT b.* INTO blocked, unblocked FROM conversations.block_changes(p_app, p_user, p_operations) b;
    used := (SELECT count(*) FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user AND b.is_own);
    IF cardinality(blocked) > 0 AND used + cardinality(blocked) - cardinality(unblocked) > p_quota THEN
        outcome := 'too_many';
        RETURN;
    END IF;
    outcome := 'none';
    IF cardinality(blocked) + cardinality(unblocked) = 0 THEN RETURN; END IF;
    outcome := 'ok';
    PERFORM conversations.ensure_identities(p_app, blocked);
    PERFORM conversations.write_blocks(p_app, p_user, blocked, unblocked);

    -- Lock the users' logs last, in the order of the users. The entries of the other users are for their gateways;
    -- their clients do not receive them.
    WITH entry AS (
        SELECT p_user AS user_id, conversations.user_kind_blocks() AS kind,
            jsonb_build_object('blocked', change_blocks.blocked, 'unblocked', change_blocks.unblocked) AS operations
        UNION ALL
        SELECT u.id, conversations.user_kind_blocked_by(),
            jsonb_build_object('user', p_user, 'is_blocked', u.id = ANY (change_blocks.blocked))
        FROM unnest(change_blocks.blocked || change_blocks.unblocked) u(id)
    ), moved AS (
        INSERT INTO conversations.user_log AS l (app_id, user_id, position, last_change_at)
        SELECT p_app, e.user_id, 1, clock_timestamp() FROM entry e ORDER BY e.user_id COLLATE "C"
        ON CONFLICT (app_id, user_id) DO UPDATE
        SET position = l.position + 1, last_change_at = greatest(clock_timestamp(), l.last_change_at)
        RETURNING l.user_id, l.position, l.last_change_at
    ), logged AS (
        INSERT INTO conversations.user_change (app_id, user_id, position, kind, operations, created_at)
        SELECT p_app, m.user_id, m.position, e.kind, e.operations, m.last_change_at FROM moved m
        JOIN entry e ON e.user_id = m.user_id
    )
    SELECT array_agg(m.user_id::text), array_agg(m.position),
        array_agg((extract(epoch FROM m.last_change_at) * 1000000)::bigint),
        max(m.position) FILTER (WHERE m.user_id = p_user)
    INTO told_users, told_positions, told_at, change_blocks.position
    FROM moved m;
END
$$;

-- Lists one page of the users that a user has blocked, by id. The first row has the total, and the users follow.
CREATE OR REPLACE FUNCTION conversations.list_blocks(p_app uuid, p_user text, p_page_size bigint, p_from text)
RETURNS TABLE (total bigint, user_id text)
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN QUERY
    SELECT (SELECT count(*) FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user AND b.is_own),
        NULL::text;
    RETURN QUERY
    SELECT NULL::bigint, b.other_id::text FROM conversations.block b
    WHERE b.app_id = p_app AND b.user_id = p_user AND b.is_own AND b.other_id > coalesce(p_from, '')
    ORDER BY b.app_id, b.user_id, b.other_id LIMIT p_page_size;
END
$$;

-- Lists one page of the users with whom a user has a block, by id, for gateways. `p_from`: the last user of the
-- previous page, or the empty text. `is_own`: the caller has blocked this user. `is_of_other`: this user has blocked
-- the caller.
CREATE OR REPLACE FUNCTION conversations.block_pairs(p_app uuid, p_user text, p_from text, p_page_size bigint)
RETURNS TABLE (user_id text, is_own boolean, is_of_other boolean)
LANGUAGE plpgsql STABLE ROWS 10 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN QUERY
    SELECT s.other_id::text, s.is_own, coalesce(o.is_own, false)
    FROM (
        SELECT b.other_id, b.is_own FROM conversations.block b
        WHERE b.app_id = p_app AND b.user_id = p_user AND b.other_id > p_from
        ORDER BY b.app_id, b.user_id, b.other_id LIMIT p_page_size) s
    LEFT JOIN LATERAL (
        SELECT b.is_own FROM conversations.block b
        WHERE b.app_id = p_app AND b.user_id = s.other_id AND b.other_id = p_user OFFSET 0) o ON true;
END
$$;

-- Removes the blocks that an erased user made until `p_until`. Blocks against the user stay, because the id can be used
-- again. Returns the number of removed blocks; call again while it equals the limit. Devices are not notified: the user
-- has none, and other users see no difference to an absent user.
CREATE OR REPLACE FUNCTION conversations.forget_blocks(
    p_app uuid, p_user text, p_limit bigint, p_until timestamptz DEFAULT 'infinity') RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    others text[] := ARRAY(
        SELECT b.other_id FROM conversations.block b
        WHERE b.app_id = p_app AND b.user_id = p_user AND b.is_own AND b.changed_at <= p_until
        ORDER BY b.app_id, b.user_id, b.other_id LIMIT p_limit);
    other text;
BEGIN
    -- Lock in the order of the keys, as all writers of blocks do.
    INSERT INTO conversations.block AS b (app_id, user_id, other_id, is_own)
    SELECT p_app, k.user_id, k.other_id, false
    FROM (SELECT p_user AS user_id, u.id AS other_id FROM unnest(others) u(id)
        UNION ALL SELECT u.id, p_user FROM unnest(others) u(id)) k
    ORDER BY k.user_id COLLATE "C", k.other_id COLLATE "C"
    ON CONFLICT (app_id, user_id, other_id) DO UPDATE SET is_own = b.is_own;
    FOREACH other IN ARRAY others LOOP
        UPDATE conversations.block b SET is_own = false
        WHERE b.app_id = p_app AND b.user_id = p_user AND b.other_id = other;
        CONTINUE WHEN (SELECT b.is_own FROM conversations.block b
            WHERE b.app_id = p_app AND b.user_id = other AND b.other_id = p_user);
        DELETE FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = p_user AND b.other_id = other;
        DELETE FROM conversations.block b WHERE b.app_id = p_app AND b.user_id = other AND b.other_id = p_user;
    END LOOP;
    RETURN cardinality(others);
END
$$;

-- Erases the names of users in an erased user's own log entries about blocks until `p_until`. The entries stay, because
-- a missing position would look like a lost change. Returns the number of changed entries; call again while it equals
-- the limit.
CREATE OR REPLACE FUNCTION conversations.forget_logged_blocks(
    p_app uuid, p_user text, p_limit bigint, p_until timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    positions bigint[] := ARRAY(
        SELECT x.position FROM conversations.user_change x
        WHERE x.app_id = p_app AND x.user_id = p_user AND x.kind = conversations.user_kind_blocks()
            AND x.operations <> '{}' AND x.created_at <= p_until
        ORDER BY x.position LIMIT p_limit);
BEGIN
    UPDATE conversations.user_change x SET operations = '{}'
    WHERE x.app_id = p_app AND x.user_id = p_user AND x.position = ANY (positions);
    RETURN cardinality(positions);
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.forget_blocks, conversations.forget_logged_blocks, conversations.blocked_among,
    conversations.hide_new_message, conversations.kept_from, conversations.keep_from, conversations.block_changes,
    conversations.write_blocks, conversations.change_blocks, conversations.list_blocks,
    conversations.block_pairs TO strata_conversations;
