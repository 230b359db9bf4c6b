-- SPDX-License-Identifier: Apache-2.0
-- Deletions of a conversation: from the own devices also up to a position, and for all with a word to former participants.

-- How many messages with ordinals above `p_low`, up to `p_high`, this participant sees, and how many of these they have not read.
CREATE FUNCTION conversations.seen_between(p conversations.participant, p_low bigint, p_high bigint, OUT seen bigint, OUT unread bigint)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT coalesce(sum(s.seen), 0), coalesce(sum(s.unread), 0) INTO seen_between.seen, seen_between.unread
    FROM unnest(int8multirange(int8range(least(p_low, p_high) + 1, p_high + 1)) - p.hidden) g(gap)
    -- OFFSET 0 keeps each a range of one index, and one look at the user's receipts.
    CROSS JOIN LATERAL (
        SELECT count(*) AS seen, count(*) FILTER (WHERE m.sender <> p.user_id AND NOT p.read @> m.ordinal AND b.has_read IS NOT TRUE) AS unread
        FROM conversations.message m
        LEFT JOIN LATERAL (
            SELECT get_bit(k.read, (m.ordinal % 1024)::int) = 1 AS has_read, get_bit(k.hidden, (m.ordinal % 1024)::int) = 1 AS is_hidden
            FROM conversations.receipt_block k
            WHERE m.ordinal <= p.packed_up_to AND k.conversation_id = p.conversation_id AND k.block = m.ordinal / 1024 AND k.user_id = p.user_id
                AND k.until_position = 9223372036854775807
            OFFSET 0) b ON true
        WHERE m.conversation_id = p.conversation_id AND m.ordinal >= lower(g.gap) AND m.ordinal < upper(g.gap) AND b.is_hidden IS NOT TRUE
        OFFSET 0) s;
END
$$;

