-- SPDX-License-Identifier: Apache-2.0
-- Who is added, or added again, has read everything that was there: in their own counts and statuses, and in the statuses others see.
--
-- Adding people counts no messages: a conversation's row says how many of its messages were deleted for all, and a former participant's row how many of
-- those that they could have seen.

ALTER TABLE conversations.conversation ADD COLUMN deleted_count bigint NOT NULL DEFAULT 0;
-- Of a former participant: messages deleted for all, of those up to where they left.
ALTER TABLE conversations.participant ADD COLUMN left_deleted bigint NOT NULL DEFAULT 0;

UPDATE conversations.conversation c SET deleted_count = c.message_count - s.messages
FROM (
    SELECT x.id, (SELECT count(*) FROM conversations.message m WHERE m.conversation_id = x.id) AS messages
    FROM conversations.conversation x WHERE x.message_count > 0 AND x.deleted_position IS NULL) s
WHERE c.id = s.id AND c.message_count > s.messages;

UPDATE conversations.participant p SET left_deleted = p.left_ordinal - s.messages
FROM (
    SELECT x.conversation_id, x.user_id, (
        SELECT count(*) FROM conversations.message m WHERE m.conversation_id = x.conversation_id AND m.ordinal <= x.left_ordinal) AS messages
    FROM conversations.participant x JOIN conversations.conversation c ON c.id = x.conversation_id
    WHERE x.left_ordinal > 0 AND c.deleted_count > 0) s
WHERE p.conversation_id = s.conversation_id AND p.user_id = s.user_id AND p.left_ordinal > s.messages;

-- Those who were added again before now: what had been sent until then is read.
DO $$
DECLARE
    again record;
    p conversations.participant;
    last_read bigint;
BEGIN
    FOR again IN
        SELECT x AS participant, c.message_count
        FROM conversations.participant x JOIN conversations.conversation c ON c.id = x.conversation_id
        WHERE x.joined > x.first_joined AND x.left_position IS NULL AND c.deleted_position IS NULL AND c.message_count > 0
    LOOP
        p := again.participant;
        last_read := conversations.ordinal_at(p.conversation_id, p.joined, again.message_count);
        CONTINUE WHEN last_read = 0;
        UPDATE conversations.participant x
        SET read = x.read + int8multirange(int8range(1, last_read, '[]')), uncounted = x.uncounted + (conversations.unread_up_to(p, last_read)).count
        WHERE x.conversation_id = p.conversation_id AND x.user_id = p.user_id;
    END LOOP;
END
$$;

-- Puts participants into a conversation, all of whose messages so far count as read for them, whether they were there before or not. What they had hidden
-- stays hidden.
CREATE OR REPLACE FUNCTION conversations.let_in(c conversations.conversation, p_users text[], p_position bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    everything int8multirange := CASE WHEN c.message_count > 0 THEN int8multirange(int8range(1, c.message_count, '[]')) ELSE '{}' END;
BEGIN
    INSERT INTO conversations.participant AS p (
        conversation_id, user_id, app_id, first_joined, joined, read, uncounted, hidden_count)
    SELECT c.id, u.id, c.app_id, p_position, p_position, everything, c.message_count, c.deleted_count
    FROM unnest(p_users) u(id)
    ON CONFLICT (conversation_id, user_id) DO UPDATE SET
        joined = p_position,
        left_position = NULL,
        left_ordinal = NULL,
        left_deleted = 0,
        is_hidden = false,
        read = everything,
        -- Where reading is not shown, that it was delivered still is.
        delivered = CASE WHEN c.receipt_policy & 2 = 0 THEN '{}' ELSE p.delivered END,
        uncounted = c.message_count,
        -- Deletions for all among the messages they missed; those before were counted when they happened.
        hidden_count = p.hidden_count + c.deleted_count - p.left_deleted;
    INSERT INTO conversations.user_conversation (app_id, user_id, conversation_id, created_at)
    SELECT c.app_id, u.id, c.id, c.created_at FROM unnest(p_users) u(id)
    ON CONFLICT DO NOTHING;
    PERFORM conversations.follow_again(c, p_users);
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
        UPDATE conversations.participant p
        SET left_position = change_roster.position, left_ordinal = c.message_count, left_deleted = c.deleted_count
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
        c.last_ordinal := newest;
    END IF;
    UPDATE conversations.conversation x SET last_ordinal = newest, deleted_count = x.deleted_count + 1 WHERE x.id = c.id;
    -- Also of those who had hidden it.
    UPDATE conversations.participant x SET left_deleted = x.left_deleted + 1 WHERE x.conversation_id = c.id AND x.left_ordinal >= p_ordinal;

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

-- What a change of receipts says, told after other changes. A message that is told of before it has the status of now: read, for a recipient who received it and
-- was added again later. Their receipt must not take that back, and no change behind it would say it again. `p` is who is told; NULL: everybody.
CREATE FUNCTION conversations.receipts_as_told(h conversations.change, c conversations.conversation, p conversations.participant) RETURNS jsonb
LANGUAGE sql STABLE AS $$
    SELECT jsonb_agg(
        CASE WHEN (o.receipt ->> 'status')::bigint = 1
                AND (c.receipt_policy & 2 = 0 OR o.receipt ->> 'user' = p.user_id)
                AND EXISTS (
                    SELECT FROM conversations.participant x
                    WHERE x.conversation_id = h.conversation_id AND x.user_id = o.receipt ->> 'user' AND x.joined > h.position
                        AND (p.left_position IS NULL OR x.joined <= p.left_position))
            THEN o.receipt || '{"status": 2}' ELSE o.receipt END
        ORDER BY o.n)
    FROM jsonb_array_elements(h.operations) WITH ORDINALITY o(receipt, n)
$$;

-- A change as this user may know of it: where nothing is left to tell, or nothing that they may see, a skipped one. That they left is told even if all was
-- deleted later; and participants and metadata concern them too before they deleted the messages from their devices, for the conversation may have come back.
CREATE OR REPLACE FUNCTION conversations.change_for(h conversations.change, c conversations.conversation, p conversations.participant)
RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row := conversations.change_entry(h, c);
    skipped boolean := c.deleted_position IS NOT NULL AND h.kind <> 4 AND NOT (h.kind = 2 AND h.position IS NOT DISTINCT FROM p.left_position)
        OR h.position <= p.hidden_up_to AND h.kind NOT IN (2, 3)
        OR h.kind IN (5, 6, 9) AND NOT conversations.may_see(p, h.ordinal);
BEGIN
    IF NOT skipped AND h.kind IN (5, 9) THEN
        entry := conversations.with_message(entry, conversations.message_for(p, h.ordinal));
        skipped := NOT entry.m_present;
    ELSIF NOT skipped AND h.kind = 6 THEN
        entry := conversations.with_message(entry, conversations.message_for(p, conversations.last_visible(c, p)));
    ELSIF NOT skipped AND h.kind = 7 THEN
        entry.operations := conversations.receipts_as_told(h, c, p);
    END IF;
    IF skipped THEN
        entry := NULL;
        entry.entry := 4;
        entry.conversation_id := h.conversation_id;
        entry.position := h.position;
        entry.created_at := h.created_at;
    ELSIF p.left_position IS NOT NULL AND h.kind IN (1, 2) AND c.deleted_position IS NULL THEN
        entry.participants := '{}';
        entry.conversation_position := p.left_position;
    END IF;
    RETURN entry;
END
$$;

REVOKE ALL ON FUNCTION conversations.receipts_as_told FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.receipts_as_told TO strata_conversations;
