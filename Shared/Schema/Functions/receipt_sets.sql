-- SPDX-License-Identifier: Apache-2.0
-- The sets of messages of one participant: read, delivered, hidden. A participant's row holds the longest ranges of
-- each set, at most range_limit(). The others are bits of receipt_block, with 1,024 ordinals in a row.

-- Returns the maximum number of ranges of one set in a participant's row.
CREATE OR REPLACE FUNCTION conversations.range_limit() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 32;

-- True if a set has more ranges than a row may hold. In memory, a set of n ranges takes 8 + 21 n bytes. Counting the
-- ranges would take a hundred times as long.
CREATE OR REPLACE FUNCTION conversations.has_many_ranges(p_set int8multirange) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_column_size(p_set) > 8 + 21 * conversations.range_limit();

-- Returns the ranges of a large set that move into blocks: all except the longest ones. Of equally long ranges, the
-- newest stay.
CREATE OR REPLACE FUNCTION conversations.surplus_ranges(p_set int8multirange) RETURNS int8multirange
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT coalesce(range_agg(s.r), '{}')
    FROM (SELECT u.r, row_number() OVER (ORDER BY upper(u.r) - lower(u.r) DESC, lower(u.r) DESC) AS n
        FROM unnest(p_set) u(r)) s
    WHERE s.n > conversations.range_limit() / 2);

-- Returns the bits of a block that contains all of its ordinals.
CREATE OR REPLACE FUNCTION conversations.all_bits() RETURNS bit
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ~ 0::bit(1024);

