-- SPDX-License-Identifier: Apache-2.0
-- Participants: joining and leaving.

-- Returns the period in which additions are counted.
CREATE OR REPLACE FUNCTION conversations.addition_period() RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN interval '1 hour';

-- Applies the app's rules to a user who is about to add others to a conversation, and counts each addition. Outcomes;
-- only 'ok' counts:
--   'ok'
--   'server_only'   Only the app's own server adds users.
--   'not_followed'  One of the others does not follow the actor.
--   'too_often'     The actor is a stranger to one of the others, and has added that user as often as the app
--                   allows within an hour.
--
-- A stranger is a user whom the other user does not explicitly follow. Having met does not count, because a stranger
-- can bring that about.
--
-- The counts are locked in the order of the users, until the transaction ends.
CREATE OR REPLACE FUNCTION conversations.admit_additions(p_app uuid, p_actor text, p_users text[]) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    others text[] := array_remove(conversations.sorted_users(p_users), p_actor);
    period CONSTANT interval := conversations.addition_period();
    rule record;
    counted text[];
    counted_user text;
BEGIN
    IF others = '{}' THEN RETURN 'ok'; END IF;
    SELECT a.added_by, a.stranger_additions AS most INTO rule FROM conversations.app a WHERE a.id = p_app;
    IF NOT FOUND THEN RETURN 'ok'; END IF;
    IF rule.added_by = 'server' THEN RETURN 'server_only'; END IF;
    IF rule.added_by = 'followed' AND cardinality(conversations.followers_among(p_app, p_actor, others)) < cardinality(
        others)
    THEN
        RETURN 'not_followed';
    END IF;

    -- A time far in the future was written before the clock was set back.
    WITH counted AS (
        INSERT INTO conversations.addition AS a (app_id, user_id, added_by, since, number)
        SELECT p_app, u.id, p_actor, clock_timestamp(), 1 FROM unnest(others) WITH ORDINALITY u(id, n)
        WHERE rule.most > 0 ORDER BY u.n
        ON CONFLICT (app_id, user_id, added_by) DO UPDATE SET
            since = CASE WHEN a.since BETWEEN excluded.since - period AND excluded.since + period THEN a.since
                ELSE excluded.since END,
            number = CASE WHEN a.since BETWEEN excluded.since - period AND excluded.since + period THEN a.number + 1
                ELSE 1 END
        WHERE a.number < rule.most OR a.since NOT BETWEEN excluded.since - period AND excluded.since + period
        RETURNING a.user_id
    )
    SELECT coalesce(array_agg(c.user_id::text), '{}') INTO counted FROM counted c;
    IF cardinality(counted) = cardinality(others) OR NOT EXISTS (
        SELECT FROM unnest(others) u(id) WHERE u.id <> ALL (counted) AND (
            SELECT f.is_followed AND NOT f.is_met FROM conversations.follow f
            WHERE f.app_id = p_app AND f.user_id = u.id AND f.followed = p_actor) IS NOT TRUE)
    THEN
        RETURN 'ok';
    END IF;
    FOREACH counted_user IN ARRAY counted LOOP
        UPDATE conversations.addition a SET number = a.number - 1
        WHERE a.app_id = p_app AND a.user_id = counted_user AND a.added_by = p_actor;
    END LOOP;
    RETURN 'too_often';
END
$$;

