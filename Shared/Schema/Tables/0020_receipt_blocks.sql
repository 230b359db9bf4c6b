-- SPDX-License-Identifier: Apache-2.0
-- Sets of messages that stay cheap whatever their pattern.
--
-- What a participant has read, received and hidden is three sets of ordinals. A participant who reads every other message would have one range a
-- message, in a row that everybody's message pages read and every receipt rewrites. So a participant's row holds at most range_limit() ranges of
-- each set. When there are more, the shorter half of them moves into blocks: rows of bits for 1,024 ordinals each. A set is the union of both
-- places, and nothing about it is rounded.
--
-- A user who left goes on seeing how far messages had come with the others at that position. kept_receipts has the ranges of that time, and a block
-- that changes after a user left is kept beside the new one.

CREATE TABLE conversations.receipt_block (
    conversation_id uuid NOT NULL,
    -- Of the ordinals from 1024 × block on.
    block           bigint NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    -- The positions between which it held, the second excluded; that of a block that holds now is the largest there is.
    since_position  bigint NOT NULL,
    until_position  bigint NOT NULL DEFAULT 9223372036854775807,
    -- Bit n says that ordinal 1024 × block + n is in the set; NULL: none is.
    read            bit(1024),
    delivered       bit(1024),
    hidden          bit(1024),
    PRIMARY KEY (conversation_id, block, user_id, until_position)
) WITH (fillfactor = 70);

-- No block has ordinals above it.
ALTER TABLE conversations.participant ADD COLUMN packed_up_to bigint NOT NULL DEFAULT 0;
ALTER TABLE conversations.kept_receipts ADD COLUMN packed bigint[];

-- The most ranges of one set in a participant's row.
CREATE FUNCTION conversations.range_limit() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 32;

-- Whether a set has more ranges than a row may hold. In memory, one of n ranges takes 8 + 21 n bytes; counting them would cost a hundred times as
-- much.
CREATE FUNCTION conversations.has_many_ranges(p_set int8multirange) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN pg_column_size(p_set) > 8 + 21 * conversations.range_limit();

-- The ranges of such a set that move into blocks: all but the longest ones, the newest of equals.
CREATE FUNCTION conversations.surplus_ranges(p_set int8multirange) RETURNS int8multirange
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT coalesce(range_agg(s.r), '{}')
    FROM (SELECT u.r, row_number() OVER (ORDER BY upper(u.r) - lower(u.r) DESC, lower(u.r) DESC) AS n FROM unnest(p_set) u(r)) s
    WHERE s.n > conversations.range_limit() / 2);

-- The bits of one block that a range sets.
CREATE FUNCTION conversations.block_bits(p_range int8range, p_block bigint) RETURNS bit
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((~ 0::bit(1024)) >> greatest(lower(p_range) - p_block * 1024, 0)::int)
    & ((~ 0::bit(1024)) << greatest(p_block * 1024 + 1024 - upper(p_range), 0)::int);

-- Three sets as blocks.
CREATE FUNCTION conversations.blocks_of(p_read int8multirange, p_delivered int8multirange, p_hidden int8multirange)
RETURNS TABLE (block bigint, read bit, delivered bit, hidden bit)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT k.block, bit_or(conversations.block_bits(s.r, k.block)) FILTER (WHERE s.kind = 1),
        bit_or(conversations.block_bits(s.r, k.block)) FILTER (WHERE s.kind = 2),
        bit_or(conversations.block_bits(s.r, k.block)) FILTER (WHERE s.kind = 3)
    FROM (
        SELECT 1 AS kind, u.r FROM unnest(p_read) u(r)
        UNION ALL SELECT 2, u.r FROM unnest(p_delivered) u(r)
        UNION ALL SELECT 3, u.r FROM unnest(p_hidden) u(r)) s
    CROSS JOIN LATERAL generate_series(lower(s.r) / 1024, (upper(s.r) - 1) / 1024) k(block)
    GROUP BY k.block
$$;

-- The participant, for whom at most range_limit() ranges of each set are left: blocks get the others. The caller holds the lock, stores what is
-- returned, and takes this position for it, or none if only `hidden` has changed.
CREATE FUNCTION conversations.packed(p conversations.participant, p_position bigint) RETURNS conversations.participant
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    read int8multirange := CASE WHEN conversations.has_many_ranges(p.read) THEN conversations.surplus_ranges(p.read) ELSE '{}' END;
    delivered int8multirange := CASE WHEN conversations.has_many_ranges(p.delivered) THEN conversations.surplus_ranges(p.delivered) ELSE '{}' END;
    hidden int8multirange := CASE WHEN conversations.has_many_ranges(p.hidden) THEN conversations.surplus_ranges(p.hidden) ELSE '{}' END;
    last_leaving bigint;
    added record;
    before conversations.receipt_block;
