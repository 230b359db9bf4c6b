-- SPDX-License-Identifier: Apache-2.0
-- Conversations: creation, lookup of distinct ones, deletion.

-- Returns the key of a set of participants in distinct_set. User ids contain no control characters, so the separator is
-- unambiguous.
CREATE OR REPLACE FUNCTION conversations.distinct_digest(p_users text[]) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN sha256(convert_to(array_to_string(p_users, chr(10)), 'UTF8'));

-- Returns distinct users, sorted in the C collation.
CREATE OR REPLACE FUNCTION conversations.sorted_users(p_users text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(array_agg(u.id ORDER BY u.id), '{}')
    FROM (SELECT DISTINCT x.id COLLATE "C" AS id FROM unnest(p_users) x(id)) u);

-- Removes the key in distinct_set of a conversation that is no longer distinct.
CREATE OR REPLACE FUNCTION conversations.free_set(c conversations.conversation, p_participants text[]) RETURNS void
LANGUAGE sql VOLATILE AS $$
    DELETE FROM conversations.distinct_set d
    WHERE d.app_id = c.app_id AND d.digest = conversations.distinct_digest(p_participants) AND d.conversation_id = c.id
$$;

-- Creates a conversation, or finds the distinct one of its participants. The actor takes part. Without an actor, the
-- app's own server creates it for the participants.
--
-- Outcomes; only 'created' has a position, the first:
-- - 'created'.
-- - 'found', 'conflict': the distinct conversation exists, with equal or with other metadata.
-- - 'id_in_use': with a view if the caller may see the conversation. It takes precedence over all other outcomes.
-- - 'too_many', and the outcomes of admit_additions.
-- - 'busy': too many consecutive races were lost.
--
-- `p_is_limited`: true if the actor made the request; false if the app's own server made it for the actor.
CREATE OR REPLACE FUNCTION conversations.create_conversation(
    p_app uuid, p_actor text, p_id uuid, p_participants text[], p_distinct boolean, p_paths text[], p_vals text[],
    p_limit bigint, p_origin_connection bigint, p_origin_request bigint, p_receipt_policy bigint DEFAULT 0,
    p_is_limited boolean DEFAULT false,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT user_position bigint,
    OUT user_created_at timestamptz, OUT view conversations.view_row)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    users text[] := conversations.sorted_users(CASE WHEN p_actor IS NULL THEN p_participants
        ELSE p_participants || p_actor END);
    kept_from text[];
    set_digest bytea := conversations.distinct_digest(users);
    winner uuid;
    -- A further attempt must not count the additions again.
    is_admitted boolean := NOT p_is_limited;
    c conversations.conversation;
    p conversations.participant;
BEGIN
    FOR attempt IN 1..20 LOOP
        -- Check in every attempt, because a retry of this creation may have won the race.
        IF EXISTS (SELECT FROM conversations.conversation x WHERE x.id = p_id)
            OR p_actor IS NULL
            AND (EXISTS (SELECT FROM conversations.message_place x WHERE x.message_id = p_id)
                OR conversations.is_other_id(p_id))
        THEN
            outcome := 'id_in_use';
            create_conversation.view := conversations.find_view(p_app, p_actor, p_id, metadata.error_tree());
            RETURN;
        END IF;
        IF cardinality(users) > p_limit THEN
            outcome := 'too_many';
            RETURN;
        END IF;

        IF p_distinct THEN
            -- Waits for an uncommitted creation of the same set. Only the next statement sees its row.
            INSERT INTO conversations.distinct_set (app_id, digest, conversation_id) VALUES (p_app, set_digest, p_id)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                SELECT d.conversation_id INTO winner FROM conversations.distinct_set d
                WHERE d.app_id = p_app AND d.digest = set_digest;
                CONTINUE WHEN NOT FOUND;
                SELECT * INTO c FROM conversations.conversation x WHERE x.id = winner FOR UPDATE;
                -- During the wait, its participants may have changed, or it may have been deleted. Then the set is free
                -- again.
                CONTINUE WHEN NOT FOUND OR c.deleted_position IS NOT NULL OR NOT c.is_distinct OR winner = p_id;
                SELECT * INTO p FROM conversations.participant x
                WHERE x.conversation_id = winner AND x.user_id = p_actor;
                outcome := CASE WHEN p_paths IS NULL OR metadata.equals_tree(winner, p_paths, p_vals) THEN 'found'
                    ELSE 'conflict' END;
                IF p_actor IS NULL THEN
                    create_conversation.view := conversations.server_view(c, metadata.error_tree());
                    RETURN;
                END IF;
                IF NOT conversations.is_visible(c, p) THEN
                    UPDATE conversations.participant x SET is_hidden = false
                    WHERE x.conversation_id = winner AND x.user_id = p_actor;
                    p.is_hidden := false;
                    SELECT a.position, a.created_at INTO user_position, user_created_at
                    FROM conversations.append_user_change(
                        p_app, p_actor, conversations.user_kind_shown(),
                        jsonb_build_object('conversation_id', winner)) a;
                END IF;
                create_conversation.view := conversations.view_of(c, p, metadata.error_tree());
                RETURN;
            END IF;
        END IF;

        IF NOT is_admitted THEN
            outcome := conversations.admit_additions(p_app, p_actor, users);
            IF outcome <> 'ok' THEN
                IF p_distinct THEN
                    DELETE FROM conversations.distinct_set d
                    WHERE d.app_id = p_app AND d.digest = set_digest AND d.conversation_id = p_id;
                END IF;
                RETURN;
            END IF;
            is_admitted := true;
        END IF;

        INSERT INTO conversations.conversation (
            id, app_id, created_at, created_by, is_distinct, receipt_policy, last_change_at)
        SELECT p_id, p_app, t.now, coalesce(p_actor, ''), p_distinct, p_receipt_policy, t.now
        FROM clock_timestamp() t(now)
        ON CONFLICT DO NOTHING
        RETURNING * INTO c;
        IF FOUND THEN EXIT; END IF;
        -- Another transaction has taken the id in between.
        IF p_distinct THEN
            DELETE FROM conversations.distinct_set d
            WHERE d.app_id = p_app AND d.digest = set_digest AND d.conversation_id = p_id;
        END IF;
    END LOOP;
    IF c.id IS DISTINCT FROM p_id THEN
        outcome := 'busy';
        RETURN;
    END IF;

    INSERT INTO conversations.roster (conversation_id, user_ids) VALUES (p_id, users);
    PERFORM conversations.let_in(c, users, 1);
    kept_from := conversations.blocked_among(p_app, p_actor, users);
    IF kept_from <> '{}' THEN PERFORM conversations.keep_from(c, kept_from, 1); END IF;
    IF cardinality(p_paths) > 0 THEN
        PERFORM metadata.create_tree(p_id, p_paths, p_vals, 1);
        IF c.is_indexed THEN PERFORM metadata.index_users(p_id, users || ''::text); END IF;
    END IF;
    SELECT a.position, a.created_at INTO create_conversation.position, create_conversation.created_at
    FROM conversations.append_change(
        p_id, conversations.kind_created(), p_actor, p_origin_connection, p_origin_request, NULL::uuid, NULL::bigint,
        jsonb_build_object('participants', users)) a;
    outcome := 'created';
    create_conversation.view := conversations.find_view(p_app, p_actor, p_id);