-- True if a block with these bits contains an ordinal. NULL bits: NULL.
CREATE OR REPLACE FUNCTION conversations.has_bit(p_bits bit, p_ordinal bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN get_bit(p_bits, (p_ordinal % conversations.block_size())::int) = 1;

-- Returns the bits of one block that a range sets.
CREATE OR REPLACE FUNCTION conversations.block_bits(p_range int8range, p_block bigint) RETURNS bit
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (conversations.all_bits() >> greatest(lower(p_range) - p_block * conversations.block_size(), 0)::int)
    & (conversations.all_bits() << greatest((p_block + 1) * conversations.block_size() - upper(p_range), 0)::int);

-- Converts three sets to blocks.
CREATE OR REPLACE FUNCTION conversations.blocks_of(
    p_read int8multirange, p_delivered int8multirange, p_hidden int8multirange)
RETURNS TABLE (block bigint, read bit, delivered bit, hidden bit)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT k.block, bit_or(conversations.block_bits(s.r, k.block)) FILTER (WHERE s.kind = 1),
        bit_or(conversations.block_bits(s.r, k.block)) FILTER (WHERE s.kind = 2),
        bit_or(conversations.block_bits(s.r, k.block)) FILTER (WHERE s.kind = 3)
    FROM (
        SELECT 1 AS kind, u.r FROM unnest(p_read) u(r)
        UNION ALL SELECT 2, u.r FROM unnest(p_delivered) u(r)
        UNION ALL SELECT 3, u.r FROM unnest(p_hidden) u(r)) s
    CROSS JOIN LATERAL generate_series(
        lower(s.r) / conversations.block_size(), (upper(s.r) - 1) / conversations.block_size()) k(block)
    GROUP BY k.block
$$;

-- Returns the participant with at most range_limit() ranges of each set, after moving the others into blocks. The
-- caller holds the lock, stores the returned row, and takes this position for the change, or none if only `hidden` has
-- changed.
CREATE OR REPLACE FUNCTION conversations.packed(p conversations.participant, p_position bigint)
RETURNS conversations.participant
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    read int8multirange := CASE WHEN conversations.has_many_ranges(p.read) THEN conversations.surplus_ranges(p.read)
        ELSE '{}' END;
    delivered int8multirange := CASE WHEN conversations.has_many_ranges(p.delivered) THEN conversations.surplus_ranges(
        p.delivered) ELSE '{}' END;
    hidden int8multirange := CASE WHEN conversations.has_many_ranges(p.hidden) THEN conversations.surplus_ranges(
        p.hidden) ELSE '{}' END;
    last_leaving bigint;
    added record;
    before conversations.receipt_block;
BEGIN
    IF isempty(read) AND isempty(delivered) AND isempty(hidden) THEN RETURN p; END IF;
    last_leaving := (SELECT max(x.left_position) FROM conversations.participant x
        WHERE x.conversation_id = p.conversation_id);
    FOR added IN SELECT b.* FROM conversations.blocks_of(read, delivered, hidden) b ORDER BY b.block LOOP
        SELECT * INTO before FROM conversations.receipt_block b
        WHERE b.conversation_id = p.conversation_id AND b.block = added.block AND b.user_id = p.user_id
            AND b.until_position = conversations.end_of_log();
        -- Keep the former block for a user who left, who sees the receipts of that time.
        IF FOUND AND last_leaving >= before.since_position AND (added.read IS NOT NULL OR added.delivered IS NOT NULL)
            AND (before.read IS NOT NULL OR before.delivered IS NOT NULL)
        THEN
            UPDATE conversations.receipt_block b SET until_position = p_position
            WHERE b.conversation_id = p.conversation_id AND b.block = added.block AND b.user_id = p.user_id
                AND b.until_position = conversations.end_of_log();
            before.since_position := p_position;
        ELSIF NOT FOUND OR before.read IS NULL AND before.delivered IS NULL THEN
            before.since_position := p_position;
        END IF;
        INSERT INTO conversations.receipt_block AS b (
            conversation_id, block, user_id, since_position, read, delivered, hidden)
        VALUES (
            p.conversation_id, added.block, p.user_id, before.since_position,
            coalesce(before.read | added.read, before.read, added.read),
            coalesce(before.delivered | added.delivered, before.delivered, added.delivered),
            coalesce(before.hidden | added.hidden, before.hidden, added.hidden))
        ON CONFLICT (conversation_id, block, user_id, until_position) DO UPDATE
        SET since_position = excluded.since_position, read = excluded.read, delivered = excluded.delivered,
            hidden = excluded.hidden;
    END LOOP;
    p.packed_up_to := greatest(p.packed_up_to, upper(read) - 1, upper(delivered) - 1, upper(hidden) - 1);
    p.read := p.read - read;
    p.delivered := p.delivered - delivered;
    p.hidden := p.hidden - hidden;
    RETURN p;
END
$$;

-- Returns whether a participant's blocks contain one ordinal. Only useful up to packed_up_to.
CREATE OR REPLACE FUNCTION conversations.block_at(
    p_conversation uuid, p_user text, p_ordinal bigint, OUT has_read boolean, OUT is_hidden boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT conversations.has_bit(b.read, p_ordinal), conversations.has_bit(b.hidden, p_ordinal) INTO has_read, is_hidden
    FROM conversations.receipt_block b
    WHERE b.conversation_id = p_conversation AND b.block = p_ordinal / conversations.block_size() AND b.user_id = p_user
        AND b.until_position = conversations.end_of_log();
    has_read := coalesce(has_read, false);
    is_hidden := coalesce(is_hidden, false);
END
$$;

-- True if the participant has read the message with this ordinal.
CREATE OR REPLACE FUNCTION conversations.has_read(p conversations.participant, p_ordinal bigint) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (p).read @> p_ordinal
    OR (p).packed_up_to >= p_ordinal AND (conversations.block_at((p).conversation_id, (p).user_id, p_ordinal)).has_read;

-- Returns the ordinals of the newest messages before `p_before` that this participant sees, newest first. It skips
-- hidden ranges without reading them.
CREATE OR REPLACE FUNCTION conversations.visible_ordinals(p conversations.participant, p_before bigint, p_limit bigint)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    ends bigint := least(p_before, coalesce(p.left_ordinal + 1, p_before));
    missing bigint := p_limit;
    shown record;
    above bigint;
    starts bigint;
    found_rows bigint;
    hidden conversations.receipt_block.hidden%TYPE;
BEGIN
    FOR shown IN
        SELECT lower(u.r) AS first, upper(u.r) AS above
        FROM unnest(int8multirange(int8range(least(p.hidden_ordinal + 1, ends), ends)) - p.hidden) u(r) ORDER BY 1 DESC
    LOOP
        above := shown.above;
        WHILE above > shown.first LOOP
            hidden := NULL;
            IF above - 1 > p.packed_up_to THEN
                starts := greatest(shown.first, p.packed_up_to + 1);
            ELSE
                starts := greatest(shown.first, (above - 1) / conversations.block_size() * conversations.block_size());
                hidden := (
                    SELECT b.hidden FROM conversations.receipt_block b
                    WHERE b.conversation_id = p.conversation_id AND b.block = (above - 1) / conversations.block_size()
                        AND b.user_id = p.user_id
                        AND b.until_position = conversations.end_of_log());
            END IF;
            IF hidden IS NULL OR hidden <> conversations.all_bits() THEN
                RETURN QUERY
                SELECT m.ordinal FROM conversations.message m
                WHERE m.conversation_id = p.conversation_id AND m.ordinal >= starts AND m.ordinal < above
                    AND (hidden IS NULL OR NOT conversations.has_bit(hidden, m.ordinal))
                ORDER BY m.ordinal DESC LIMIT missing;
                GET DIAGNOSTICS found_rows = ROW_COUNT;
                missing := missing - found_rows;
                IF missing <= 0 THEN RETURN; END IF;
            END IF;
            above := starts;
        END LOOP;
    END LOOP;
END
$$;

-- Returns these ordinals as a set. Each run is extended to both sides over the user's own messages and deleted ones,
-- which count as read anyway. So the set stays one range, regardless of the conversation's length. It examines at most
-- 64 messages to each side of a run.
CREATE OR REPLACE FUNCTION conversations.joined_ranges(p_conversation uuid, p_user text, p_ordinals bigint[])
RETURNS int8multirange
LANGUAGE plpgsql STABLE AS $$
DECLARE
    runs int8multirange := (SELECT range_agg(int8range(o.ordinal, o.ordinal, '[]')) FROM unnest(p_ordinals) o(ordinal));
BEGIN
    RETURN (
        SELECT range_agg(int8range(coalesce(below.ordinal + 1, lower(u.r)), coalesce(above.ordinal, upper(u.r))))
        FROM unnest(runs) u(r)
        LEFT JOIN LATERAL (
            SELECT n.ordinal
            FROM (
                SELECT m.ordinal, m.sender FROM conversations.message m
                WHERE m.conversation_id = p_conversation AND m.ordinal < lower(u.r) ORDER BY m.ordinal DESC LIMIT 64) n
            WHERE n.sender <> p_user ORDER BY n.ordinal DESC LIMIT 1) below ON true
        LEFT JOIN LATERAL (
            SELECT n.ordinal
            FROM (
                SELECT m.ordinal, m.sender FROM conversations.message m
                WHERE m.conversation_id = p_conversation AND m.ordinal >= upper(u.r) ORDER BY m.ordinal LIMIT 64) n
            WHERE n.sender <> p_user ORDER BY n.ordinal LIMIT 1) above ON true);
END
$$;

-- Counts the messages of other users up to an ordinal that a participant has neither read nor hidden, and returns their
-- senders.
CREATE OR REPLACE FUNCTION conversations.unread_up_to(
    p conversations.participant, p_ordinal bigint, OUT count bigint, OUT senders text[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT count(*), coalesce(array_agg(DISTINCT m.sender::text), '{}') INTO unread_up_to.count, unread_up_to.senders
    FROM unnest(
        int8multirange(int8range(least(p.hidden_ordinal, p_ordinal) + 1, p_ordinal, '[]')) - p.read - p.hidden) g(gap)
    JOIN conversations.message m ON m.conversation_id = p.conversation_id AND m.ordinal >= lower(g.gap)
        AND m.ordinal < upper(g.gap)
    LEFT JOIN conversations.receipt_block b ON b.conversation_id = p.conversation_id
        AND b.block = m.ordinal / conversations.block_size() AND b.user_id = p.user_id
        AND b.until_position = conversations.end_of_log()
    WHERE m.sender <> p.user_id
        AND (b.read IS NULL OR NOT conversations.has_bit(b.read, m.ordinal))
        AND (b.hidden IS NULL OR NOT conversations.has_bit(b.hidden, m.ordinal));
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.range_limit, conversations.all_bits, conversations.has_bit, conversations.has_many_ranges,
    conversations.surplus_ranges, conversations.block_bits, conversations.blocks_of, conversations.packed,
    conversations.block_at, conversations.has_read, conversations.visible_ordinals, conversations.joined_ranges,
    conversations.unread_up_to TO strata_conversations;