BEGIN
    IF isempty(read) AND isempty(delivered) AND isempty(hidden) THEN RETURN p; END IF;
    last_leaving := (SELECT max(x.left_position) FROM conversations.participant x WHERE x.conversation_id = p.conversation_id);
    FOR added IN SELECT b.* FROM conversations.blocks_of(read, delivered, hidden) b ORDER BY b.block LOOP
        SELECT * INTO before FROM conversations.receipt_block b
        WHERE b.conversation_id = p.conversation_id AND b.block = added.block AND b.user_id = p.user_id AND b.until_position = 9223372036854775807;
        -- A user who left sees what had come with this user then.
        IF FOUND AND last_leaving >= before.since_position AND (added.read IS NOT NULL OR added.delivered IS NOT NULL)
            AND (before.read IS NOT NULL OR before.delivered IS NOT NULL)
        THEN
            UPDATE conversations.receipt_block b SET until_position = p_position
            WHERE b.conversation_id = p.conversation_id AND b.block = added.block AND b.user_id = p.user_id
                AND b.until_position = 9223372036854775807;
            before.since_position := p_position;
        ELSIF NOT FOUND OR before.read IS NULL AND before.delivered IS NULL THEN
            before.since_position := p_position;
        END IF;
        INSERT INTO conversations.receipt_block AS b (conversation_id, block, user_id, since_position, read, delivered, hidden)
        VALUES (
            p.conversation_id, added.block, p.user_id, before.since_position, coalesce(before.read | added.read, before.read, added.read),
            coalesce(before.delivered | added.delivered, before.delivered, added.delivered),
            coalesce(before.hidden | added.hidden, before.hidden, added.hidden))
        ON CONFLICT (conversation_id, block, user_id, until_position) DO UPDATE
        SET since_position = excluded.since_position, read = excluded.read, delivered = excluded.delivered, hidden = excluded.hidden;
    END LOOP;
    p.packed_up_to := greatest(p.packed_up_to, upper(read) - 1, upper(delivered) - 1, upper(hidden) - 1);
    p.read := p.read - read;
    p.delivered := p.delivered - delivered;
    p.hidden := p.hidden - hidden;
    RETURN p;
END
$$;