-- Deletes counts whose hour is over. Returns the number of rows; call again while it is not 0.
CREATE OR REPLACE FUNCTION conversations.sweep_additions(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET strata.sweeping = 'on' AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM conversations.addition a WHERE a.ctid IN (
        SELECT x.ctid FROM conversations.addition x
        WHERE x.since < now() - conversations.addition_period() ORDER BY x.since LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- Adds participants to a conversation, new ones and former ones. All present messages count as read for them. Messages
-- that they had hidden stay hidden.
CREATE OR REPLACE FUNCTION conversations.let_in(c conversations.conversation, p_users text[], p_position bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    everything int8multirange := CASE WHEN c.message_count > 0 THEN int8multirange(int8range(1, c.message_count, '[]'))
        ELSE '{}' END;
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
        -- If read receipts are private, the delivery is still shown.
        delivered = CASE WHEN c.receipt_policy & 2 = 0 THEN '{}' ELSE p.delivered END,
        uncounted = c.message_count,
        -- Count the deletions for all among the missed messages. Earlier ones were counted when they happened.
        hidden_count = p.hidden_count + c.deleted_count - p.left_deleted;
    INSERT INTO conversations.user_conversation (app_id, user_id, conversation_id, created_at)
    SELECT c.app_id, u.id, c.id, c.created_at FROM unnest(p_users) u(id)
    ON CONFLICT DO NOTHING;
    PERFORM conversations.follow_again(c, p_users);
END
$$;

-- Applies a change of participants that has been decided: one position, one entry in the log. `c` and `p_before` are
-- the former state, under the lock. `p_added` and `p_removed` are sorted, and not both empty.
CREATE OR REPLACE FUNCTION conversations.change_roster(
    c conversations.conversation, p_before text[], p_added text[], p_removed text[], p_actor text,
    p_origin_connection bigint, p_origin_request bigint,
    OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT participants text[],
    OUT distinct_cleared boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    leaver text;
    kept_from text[];
BEGIN
    distinct_cleared := c.is_distinct;
    participants := conversations.sorted_users(ARRAY(SELECT unnest(p_before || p_added)
        EXCEPT SELECT unnest(p_removed)));

    SELECT a.position, a.created_at, a.message_count
    INTO change_roster.position, change_roster.created_at, change_roster.message_count
    FROM conversations.append_change(
        c.id, conversations.kind_participants(), p_actor, p_origin_connection, p_origin_request, NULL::uuid,
        NULL::bigint,
        jsonb_build_object('added', p_added, 'removed', p_removed, 'distinct_cleared', c.is_distinct)) a;

    UPDATE conversations.roster r SET user_ids = change_roster.participants WHERE r.conversation_id = c.id;
    IF c.is_distinct THEN
        UPDATE conversations.conversation x SET is_distinct = false WHERE x.id = c.id;
        PERFORM conversations.free_set(c, p_before);
    END IF;
    IF cardinality(p_added) > 0 THEN
        kept_from := conversations.kept_from(c, p_added, p_actor);
        PERFORM conversations.let_in(c, p_added, change_roster.position);
        IF kept_from <> '{}' THEN PERFORM conversations.keep_from(c, kept_from, change_roster.position); END IF;
        -- Called for all added users, because it does nothing for those who never left.
        PERFORM metadata.forget_kept_tree(c.id, u.id) FROM unnest(p_added) u(id);
        IF c.is_indexed THEN PERFORM metadata.index_users(c.id, p_added); END IF;
        DELETE FROM conversations.kept_receipts k WHERE k.conversation_id = c.id AND k.user_id = ANY (p_added);
    END IF;
    IF cardinality(p_removed) > 0 THEN
        UPDATE conversations.participant p
        SET left_position = change_roster.position, left_ordinal = c.message_count, left_deleted = c.deleted_count
        WHERE p.conversation_id = c.id AND p.user_id = ANY (p_removed);
        FOREACH leaver IN ARRAY p_removed LOOP
            PERFORM metadata.keep_tree(c.id, leaver);
        END LOOP;
        INSERT INTO conversations.kept_receipts AS k (
            conversation_id, user_id, users, left_ordinals, reads, delivereds, packed)
        SELECT c.id, l.id, s.users, s.left_ordinals, s.reads, s.delivereds, s.packed
        FROM unnest(p_removed) l(id)
        CROSS JOIN (
            SELECT array_agg(p.user_id) AS users, array_agg(p.left_ordinal) AS left_ordinals,
                array_agg(p.read) AS reads,
                array_agg(p.delivered) AS delivereds, array_agg(p.packed_up_to) AS packed
            FROM conversations.participant p WHERE p.conversation_id = c.id) s
        ON CONFLICT (conversation_id, user_id) DO UPDATE
        SET users = excluded.users, left_ordinals = excluded.left_ordinals, reads = excluded.reads,
            delivereds = excluded.delivereds,
            packed = excluded.packed;
    END IF;
END
$$;

-- Applies [{"kind":"add"|"remove"|"set","users":["a",…]},…] in order to a set of users, and returns it sorted. Services
-- combine the operations first, so there are at most two.
CREATE OR REPLACE FUNCTION conversations.patched_users(p_before text[], p_operations jsonb) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    users text[] := p_before;
    operation jsonb;
    named text[];
BEGIN
    FOR operation IN SELECT o.v FROM jsonb_array_elements(p_operations) o(v) LOOP
        named := ARRAY(SELECT jsonb_array_elements_text(operation -> 'users'));
        CASE operation ->> 'kind'
            WHEN 'add' THEN users := users || named;
            WHEN 'remove' THEN users := ARRAY(SELECT unnest(users) EXCEPT SELECT unnest(named));
            WHEN 'set' THEN users := named;
        END CASE;
    END LOOP;
    RETURN conversations.sorted_users(users);
END
$$;

-- Returns the counts of these participants, in the order of their ids.
CREATE OR REPLACE FUNCTION conversations.counts_of(
    p_conversation uuid, p_users text[], OUT users text[], OUT uncounted bigint[], OUT hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT coalesce(array_agg(p.user_id ORDER BY p.user_id), '{}'),
        coalesce(array_agg(p.uncounted ORDER BY p.user_id), '{}'),
        coalesce(array_agg(p.hidden_count ORDER BY p.user_id), '{}')
    INTO counts_of.users, counts_of.uncounted, counts_of.hidden
    FROM conversations.participant p WHERE p.conversation_id = p_conversation AND p.user_id = ANY (p_users);
END
$$;

-- Applies a client's patch of participants and metadata atomically. Each part that has an effect is a separate change.
-- Columns are NULL for a part that changed nothing; counts are those of added users.
--
-- Outcomes:
-- - 'ok', 'none', 'not_found', 'access_denied', 'too_many'.
-- - 'too_many_keys', 'too_large': `p_max_keys` and `p_max_bytes` work as in metadata.patch.
-- - those of admit_additions: `p_is_limited` works as in create_conversation.
-- - 'deleted': only for the app's own server (no actor).
-- - 'none_left': the patch of the app's own server would remove all participants.
CREATE OR REPLACE FUNCTION conversations.patch_participants(
    p_app uuid, p_actor text, p_conversation uuid, p_operations jsonb, p_limit bigint, p_metadata jsonb,
    p_origin_connection bigint, p_origin_request bigint, p_max_keys bigint DEFAULT NULL,
    p_max_bytes bigint DEFAULT NULL, p_is_limited boolean DEFAULT false,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT added text[],
    OUT removed text[], OUT distinct_cleared boolean, OUT participants text[], OUT conversation_created_at timestamptz,
    OUT receipt_policy bigint, OUT metadata_position bigint, OUT metadata_created_at timestamptz, OUT effects jsonb,
    OUT number_users text[], OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c conversations.conversation;
    before text[];
BEGIN
    SELECT b.outcome INTO outcome FROM conversations.begin_change(p_app, p_conversation, p_actor) b;
    IF outcome <> 'ok' THEN RETURN; END IF;
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    SELECT r.user_ids INTO before FROM conversations.roster r WHERE r.conversation_id = p_conversation;

    participants := conversations.patched_users(before, p_operations);
    added := conversations.sorted_users(ARRAY(SELECT unnest(participants) EXCEPT SELECT unnest(before)));
    removed := conversations.sorted_users(ARRAY(SELECT unnest(before) EXCEPT SELECT unnest(participants)));
    outcome := CASE
        WHEN cardinality(added) > 0 AND cardinality(participants) > p_limit THEN 'too_many'
        WHEN p_actor IS NULL AND cardinality(removed) > 0 AND cardinality(participants) = 0 THEN 'none_left'
        ELSE 'ok' END;
    IF outcome <> 'ok' THEN RETURN; END IF;
    IF p_metadata IS NOT NULL THEN
        outcome := coalesce(metadata.outgrown(p_conversation, p_metadata, p_max_keys, p_max_bytes), 'ok');
        IF outcome <> 'ok' THEN RETURN; END IF;
    END IF;
    IF p_is_limited AND cardinality(added) > 0 THEN
        outcome := conversations.admit_additions(p_app, p_actor, added);
        IF outcome <> 'ok' THEN RETURN; END IF;
    END IF;
    SELECT c.created_at, c.receipt_policy, c.message_count, false
    INTO conversation_created_at, receipt_policy, message_count, distinct_cleared;

    IF cardinality(added) + cardinality(removed) > 0 THEN
        SELECT t.position, t.created_at, t.distinct_cleared
        INTO "position", created_at, distinct_cleared
        FROM conversations.change_roster(c, before, added, removed, p_actor, p_origin_connection, p_origin_request) t;
        SELECT n.* INTO number_users, number_uncounted, number_hidden
        FROM conversations.counts_of(p_conversation, added) n;
    END IF;

    IF p_metadata IS NOT NULL THEN
        SELECT a.effects INTO effects
        FROM metadata.apply(
            p_conversation, p_metadata, coalesce("position", c.position) + 1, c.is_indexed, NULL, NULL, false) a;
        IF effects IS NOT NULL THEN
            SELECT a.position, a.created_at INTO metadata_position, metadata_created_at
            FROM conversations.append_change(
                p_conversation, conversations.kind_metadata(), p_actor, p_origin_connection, p_origin_request, NULL,
                NULL, jsonb_build_object('effects', patch_participants.effects)) a;
        END IF;
    END IF;
    IF patch_participants.position IS NULL AND metadata_position IS NULL THEN outcome := 'none'; END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.addition_period, conversations.admit_additions, conversations.sweep_additions, conversations.let_in,
    conversations.change_roster, conversations.patched_users, conversations.counts_of,
    conversations.patch_participants TO strata_conversations;