END
$$;

-- Deletes a conversation for all, or from the caller's devices. Outcomes: 'ok'; 'not_found', also for a conversation
-- that the user does not see; 'access_denied' to a former participant who wants to delete for all. The app's own server
-- (no actor) may delete any conversation for all; for a deleted one, the outcome is 'deleted'.
--
-- From the devices, with `p_up_to`: deletes only messages up to this position. The conversation stays on the list
-- (`is_partial`) if the user sees newer messages or was added later; otherwise everything is hidden. A position has no
-- effect if everything up to it is already hidden, or if it precedes everything that the user sees. Then there is no
-- `user_position`.
--
-- For all: former participants who see the conversation get an entry of kind 21 in their own logs. `former_…` are these
-- users with the positions and times of their entries, in microseconds since 1970.
CREATE OR REPLACE FUNCTION conversations.delete_conversation(
    p_app uuid, p_actor text, p_conversation uuid, p_mode text, p_leave boolean, p_origin_connection bigint,
    p_origin_request bigint, p_up_to bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint,
    OUT user_position bigint, OUT user_created_at timestamptz, OUT up_to bigint, OUT distinct_cleared boolean,
    OUT participants text[], OUT uncounted bigint, OUT hidden bigint, OUT is_partial boolean, OUT former_users text[],
    OUT former_positions bigint[], OUT former_times bigint[])
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
    -- True if more messages are hidden than kept. The smaller part is counted.
    is_long boolean;
    counted record;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    IF c.id IS NULL OR c.deleted_position IS NOT NULL OR p.user_id IS NULL
        AND (p_actor IS NOT NULL OR p_mode <> 'all_participants')
    THEN
        outcome := CASE WHEN p_actor IS NULL AND c.deleted_position IS NOT NULL THEN 'deleted' ELSE 'not_found' END;
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
            WHERE x.conversation_id = p_conversation AND x.left_position IS NOT NULL
                AND conversations.is_visible(c, x));
        SELECT a.position, a.created_at, a.message_count
        INTO delete_conversation.position, delete_conversation.created_at, delete_conversation.message_count
        FROM conversations.append_change(p_conversation, conversations.kind_deleted(), p_actor, p_origin_connection,
            p_origin_request, NULL::uuid, NULL::bigint, NULL::jsonb) a;
        UPDATE conversations.conversation x
        SET deleted_position = delete_conversation.position, deleted_at = delete_conversation.created_at,
            is_distinct = false
        WHERE x.id = p_conversation;
        IF c.is_distinct THEN PERFORM conversations.free_set(c, participants); END IF;
        PERFORM metadata.drop_tree(p_conversation);
        IF former <> '{}' THEN
            SELECT array_agg(a.user_id), array_agg(a.position), array_agg(a.created_at)
            INTO former_users, former_positions, former_times
            FROM conversations.append_user_changes(
                p_app, former, conversations.user_kind_deleted(),
                jsonb_build_object('conversation_id', p_conversation)) a;
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
        INTO delete_conversation.position, delete_conversation.created_at, delete_conversation.participants,
            delete_conversation.distinct_cleared
        FROM conversations.change_roster(c, participants, '{}', ARRAY[p_actor], p_actor, p_origin_connection,
            p_origin_request) t;
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
        SET hidden_up_to = delete_conversation.up_to, hidden_ordinal = delete_conversation.message_count,
            is_hidden = true, hidden = '{}',
            uncounted = delete_conversation.message_count, hidden_count = delete_conversation.message_count
        WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    END IF;
    SELECT a.position, a.created_at INTO user_position, user_created_at
    FROM conversations.append_user_change(
        p_app, p_actor, conversations.user_kind_hidden(),
        jsonb_build_object('conversation_id', p_conversation, 'up_to', delete_conversation.up_to)
            || CASE WHEN is_partial THEN '{"is_partial": true}' ELSE '{}' END::jsonb) a;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.distinct_digest, conversations.sorted_users, conversations.free_set,
    conversations.create_conversation, conversations.delete_conversation TO strata_conversations;