-- Deletion for all, or from the caller's devices. Outcomes: 'ok', 'not_found' (also what the user does not see), 'access_denied' to a former participant
-- who wants to delete for all.
--
-- From the devices, with `p_up_to`: only what came up to this position. The conversation stays on the list (`is_partial`) if the user sees newer messages or
-- was added later; otherwise everything goes. A position at or before one up to which everything is hidden already, and one before all that the user sees, have
-- no effect, and then there is no `user_position`.
--
-- For all: former participants who see the conversation get an entry of kind 21 in their logs. `former_…` says who, and where their logs have come to, with
-- times in microseconds since 1970.
CREATE FUNCTION conversations.delete_conversation(
    p_app uuid, p_actor text, p_conversation uuid, p_mode text, p_leave boolean, p_oc bigint, p_or bigint, p_up_to bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT user_position bigint,
    OUT user_created_at timestamptz, OUT up_to bigint, OUT distinct_cleared boolean, OUT participants text[], OUT uncounted bigint, OUT hidden bigint,
    OUT is_partial boolean, OUT former_users text[], OUT former_positions bigint[], OUT former_times bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c conversations.conversation;
    p conversations.participant;
    leaves boolean;
    former text[];
    cut bigint;
    seen bigint;
    newer bigint;
    -- Whether there is more of what goes than of what stays: the lesser part is what is counted.
    is_long boolean;
    counted record;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    IF c.id IS NULL OR p.user_id IS NULL OR c.deleted_position IS NOT NULL THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    SELECT r.user_ids INTO participants FROM conversations.roster r WHERE r.conversation_id = p_conversation;

    IF p_mode = 'all_participants' THEN
        IF p.left_position IS NOT NULL THEN
            outcome := CASE WHEN conversations.is_visible(c, p) THEN 'access_denied' ELSE 'not_found' END;
            participants := NULL;
            RETURN;
        END IF;
        former := ARRAY(
            SELECT x.user_id::text FROM conversations.participant x
            WHERE x.conversation_id = p_conversation AND x.left_position IS NOT NULL AND conversations.is_visible(c, x));
        SELECT a.position, a.created_at, a.message_count
        INTO delete_conversation.position, delete_conversation.created_at, delete_conversation.message_count
        FROM conversations.append_change(p_conversation, 4::smallint, p_actor, p_oc, p_or, NULL::uuid, NULL::bigint, NULL::jsonb) a;
        UPDATE conversations.conversation x
        SET deleted_position = delete_conversation.position, deleted_at = delete_conversation.created_at, is_distinct = false
        WHERE x.id = p_conversation;
        IF c.is_distinct THEN PERFORM conversations.free_set(c, participants); END IF;
        PERFORM metadata.drop_tree(p_conversation);
        IF former <> '{}' THEN
            SELECT array_agg(a.user_id), array_agg(a.position), array_agg(a.created_at) INTO former_users, former_positions, former_times
            FROM conversations.append_user_changes(p_app, former, 21::smallint, jsonb_build_object('conversation_id', p_conversation)) a;
        END IF;
        outcome := 'ok';
        RETURN;
    END IF;

    leaves := p_leave AND p.left_position IS NULL;
    IF NOT leaves AND NOT conversations.is_visible(c, p) THEN
        outcome := 'not_found';
        participants := NULL;
        RETURN;
    END IF;
    outcome := 'ok';
    distinct_cleared := false;
    is_partial := false;
    IF leaves THEN
        SELECT t.position, t.created_at, t.participants, t.distinct_cleared
        INTO delete_conversation.position, delete_conversation.created_at, delete_conversation.participants, delete_conversation.distinct_cleared
        FROM conversations.change_roster(c, participants, '{}', ARRAY[p_actor], p_actor, p_oc, p_or) t;
    END IF;
    message_count := coalesce(p.left_ordinal, c.message_count);
    IF NOT conversations.is_visible(c, p) THEN
        uncounted := message_count;
        hidden := message_count;
        RETURN;
    END IF;

    IF p_up_to < coalesce(p.left_position, c.position) THEN
        uncounted := p.uncounted;
        hidden := p.hidden_count;
        IF p_up_to <= p.hidden_up_to THEN RETURN; END IF;
        cut := greatest(conversations.ordinal_at(p_conversation, p_up_to, message_count), p.hidden_ordinal);
        is_long := cut - p.hidden_ordinal > message_count - cut;
        SELECT * INTO counted FROM conversations.seen_between(
            p, CASE WHEN is_long THEN cut ELSE p.hidden_ordinal END, CASE WHEN is_long THEN message_count ELSE cut END);
        seen := message_count - p.hidden_count;
        newer := CASE WHEN is_long THEN counted.seen ELSE seen - counted.seen END;
        is_partial := newer > 0 OR p_up_to < p.joined;
        IF is_partial AND newer = seen THEN
            is_partial := false;
            RETURN;
        END IF;
    END IF;

    IF is_partial THEN
        up_to := p_up_to;
        uncounted := CASE WHEN is_long THEN message_count - counted.unread ELSE p.uncounted + counted.unread END;
        hidden := message_count - newer;
        UPDATE conversations.participant x
        SET hidden_up_to = p_up_to, hidden_ordinal = cut, hidden = p.hidden - int8multirange(int8range(0, cut, '[]')),
            uncounted = delete_conversation.uncounted, hidden_count = delete_conversation.hidden
        WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    ELSE
        up_to := coalesce(p.left_position, delete_conversation.position, c.position);
        uncounted := message_count;
        hidden := message_count;
        UPDATE conversations.participant x
        SET hidden_up_to = delete_conversation.up_to, hidden_ordinal = delete_conversation.message_count, is_hidden = true, hidden = '{}',
            uncounted = delete_conversation.message_count, hidden_count = delete_conversation.message_count
        WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    END IF;
    SELECT a.position, a.created_at INTO user_position, user_created_at
    FROM conversations.append_user_change(
        p_app, p_actor, 1::smallint,
        jsonb_build_object('conversation_id', p_conversation, 'up_to', delete_conversation.up_to)
            || CASE WHEN is_partial THEN '{"is_partial": true}' ELSE '{}' END::jsonb) a;
END
$$;

-- For services of before.
CREATE OR REPLACE FUNCTION conversations.delete_conversation(
    p_app uuid, p_actor text, p_conversation uuid, p_mode text, p_leave boolean, p_oc bigint, p_or bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT user_position bigint,
    OUT user_created_at timestamptz, OUT up_to bigint, OUT distinct_cleared boolean, OUT participants text[], OUT uncounted bigint, OUT hidden bigint)
LANGUAGE sql VOLATILE AS $$
    SELECT r.outcome, r.position, r.created_at, r.message_count, r.user_position, r.user_created_at, r.up_to, r.distinct_cleared, r.participants,
        r.uncounted, r.hidden
    FROM conversations.delete_conversation(p_app, p_actor, p_conversation, p_mode, p_leave, p_oc, p_or, NULL) r
$$;

-- A change as this user may know of it: where nothing is left to tell, or nothing that they may see, a skipped one. That they left is told even if all was
-- deleted later; and the creation, participants and metadata concern them too before they deleted the messages from their devices, for the conversation may have come back.
CREATE OR REPLACE FUNCTION conversations.change_for(h conversations.change, c conversations.conversation, p conversations.participant)
RETURNS conversations.log_row
LANGUAGE plpgsql STABLE AS $$
DECLARE
    entry conversations.log_row := conversations.change_entry(h, c);
    skipped boolean := c.deleted_position IS NOT NULL AND h.kind <> 4 AND NOT (h.kind = 2 AND h.position IS NOT DISTINCT FROM p.left_position)
        OR h.position <= p.hidden_up_to AND h.kind NOT IN (1, 2, 3)
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

REVOKE ALL ON FUNCTION
    conversations.seen_between(conversations.participant, bigint, bigint),
    conversations.delete_conversation(uuid, text, uuid, text, boolean, bigint, bigint, bigint)
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    conversations.seen_between(conversations.participant, bigint, bigint),
    conversations.delete_conversation(uuid, text, uuid, text, boolean, bigint, bigint, bigint)
TO strata_conversations;