-- What a participant's blocks say about one ordinal. Worth asking only up to packed_up_to.
CREATE FUNCTION conversations.block_at(p_conversation uuid, p_user text, p_ordinal bigint, OUT has_read boolean, OUT is_hidden boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT get_bit(b.read, (p_ordinal % 1024)::int) = 1, get_bit(b.hidden, (p_ordinal % 1024)::int) = 1 INTO has_read, is_hidden
    FROM conversations.receipt_block b
    WHERE b.conversation_id = p_conversation AND b.block = p_ordinal / 1024 AND b.user_id = p_user AND b.until_position = 9223372036854775807;
    has_read := coalesce(has_read, false);
    is_hidden := coalesce(is_hidden, false);
END
$$;

-- Whether a participant has read this one.
CREATE FUNCTION conversations.has_read(p conversations.participant, p_ordinal bigint) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (p).read @> p_ordinal
    OR (p).packed_up_to >= p_ordinal AND (conversations.block_at((p).conversation_id, (p).user_id, p_ordinal)).has_read;

-- Whether they may see a message with this ordinal, if it exists and no block hides it.
CREATE FUNCTION conversations.may_see_by_ranges(p conversations.participant, p_ordinal bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_ordinal > (p).hidden_ordinal AND ((p).left_position IS NULL OR p_ordinal <= (p).left_ordinal) AND NOT (p).hidden @> p_ordinal;

-- Whether they may see a message with this ordinal, if it exists.
CREATE OR REPLACE FUNCTION conversations.may_see(p conversations.participant, p_ordinal bigint) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN p_ordinal > (p).hidden_ordinal AND ((p).left_position IS NULL OR p_ordinal <= (p).left_ordinal) AND NOT (p).hidden @> p_ordinal
    AND ((p).packed_up_to < p_ordinal OR NOT (conversations.block_at((p).conversation_id, (p).user_id, p_ordinal)).is_hidden);

-- One message, or NULL. Recipients are all who were participants when it was sent or came later; not those who had left before.
CREATE OR REPLACE FUNCTION conversations.message_at(p_conversation uuid, p_ordinal bigint) RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_row conversations.message_row;
BEGIN
    SELECT m.id, m.conversation_id, m.position, m.ordinal, m.sender, m.sent_at, m.parts, m.notification, r.users, r.statuses, m.updated_at,
        m.receipt_policy
    INTO found_row
    FROM conversations.message m
    CROSS JOIN LATERAL (
        SELECT array_agg(p.user_id ORDER BY p.user_id) AS users,
            array_agg(conversations.recipient_status(
                    m.receipt_policy, p.user_id = m.sender, p.read @> m.ordinal OR b.has_read, p.delivered @> m.ordinal OR b.has_received)
                ORDER BY p.user_id) AS statuses
        FROM conversations.participant p
        -- OFFSET 0 keeps it a look at one row, and none for those who have no block.
        LEFT JOIN LATERAL (
            SELECT get_bit(k.read, (p_ordinal % 1024)::int) = 1 AS has_read, get_bit(k.delivered, (p_ordinal % 1024)::int) = 1 AS has_received
            FROM conversations.receipt_block k
            WHERE p.packed_up_to >= p_ordinal AND k.conversation_id = p_conversation AND k.block = p_ordinal / 1024 AND k.user_id = p.user_id
                AND k.until_position = 9223372036854775807
            OFFSET 0) b ON true
        WHERE p.conversation_id = p_conversation AND (p.left_position IS NULL OR p.left_ordinal >= m.ordinal)) r
    WHERE m.conversation_id = p_conversation AND m.ordinal = p_ordinal;
    RETURN found_row;
END
$$;

-- A message as this participant sees it, or NULL: to a user who left, as it was then.
CREATE OR REPLACE FUNCTION conversations.message_for(p conversations.participant, p_ordinal bigint) RETURNS conversations.message_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_row conversations.message_row := conversations.message_at(p.conversation_id, p_ordinal);
    receipts conversations.kept_receipts;
    before record;
BEGIN
    IF p.left_position IS NULL OR found_row.message_id IS NULL THEN RETURN found_row; END IF;
    SELECT * INTO receipts FROM conversations.kept_receipts k WHERE k.conversation_id = p.conversation_id AND k.user_id = p.user_id;
    IF FOUND THEN
        SELECT array_agg(x.id ORDER BY x.id COLLATE "C"),
            array_agg(conversations.recipient_status(
                    found_row.receipt_policy, x.id = found_row.sender, x.has_read @> p_ordinal OR b.has_read,
                    x.has_received @> p_ordinal OR b.has_received)
                ORDER BY x.id COLLATE "C")
        INTO found_row.recipients, found_row.statuses
        FROM unnest(receipts.users, receipts.left_ordinals, receipts.reads, receipts.delivereds, receipts.packed)
            x(id, left_ordinal, has_read, has_received, packed_up_to)
        LEFT JOIN LATERAL (
            SELECT get_bit(k.read, (p_ordinal % 1024)::int) = 1 AS has_read, get_bit(k.delivered, (p_ordinal % 1024)::int) = 1 AS has_received
            FROM conversations.receipt_block k
            WHERE x.packed_up_to >= p_ordinal AND k.conversation_id = p.conversation_id AND k.block = p_ordinal / 1024 AND k.user_id = x.id
                AND k.since_position <= p.left_position AND k.until_position > p.left_position
            OFFSET 0) b ON true
        WHERE x.left_ordinal IS NULL OR x.left_ordinal >= p_ordinal;
    END IF;
    SELECT k.parts, k.updated_at INTO before
    FROM conversations.kept_parts k
    WHERE k.conversation_id = p.conversation_id AND k.ordinal = p_ordinal AND k.until_position > p.left_position
    ORDER BY k.until_position LIMIT 1;
    IF FOUND THEN
        found_row.parts := before.parts;
        found_row.updated_at := before.updated_at;
    END IF;
    RETURN found_row;
END
$$;

-- The ordinals of the newest messages this participant sees, of those before `p_before`, newest first. Steps over what is hidden instead of reading
-- it.
CREATE FUNCTION conversations.visible_ordinals(p conversations.participant, p_before bigint, p_limit bigint) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    ends bigint := least(p_before, coalesce(p.left_ordinal + 1, p_before));
    missing bigint := p_limit;
    shown record;
    above bigint;
    starts bigint;
    found_rows bigint;
    hidden bit(1024);
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
                starts := greatest(shown.first, (above - 1) / 1024 * 1024);
                hidden := (
                    SELECT b.hidden FROM conversations.receipt_block b
                    WHERE b.conversation_id = p.conversation_id AND b.block = (above - 1) / 1024 AND b.user_id = p.user_id
                        AND b.until_position = 9223372036854775807);
            END IF;
            IF hidden IS NULL OR hidden <> ~ 0::bit(1024) THEN
                RETURN QUERY
                SELECT m.ordinal FROM conversations.message m
                WHERE m.conversation_id = p.conversation_id AND m.ordinal >= starts AND m.ordinal < above
                    AND (hidden IS NULL OR get_bit(hidden, (m.ordinal % 1024)::int) = 0)
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

-- The ordinal of the newest message they see; 0: none.
CREATE OR REPLACE FUNCTION conversations.last_visible(c conversations.conversation, p conversations.participant) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p.left_position IS NULL AND isempty(p.hidden) THEN
        RETURN CASE WHEN c.last_ordinal > p.hidden_ordinal THEN c.last_ordinal ELSE 0 END;
    END IF;
    RETURN coalesce((SELECT o.ordinal FROM conversations.visible_ordinals(p, coalesce(p.left_ordinal, c.last_ordinal) + 1, 1) o(ordinal)), 0);
END
$$;

-- A page of the messages of a conversation that this user sees, newest first. The first row has the outcome, 'ok', 'not_found' or 'unknown_cursor', and
-- how many there are in all. A message that was deleted meanwhile still serves as a cursor.
CREATE OR REPLACE FUNCTION conversations.list_messages(p_app uuid, p_user text, p_conversation uuid, p_page_size bigint, p_from_id uuid)
RETURNS TABLE (outcome text, total bigint, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    before bigint;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF c.id IS NULL OR p.user_id IS NULL OR NOT conversations.is_visible(c, p) THEN
        RETURN QUERY SELECT 'not_found'::text, 0::bigint, NULL::conversations.message_row;
        RETURN;
    END IF;
    total := coalesce(p.left_ordinal, c.message_count) - p.hidden_count;
    before := coalesce(p.left_ordinal, c.message_count) + 1;
    IF p_from_id IS NOT NULL THEN
        SELECT least(x.ordinal, before) INTO before FROM conversations.message_place x
        WHERE x.message_id = p_from_id AND x.conversation_id = p_conversation AND (p.left_position IS NULL OR x.ordinal <= p.left_ordinal);
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, total, NULL::conversations.message_row;
            RETURN;
        END IF;
    END IF;

    outcome := 'ok';
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, conversations.message_for(p, o.ordinal)
    FROM conversations.visible_ordinals(p, before, p_page_size) o(ordinal)
    ORDER BY o.ordinal DESC;
END
$$;

-- The caller holds the lock and has checked the right.
CREATE OR REPLACE FUNCTION conversations.hide_message(
    c conversations.conversation, p conversations.participant, p_ordinal bigint, p_message uuid, p_sender text)
RETURNS conversations.message_deletion
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    result conversations.message_deletion;
    before bigint := conversations.last_visible(c, p);
BEGIN
    p.hidden := p.hidden + int8multirange(int8range(p_ordinal, p_ordinal, '[]'));
    p := conversations.packed(p, c.position + 1);
    -- It stays on their list: they see it now, and are to go on seeing it.
    UPDATE conversations.participant x
    SET hidden = p.hidden,
        packed_up_to = p.packed_up_to,
        hidden_count = x.hidden_count + 1,
        uncounted = x.uncounted + CASE WHEN x.user_id = p_sender OR conversations.has_read(x, p_ordinal) THEN 0 ELSE 1 END,
        is_hidden = false
    WHERE x.conversation_id = c.id AND x.user_id = p.user_id
    RETURNING x.* INTO p;
    result.outcome := 'ok';
    result.conversation_id := c.id;
    result.message_count := coalesce(p.left_ordinal, c.message_count);
    result.ordinal := p_ordinal;
    result.last_changed := before = p_ordinal;
    result.number_users := ARRAY[p.user_id];
    result.number_uncounted := ARRAY[p.uncounted];
    result.number_hidden := ARRAY[p.hidden_count];
    result.message := conversations.message_for(p, conversations.last_visible(c, p));
    SELECT a.position, a.created_at INTO result.user_position, result.user_created_at
    FROM conversations.append_user_change(
        c.app_id, p.user_id, 3::smallint, jsonb_build_object('conversation_id', c.id, 'message_id', p_message)) a;
    RETURN result;
END
$$;

-- The caller holds the lock and has checked the right.
CREATE OR REPLACE FUNCTION conversations.delete_for_all(
    c conversations.conversation, p_ordinal bigint, p_message uuid, p_sender text, p_actor text, p_oc bigint, p_or bigint)
RETURNS SETOF conversations.message_deletion
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
DECLARE
    result conversations.message_deletion;
    newest bigint := c.last_ordinal;
BEGIN
    DELETE FROM conversations.message m WHERE m.conversation_id = c.id AND m.ordinal = p_ordinal;
    DELETE FROM conversations.kept_parts k WHERE k.conversation_id = c.id AND k.ordinal = p_ordinal;
    PERFORM conversations.refer_contents(c.id, p_ordinal, '{}');
    IF c.last_ordinal = p_ordinal THEN
        newest := coalesce((SELECT max(m.ordinal) FROM conversations.message m WHERE m.conversation_id = c.id), 0);
        UPDATE conversations.conversation x SET last_ordinal = newest WHERE x.id = c.id;
        c.last_ordinal := newest;
    END IF;

    -- All who saw it, former participants too. They have the conversation on their lists, and are to keep it.
    WITH altered AS (
        UPDATE conversations.participant x
        SET hidden_count = x.hidden_count + 1,
            uncounted = x.uncounted + CASE WHEN x.user_id = p_sender OR conversations.has_read(x, p_ordinal) THEN 0 ELSE 1 END,
            is_hidden = false
        WHERE x.conversation_id = c.id AND conversations.may_see(x, p_ordinal)
        RETURNING x.user_id, x.uncounted, x.hidden_count, x.left_position
    )
    SELECT coalesce(array_agg(a.user_id ORDER BY a.user_id), '{}'), coalesce(array_agg(a.uncounted ORDER BY a.user_id), '{}'),
        coalesce(array_agg(a.hidden_count ORDER BY a.user_id), '{}')
    INTO result.number_users, result.number_uncounted, result.number_hidden
    FROM altered a WHERE a.left_position IS NULL;

    -- It was the last one of all who saw nothing newer: of all participants, or of one who hid what came after it.
    result.last_changed := newest < p_ordinal OR EXISTS (
        SELECT FROM conversations.participant x
        WHERE x.conversation_id = c.id AND x.left_position IS NULL AND (x.hidden_ordinal > 0 OR NOT isempty(x.hidden))
            AND conversations.may_see(x, p_ordinal) AND conversations.last_visible(c, x) < p_ordinal);

    SELECT a.position, a.created_at, a.message_count INTO result.position, result.created_at, result.message_count
    FROM conversations.append_change(
        c.id, 6::smallint, p_actor, p_oc, p_or, p_message, p_ordinal, jsonb_build_object('last_changed', result.last_changed)) a;
    result.outcome := 'ok';
    result.conversation_id := c.id;
    result.ordinal := p_ordinal;
    IF result.last_changed THEN
        result.message := conversations.message_at(c.id, newest);
    END IF;
    RETURN NEXT result;
    IF result.last_changed THEN
        RETURN QUERY SELECT o.* FROM conversations.last_message_overrides(c) o;
    END IF;
END
$$;

-- These ordinals as a set, in which each run of them is extended to both sides over the user's own messages and over deleted ones: they count as read
-- anyway, and a set that is joined stays one range however long the conversation. Looks at most 64 messages to each side of a run.
CREATE FUNCTION conversations.joined_ranges(p_conversation uuid, p_user text, p_ordinals bigint[]) RETURNS int8multirange
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

-- Receipts of one conversation, of several users over several messages, as one change; statuses: 1 delivered, 2 read. `results` are in the order asked:
-- 'ok' had an effect, 'none' had none, 'not_found', 'access_denied' to a former participant. The rest is about those with an effect; `audiences`: 0 everybody,
-- 1 sender and reader (in conversations of more than `p_limit` participants, and where receipts of one kind are switched off), 2 the reader.
CREATE OR REPLACE FUNCTION conversations.give_receipts(
    p_app uuid, p_conversation uuid, p_users text[], p_messages uuid[], p_statuses bigint[], p_limit bigint, p_oc bigint, p_or bigint,
    OUT results text[], OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT users text[], OUT messages uuid[],
    OUT ordinals bigint[], OUT statuses bigint[], OUT senders text[], OUT audiences bigint[], OUT number_users text[], OUT number_uncounted bigint[],
    OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    c record;
    p conversations.participant;
    given record;
    found_rows record;
    is_narrow boolean;
    effects jsonb := '[]';
BEGIN
    results := array_fill('not_found'::text, ARRAY[cardinality(p_users)]);
    SELECT x.id, x.deleted_position, x.receipt_policy, x.position INTO c
    FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    IF NOT FOUND OR c.deleted_position IS NOT NULL THEN RETURN; END IF;
    is_narrow := c.receipt_policy <> 0
        OR (SELECT cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = p_conversation) > p_limit;
    users := '{}'; messages := '{}'; ordinals := '{}'; statuses := '{}'; senders := '{}'; audiences := '{}';
    number_users := '{}'; number_uncounted := '{}'; number_hidden := '{}';

    -- By user, so that a row is read and written once, and a set united once, however many messages they read.
    FOR given IN
        SELECT g.user_id, array_agg(g.message_id ORDER BY g.n) AS ids, array_agg(g.status ORDER BY g.n) AS kinds,
            array_agg(g.n ORDER BY g.n) AS places
        FROM unnest(p_users, p_messages, p_statuses) WITH ORDINALITY g(user_id, message_id, status, n)
        GROUP BY g.user_id ORDER BY min(g.n)
    LOOP
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = given.user_id;
        CONTINUE WHEN NOT FOUND;

        -- Those they may see, each with what had come with them before; what is asked for earlier in this batch counts too. OFFSET 0 keeps each a look at
        -- one row.
        SELECT array_agg(s.place) AS places, array_agg(s.place) FILTER (WHERE s.is_new) AS new_places,
            array_agg(s.id) FILTER (WHERE s.is_new) AS ids, array_agg(s.ordinal) FILTER (WHERE s.is_new) AS ordinals,
            array_agg(s.status) FILTER (WHERE s.is_new) AS statuses, array_agg(s.sender) FILTER (WHERE s.is_new) AS senders,
            array_agg(s.audience) FILTER (WHERE s.is_new) AS audiences,
            array_agg(s.ordinal) FILTER (WHERE s.is_new AND s.status = 2) AS read,
            array_agg(s.ordinal) FILTER (WHERE s.is_new AND s.status = 1) AS delivered,
            jsonb_agg(jsonb_build_object(
                'user', given.user_id, 'message_id', s.id, 'ordinal', s.ordinal, 'status', s.status, 'sender', s.sender, 'audience', s.audience))
                FILTER (WHERE s.is_new) AS effects
        INTO found_rows
        FROM (
            SELECT a.place, a.id, a.ordinal, a.status, a.sender::text AS sender,
                CASE WHEN c.receipt_policy & a.status <> 0 THEN 2 WHEN is_narrow THEN 1 ELSE 0 END::bigint AS audience,
                a.status > greatest(a.before, max(a.status) OVER (
                    PARTITION BY a.ordinal ORDER BY a.n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS is_new
            FROM (
                SELECT g.place, g.n, g.status, x.id, x.ordinal, x.sender,
                    CASE WHEN x.sender = given.user_id OR p.read @> x.ordinal OR b.has_read THEN 2
                        WHEN p.delivered @> x.ordinal OR b.has_received THEN 1 ELSE 0 END AS before
                FROM unnest(given.ids, given.kinds, given.places) WITH ORDINALITY g(message_id, status, place, n)
                CROSS JOIN LATERAL (
                    SELECT l.ordinal FROM conversations.message_place l
                    WHERE l.message_id = g.message_id AND l.conversation_id = p_conversation OFFSET 0) l
                CROSS JOIN LATERAL (
                    SELECT m.id, m.ordinal, m.sender FROM conversations.message m
                    WHERE m.conversation_id = p_conversation AND m.ordinal = l.ordinal OFFSET 0) x
                LEFT JOIN LATERAL (
                    SELECT get_bit(k.read, (x.ordinal % 1024)::int) = 1 AS has_read,
                        get_bit(k.delivered, (x.ordinal % 1024)::int) = 1 AS has_received, get_bit(k.hidden, (x.ordinal % 1024)::int) = 1 AS is_hidden
                    FROM conversations.receipt_block k
                    WHERE x.ordinal <= p.packed_up_to AND k.conversation_id = p_conversation AND k.block = x.ordinal / 1024
                        AND k.user_id = given.user_id AND k.until_position = 9223372036854775807
                    OFFSET 0) b ON true
                WHERE conversations.may_see_by_ranges(p, x.ordinal) AND b.is_hidden IS NOT TRUE) a
            ORDER BY a.ordinal, a.n) s;
        CONTINUE WHEN found_rows.places IS NULL;
        FOR i IN 1..cardinality(found_rows.places) LOOP
            results[found_rows.places[i]] := CASE WHEN p.left_position IS NULL THEN 'none' ELSE 'access_denied' END;
        END LOOP;
        CONTINUE WHEN found_rows.new_places IS NULL OR p.left_position IS NOT NULL;
        FOR i IN 1..cardinality(found_rows.new_places) LOOP
            results[found_rows.new_places[i]] := 'ok';
        END LOOP;
        users := users || array_fill(given.user_id, ARRAY[cardinality(found_rows.new_places)]);
        messages := messages || found_rows.ids;
        ordinals := ordinals || found_rows.ordinals;
        statuses := statuses || found_rows.statuses;
        senders := senders || found_rows.senders;
        audiences := audiences || found_rows.audiences;
        effects := effects || found_rows.effects;

        IF found_rows.delivered IS NOT NULL THEN
            p.delivered := p.delivered + conversations.joined_ranges(p_conversation, given.user_id, found_rows.delivered);
        END IF;
        IF found_rows.read IS NOT NULL THEN
            p.read := p.read + conversations.joined_ranges(p_conversation, given.user_id, found_rows.read);
            -- Where reading is not shown, that it was delivered still is.
            IF c.receipt_policy & 2 = 0 THEN p.delivered := p.delivered - p.read; END IF;
            p.uncounted := p.uncounted + cardinality(found_rows.read);
            number_users := number_users || given.user_id;
            number_uncounted := number_uncounted || p.uncounted;
            number_hidden := number_hidden || p.hidden_count;
        END IF;
        p := conversations.packed(p, c.position + 1);
        UPDATE conversations.participant x
        SET read = p.read, delivered = p.delivered, packed_up_to = p.packed_up_to, uncounted = p.uncounted
        WHERE x.conversation_id = p_conversation AND x.user_id = given.user_id;
    END LOOP;

    IF cardinality(users) = 0 THEN RETURN; END IF;
    SELECT a.position, a.created_at, a.message_count INTO give_receipts.position, give_receipts.created_at, give_receipts.message_count
    FROM conversations.append_change(
        p_conversation, 7::smallint, users[1], p_oc, p_or, NULL::uuid, NULL::bigint, effects) a;
END
$$;
DROP FUNCTION conversations.joined_range(uuid, text, int8multirange, bigint);

-- The messages of others up to an ordinal that a participant has neither read nor hidden: how many, and from whom.
CREATE FUNCTION conversations.unread_up_to(p conversations.participant, p_ordinal bigint, OUT count bigint, OUT senders text[])
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT count(*), coalesce(array_agg(DISTINCT m.sender::text), '{}') INTO unread_up_to.count, unread_up_to.senders
    FROM unnest(int8multirange(int8range(least(p.hidden_ordinal, p_ordinal) + 1, p_ordinal, '[]')) - p.read - p.hidden) g(gap)
    JOIN conversations.message m ON m.conversation_id = p.conversation_id AND m.ordinal >= lower(g.gap) AND m.ordinal < upper(g.gap)
    LEFT JOIN conversations.receipt_block b ON b.conversation_id = p.conversation_id AND b.block = m.ordinal / 1024 AND b.user_id = p.user_id
        AND b.until_position = 9223372036854775807
    WHERE m.sender <> p.user_id
        AND (b.read IS NULL OR get_bit(b.read, (m.ordinal % 1024)::int) = 0) AND (b.hidden IS NULL OR get_bit(b.hidden, (m.ordinal % 1024)::int) = 0);
END
$$;

-- All messages up to a position, or all (NULL), are read. Outcomes: 'ok', 'none', 'not_found', 'access_denied'. `told`: in conversations of more than `p_limit`
-- participants the senders of what was read now, where reading is not shown none; NULL: all participants are told.
CREATE OR REPLACE FUNCTION conversations.mark_all_read(
    p_app uuid, p_actor text, p_conversation uuid, p_up_to bigint, p_limit bigint, p_oc bigint, p_or bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT up_to bigint, OUT uncounted bigint,
    OUT hidden bigint, OUT told text[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c record;
    p conversations.participant;
    last_read bigint;
    newly bigint := 0;
BEGIN
    SELECT b.outcome INTO outcome FROM conversations.begin_change(p_app, p_conversation, p_actor) b;
    IF outcome <> 'ok' THEN RETURN; END IF;
    SELECT x.position, x.message_count, x.receipt_policy INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;

    up_to := least(coalesce(p_up_to, c.position), c.position);
    last_read := CASE WHEN up_to = c.position THEN c.message_count ELSE conversations.ordinal_at(p_conversation, up_to, c.message_count) END;
    IF last_read = c.message_count THEN
        newly := c.message_count - p.uncounted;
    ELSIF last_read > p.hidden_ordinal THEN
        newly := (conversations.unread_up_to(p, last_read)).count;
    END IF;
    IF newly = 0 THEN
        outcome := 'none';
        -- What lies between is the user's own or deleted: next time it need not be looked at again.
        IF last_read > p.hidden_ordinal AND isempty(p.hidden) AND NOT p.read @> int8range(p.hidden_ordinal + 1, last_read, '[]') THEN
            UPDATE conversations.participant x SET read = p.read + int8multirange(int8range(p.hidden_ordinal + 1, last_read, '[]'))
            WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
        END IF;
        RETURN;
    END IF;

    IF c.receipt_policy & 2 <> 0 THEN
        told := '{}';
    ELSIF c.receipt_policy <> 0 OR (SELECT cardinality(r.user_ids) FROM conversations.roster r WHERE r.conversation_id = p_conversation) > p_limit THEN
        told := (conversations.unread_up_to(p, last_read)).senders;
    END IF;
    uncounted := p.uncounted + newly;
    hidden := p.hidden_count;
    UPDATE conversations.participant x
    SET read = p.read + int8multirange(int8range(1, last_read, '[]')),
        delivered = CASE WHEN c.receipt_policy & 2 = 0 THEN p.delivered - int8multirange(int8range(1, last_read, '[]')) ELSE p.delivered END,
        uncounted = mark_all_read.uncounted
    WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    SELECT a.position, a.created_at, a.message_count
    INTO mark_all_read.position, mark_all_read.created_at, mark_all_read.message_count
    FROM conversations.append_change(
        p_conversation, 8::smallint, p_actor, p_oc, p_or, NULL::uuid, NULL::bigint,
        jsonb_build_object('user', p_actor, 'up_to', mark_all_read.up_to, 'told', mark_all_read.told)) a;
END
$$;

-- Carries out a change of participants that has been decided: one position, one entry. `c` and `p_before` are as they were, under the lock;
-- `p_added` and `p_removed` are sorted, and not both empty.
CREATE OR REPLACE FUNCTION conversations.change_roster(
    c conversations.conversation, p_before text[], p_added text[], p_removed text[], p_actor text, p_oc bigint, p_or bigint,
    OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT participants text[], OUT distinct_cleared boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    leaver text;
BEGIN
    distinct_cleared := c.is_distinct;
    SELECT coalesce(array_agg(u.id ORDER BY u.id COLLATE "C"), '{}') INTO participants
    FROM unnest(p_before || p_added) u(id) WHERE u.id <> ALL (p_removed);

    SELECT a.position, a.created_at, a.message_count
    INTO change_roster.position, change_roster.created_at, change_roster.message_count
    FROM conversations.append_change(
        c.id, 2::smallint, p_actor, p_oc, p_or, NULL::uuid, NULL::bigint,
        jsonb_build_object('added', p_added, 'removed', p_removed, 'distinct_cleared', c.is_distinct)) a;

    UPDATE conversations.roster r SET user_ids = change_roster.participants WHERE r.conversation_id = c.id;
    IF c.is_distinct THEN
        UPDATE conversations.conversation x SET is_distinct = false WHERE x.id = c.id;
        PERFORM conversations.free_set(c, p_before);
    END IF;
    IF cardinality(p_added) > 0 THEN
        PERFORM conversations.let_in(c, p_added, change_roster.position);
        -- Also for users who never left, which finds nothing.
        PERFORM metadata.forget_kept_tree(c.id, u.id) FROM unnest(p_added) u(id);
        DELETE FROM conversations.kept_receipts k WHERE k.conversation_id = c.id AND k.user_id = ANY (p_added);
    END IF;
    IF cardinality(p_removed) > 0 THEN
        UPDATE conversations.participant p SET left_position = change_roster.position, left_ordinal = c.message_count
        WHERE p.conversation_id = c.id AND p.user_id = ANY (p_removed);
        FOREACH leaver IN ARRAY p_removed LOOP
            PERFORM metadata.keep_tree(c.id, leaver);
        END LOOP;
        INSERT INTO conversations.kept_receipts AS k (conversation_id, user_id, users, left_ordinals, reads, delivereds, packed)
        SELECT c.id, l.id, s.users, s.left_ordinals, s.reads, s.delivereds, s.packed
        FROM unnest(p_removed) l(id)
        CROSS JOIN (
            SELECT array_agg(p.user_id) AS users, array_agg(p.left_ordinal) AS left_ordinals, array_agg(p.read) AS reads,
                array_agg(p.delivered) AS delivereds, array_agg(p.packed_up_to) AS packed
            FROM conversations.participant p WHERE p.conversation_id = c.id) s
        ON CONFLICT (conversation_id, user_id) DO UPDATE
        SET users = excluded.users, left_ordinals = excluded.left_ordinals, reads = excluded.reads, delivereds = excluded.delivereds,
            packed = excluded.packed;
    END IF;
END
$$;

-- Removes some of what will not be asked for any more, returns how many rows, to be called again while that is not 0: entries of users' logs (and of
-- change_rest) older than `keep`; and of conversations deleted for all before that everything but the ids, which stay taken.
CREATE OR REPLACE FUNCTION conversations.sweep(keep interval, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    before timestamptz := now() - greatest(keep, interval '48 hours');
    gone uuid;
    removed bigint;
    total bigint := 0;
BEGIN
    DELETE FROM conversations.user_change u WHERE (u.app_id, u.user_id, u.position) IN (
        SELECT x.app_id, x.user_id, x.position FROM conversations.user_change x WHERE x.created_at < before LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS total = ROW_COUNT;
    DELETE FROM conversations.change_rest r WHERE r.ctid IN (
        SELECT x.ctid FROM conversations.change_rest x WHERE x.created_at < before LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS removed = ROW_COUNT;
    total := total + removed;
    IF total > 0 THEN
        UPDATE conversations.log_begin b SET at = before WHERE b.at < before;
    END IF;

    SELECT c.id INTO gone FROM conversations.conversation c WHERE c.deleted_at < before LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN total; END IF;
    DELETE FROM conversations.message m WHERE m.conversation_id = gone AND m.ordinal IN (
        SELECT x.ordinal FROM conversations.message x WHERE x.conversation_id = gone LIMIT p_limit);
    GET DIAGNOSTICS removed = ROW_COUNT;
    total := total + removed;
    IF removed < p_limit THEN
        PERFORM conversations.unrefer_contents(gone);
        PERFORM conversations.keep_follows(gone);
        DELETE FROM conversations.user_conversation u USING conversations.participant p
        WHERE p.conversation_id = gone AND u.app_id = p.app_id AND u.user_id = p.user_id AND u.conversation_id = gone;
        DELETE FROM conversations.participant p WHERE p.conversation_id = gone;
        DELETE FROM conversations.receipt_block b WHERE b.conversation_id = gone;
        DELETE FROM conversations.kept_receipts k WHERE k.conversation_id = gone;
        DELETE FROM conversations.kept_parts k WHERE k.conversation_id = gone;
        DELETE FROM conversations.roster r WHERE r.conversation_id = gone;
        -- Its row stays, so that its id stays taken, but is not looked for again.
        UPDATE conversations.conversation c SET deleted_at = NULL WHERE c.id = gone;
        total := total + 1;
    END IF;
    RETURN total;
END
$$;

-- What a user who left goes on seeing, where it has too many ranges: blocks that held at the position of their leaving.
INSERT INTO conversations.receipt_block (conversation_id, block, user_id, since_position, until_position, read, delivered)
SELECT k.conversation_id, b.block, u.id, p.left_position, p.left_position + 1, b.read, b.delivered
FROM conversations.kept_receipts k
JOIN conversations.participant p ON p.conversation_id = k.conversation_id AND p.user_id = k.user_id AND p.left_position IS NOT NULL
CROSS JOIN LATERAL unnest(k.users, k.reads, k.delivereds) u(id, read, delivered)
CROSS JOIN LATERAL (SELECT (SELECT count(*) FROM unnest(u.read)) > conversations.range_limit() AS read,
    (SELECT count(*) FROM unnest(u.delivered)) > conversations.range_limit() AS delivered) m
CROSS JOIN LATERAL conversations.blocks_of(
    CASE WHEN m.read THEN u.read ELSE '{}' END, CASE WHEN m.delivered THEN u.delivered ELSE '{}' END, '{}') b
WHERE m.read OR m.delivered
ON CONFLICT DO NOTHING;

UPDATE conversations.kept_receipts k SET reads = s.reads, delivereds = s.delivereds, packed = s.packed
FROM (
    SELECT x.conversation_id, x.user_id,
        array_agg(CASE WHEN m.read THEN '{}' ELSE u.read END ORDER BY u.n) AS reads,
        array_agg(CASE WHEN m.delivered THEN '{}' ELSE u.delivered END ORDER BY u.n) AS delivereds,
        array_agg(
            greatest(0, CASE WHEN m.read THEN upper(u.read) - 1 END, CASE WHEN m.delivered THEN upper(u.delivered) - 1 END) ORDER BY u.n) AS packed
    FROM conversations.kept_receipts x
    CROSS JOIN LATERAL unnest(x.reads, x.delivereds) WITH ORDINALITY u(read, delivered, n)
    CROSS JOIN LATERAL (SELECT (SELECT count(*) FROM unnest(u.read)) > conversations.range_limit() AS read,
        (SELECT count(*) FROM unnest(u.delivered)) > conversations.range_limit() AS delivered) m
    GROUP BY x.conversation_id, x.user_id HAVING bool_or(m.read OR m.delivered)) s
WHERE k.conversation_id = s.conversation_id AND k.user_id = s.user_id;

-- Participants with too many ranges.
DO $$
DECLARE
    long record;
    p conversations.participant;
BEGIN
    FOR long IN
        SELECT x AS participant, c.position + 1 AS next_position
        FROM conversations.participant x JOIN conversations.conversation c ON c.id = x.conversation_id
        WHERE greatest((SELECT count(*) FROM unnest(x.read)), (SELECT count(*) FROM unnest(x.delivered)), (SELECT count(*) FROM unnest(x.hidden)))
            > conversations.range_limit()
    LOOP
        p := long.participant;
        -- As stored it may be compressed, and has_many_ranges would take it for a short one.
        p.read := p.read + '{}';
        p.delivered := p.delivered + '{}';
        p.hidden := p.hidden + '{}';
        p := conversations.packed(p, long.next_position);
        UPDATE conversations.participant x SET read = p.read, delivered = p.delivered, hidden = p.hidden, packed_up_to = p.packed_up_to
        WHERE x.conversation_id = p.conversation_id AND x.user_id = p.user_id;
    END LOOP;
END
$$;

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.receipt_block TO strata_conversations;
REVOKE ALL ON FUNCTION
    conversations.range_limit, conversations.has_many_ranges, conversations.surplus_ranges, conversations.block_bits, conversations.blocks_of,
    conversations.packed, conversations.block_at, conversations.has_read, conversations.may_see_by_ranges, conversations.visible_ordinals,
    conversations.joined_ranges, conversations.unread_up_to
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    conversations.range_limit, conversations.has_many_ranges, conversations.surplus_ranges, conversations.block_bits, conversations.blocks_of,
    conversations.packed, conversations.block_at, conversations.has_read, conversations.may_see_by_ranges, conversations.visible_ordinals,
    conversations.joined_ranges, conversations.unread_up_to
TO strata_conversations;
