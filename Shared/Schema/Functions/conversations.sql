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

-- Frees the key in distinct_set that a refused creation has taken. A NULL digest: it has taken none.
CREATE OR REPLACE FUNCTION conversations.free_claim(p_app uuid, p_digest bytea, p_id uuid) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF p_digest IS NULL THEN RETURN; END IF;
    DELETE FROM conversations.distinct_set d
    WHERE d.app_id = p_app AND d.digest = p_digest AND d.conversation_id = p_id;
END
$$;

-- Applies the app's rules to a creation. The outcomes are those of admit_additions; only 'ok' keeps the key in
-- distinct_set.
CREATE OR REPLACE FUNCTION conversations.admit_creation(
    p_app uuid, p_actor text, p_users text[], p_digest bytea, p_id uuid) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    outcome text := conversations.admit_additions(p_app, p_actor, p_users);
BEGIN
    IF outcome <> 'ok' THEN PERFORM conversations.free_claim(p_app, p_digest, p_id); END IF;
    RETURN outcome;
END
$$;

-- Finds the distinct conversation of a set of participants, and shows it to the actor again. Outcomes: 'found',
-- 'conflict'; NULL: the set is free again, because the conversation's participants have changed or it was deleted.
CREATE OR REPLACE FUNCTION conversations.find_distinct(
    p_app uuid, p_actor text, p_id uuid, p_digest bytea, p_paths text[], p_vals text[],
    OUT outcome text, OUT user_position bigint, OUT user_created_at timestamptz, OUT view conversations.view_row)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    winner uuid;
    c conversations.conversation;
    p conversations.participant;
BEGIN
    SELECT d.conversation_id INTO winner FROM conversations.distinct_set d
    WHERE d.app_id = p_app AND d.digest = p_digest;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = winner FOR UPDATE;
    -- During the wait, its participants may have changed, or it may have been deleted.
    IF NOT FOUND OR c.deleted_position IS NOT NULL OR NOT c.is_distinct OR winner = p_id THEN RETURN; END IF;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = winner AND x.user_id = p_actor;
    outcome := CASE
        WHEN p_paths IS NULL OR metadata.equals_tree(winner, p_paths, p_vals) THEN 'found' ELSE 'conflict' END;
    IF p_actor IS NULL THEN
        find_distinct.view := conversations.server_view(c, metadata.error_tree());
        RETURN;
    END IF;
    IF NOT conversations.is_visible(c, p) THEN
        UPDATE conversations.participant x SET is_hidden = false
        WHERE x.conversation_id = winner AND x.user_id = p_actor;
        p.is_hidden := false;
        SELECT a.position, a.created_at INTO user_position, user_created_at
        FROM conversations.append_user_change(
            p_app, p_actor, conversations.user_kind_shown(), jsonb_build_object('conversation_id', winner)) a;
    END IF;
    find_distinct.view := conversations.view_of(c, p, metadata.error_tree());
END
$$;

-- Writes the participants and the metadata of a conversation whose row was just inserted, and the first change. Returns
-- the place of the change.
CREATE OR REPLACE FUNCTION conversations.fill_conversation(
    c conversations.conversation, p_actor text, p_users text[], p_paths text[], p_vals text[],
    p_origin_connection bigint, p_origin_request bigint) RETURNS conversations.log_place
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kept_from text[];
    place conversations.log_place;
BEGIN
    INSERT INTO conversations.roster (conversation_id, user_ids) VALUES (c.id, p_users);
    PERFORM conversations.let_in(c, p_users, 1);
    kept_from := conversations.blocked_among(c.app_id, p_actor, p_users);
    IF kept_from <> '{}' THEN PERFORM conversations.keep_from(c, kept_from, 1); END IF;
    IF cardinality(p_paths) > 0 THEN
        PERFORM metadata.create_tree(c.id, p_paths, p_vals, 1);
        IF c.is_indexed THEN PERFORM metadata.index_users(c.id, p_users || ''::text); END IF;
    END IF;
    SELECT a.position, a.created_at INTO place
    FROM conversations.append_change(
        c.id, conversations.kind_created(), p_actor, p_origin_connection, p_origin_request, NULL, NULL,
        jsonb_build_object('participants', p_users)) a;
    RETURN place;
END
$$;

-- True if a message, or another object than a conversation, has this id.
CREATE OR REPLACE FUNCTION conversations.is_taken_id(p_id uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversations.message_place x WHERE x.message_id = p_id)
        OR conversations.is_other_id(p_id);
END
$$;

-- Creates a conversation, or finds the distinct one of its participants. The actor takes part. Without an actor, the
-- app's own server creates it for the participants.
--
-- | Outcome     | Meaning                                                                                       |
-- |-------------|-----------------------------------------------------------------------------------------------|
-- | 'created'   | Only this outcome has a position, the first.                                                  |
-- | 'found'     | The distinct conversation exists, with equal metadata.                                        |
-- | 'conflict'  | The distinct conversation exists, with other metadata.                                        |
-- | 'id_in_use' | With a view if the caller may see the conversation. Takes precedence over all other outcomes. |
-- | 'too_many'  | The conversation would have more than `p_limit` participants.                                 |
-- | 'busy'      | Too many consecutive races were lost.                                                         |
--
-- The outcomes of admit_additions are also possible, except 'ok'. `p_is_limited`: true if the actor made the request;
-- false if the app's own server made it for the actor.
CREATE OR REPLACE FUNCTION conversations.create_conversation(
    p_app uuid, p_actor text, p_id uuid, p_participants text[], p_distinct boolean, p_paths text[], p_vals text[],
    p_limit bigint, p_origin_connection bigint, p_origin_request bigint, p_receipt_policy bigint DEFAULT 0,
    p_is_limited boolean DEFAULT false, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz,
    OUT user_position bigint, OUT user_created_at timestamptz, OUT view conversations.view_row)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    users text[] := conversations.sorted_users(
        CASE WHEN p_actor IS NULL THEN p_participants ELSE p_participants || p_actor END);
    set_digest bytea := CASE WHEN p_distinct THEN conversations.distinct_digest(users) END;
    -- A further attempt must not count the additions again.
    is_admitted boolean := NOT p_is_limited;
    c conversations.conversation;
    result record;
BEGIN
    FOR attempt IN 1..20 LOOP
        -- Check in every attempt, because a retry of this creation may have won the race.
        IF EXISTS (SELECT FROM conversations.conversation x WHERE x.id = p_id)
            OR p_actor IS NULL AND conversations.is_taken_id(p_id)
        THEN
            outcome := 'id_in_use';
            create_conversation.view := conversations.find_view(p_app, p_actor, p_id, metadata.error_tree());
            RETURN;
        END IF;
        IF cardinality(users) > p_limit THEN outcome := 'too_many'; RETURN; END IF;
        IF p_distinct THEN
            -- Waits for an uncommitted creation of the same set. Only the next statement sees its row.
            INSERT INTO conversations.distinct_set (app_id, digest, conversation_id) VALUES (p_app, set_digest, p_id)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                result := conversations.find_distinct(p_app, p_actor, p_id, set_digest, p_paths, p_vals);
                outcome := result.outcome;
                CONTINUE WHEN outcome IS NULL;
                user_position := result.user_position;
                user_created_at := result.user_created_at;
                create_conversation.view := result.view;
                RETURN;
            END IF;
        END IF;
        outcome := CASE WHEN is_admitted THEN 'ok'
            ELSE conversations.admit_creation(p_app, p_actor, users, set_digest, p_id) END;
        IF outcome <> 'ok' THEN RETURN; END IF;
        is_admitted := true;
        INSERT INTO conversations.conversation (
            id, app_id, created_at, created_by, is_distinct, receipt_policy, last_change_at)
        SELECT p_id, p_app, t.now, coalesce(p_actor, ''), p_distinct, p_receipt_policy, t.now
        FROM clock_timestamp() t(now) ON CONFLICT DO NOTHING RETURNING * INTO c;
        EXIT WHEN FOUND;
        -- Another transaction has taken the id in between.
        PERFORM conversations.free_claim(p_app, set_digest, p_id);
    END LOOP;
    outcome := CASE WHEN c.id = p_id THEN 'created' ELSE 'busy' END;
    IF outcome = 'busy' THEN RETURN; END IF;
    SELECT f.* INTO "position", created_at
    FROM conversations.fill_conversation(
        c, p_actor, users, p_paths, p_vals, p_origin_connection, p_origin_request) f;
    create_conversation.view := conversations.find_view(p_app, p_actor, p_id);
END
$$;

-- Deletes a conversation for all. The caller holds the lock and has checked that the conversation exists.
-- `participants`: its present participants.
--
-- Outcomes: 'ok'; 'not_found', also to a user who does not see it; 'access_denied' to a former participant. Former
-- participants who see the conversation get an entry of kind 21 in their own logs. `former_…` are these users with the
-- positions and times of their entries, in microseconds since 1970.
CREATE OR REPLACE FUNCTION conversations.delete_conversation_for_all(
    c conversations.conversation, p conversations.participant, p_participants text[], p_actor text,
    p_origin_connection bigint, p_origin_request bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint,
    OUT participants text[], OUT former_users text[], OUT former_positions bigint[], OUT former_times bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    former text[];
BEGIN
    IF p.left_position IS NOT NULL THEN
        outcome := CASE WHEN conversations.is_visible(c, p) THEN 'access_denied' ELSE 'not_found' END;
        RETURN;
    END IF;
    outcome := 'ok';
    participants := p_participants;
    former := ARRAY(
        SELECT x.user_id::text FROM conversations.participant x
        WHERE x.conversation_id = c.id AND x.left_position IS NOT NULL AND conversations.is_visible(c, x));
    SELECT a.* INTO "position", created_at, message_count
    FROM conversations.append_change(
        c.id, conversations.kind_deleted(), p_actor, p_origin_connection, p_origin_request, NULL, NULL, NULL) a;
    UPDATE conversations.conversation x
    SET deleted_position = delete_conversation_for_all.position, deleted_at = delete_conversation_for_all.created_at,
        is_distinct = false
    WHERE x.id = c.id;
    IF c.is_distinct THEN PERFORM conversations.free_set(c, participants); END IF;
    PERFORM metadata.drop_tree(c.id);
    IF former <> '{}' THEN
        SELECT array_agg(a.user_id), array_agg(a.position), array_agg(a.created_at)
        INTO former_users, former_positions, former_times
        FROM conversations.append_user_changes(
            c.app_id, former, conversations.user_kind_deleted(), jsonb_build_object('conversation_id', c.id)) a;
    END IF;
END
$$;

-- Decides how a deletion up to a position changes the counts of a participant, for whom the conversation has `p_count`
-- messages. Writes nothing.
--
-- - `is_effective`: false if everything up to the position is already hidden, or if the position precedes everything
--   that the participant sees.
-- - `is_partial`: true if the participant sees newer messages, or was added later. Otherwise everything is hidden.
-- - `cut`: the ordinal of the last message to hide.
CREATE OR REPLACE FUNCTION conversations.cut_of(
    p conversations.participant, p_up_to bigint, p_count bigint, OUT is_effective boolean, OUT is_partial boolean,
    OUT cut bigint, OUT uncounted bigint, OUT hidden bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- True if more messages are hidden than kept. The smaller part is counted.
    is_long boolean;
    counted record;
    seen bigint := p_count - p.hidden_count;
    newer bigint;
BEGIN
    is_effective := p_up_to > p.hidden_up_to;
    is_partial := false;
    uncounted := p.uncounted;
    hidden := p.hidden_count;
    IF NOT is_effective THEN RETURN; END IF;
    cut := greatest(conversations.ordinal_at(p.conversation_id, p_up_to, p_count), p.hidden_ordinal);
    is_long := cut - p.hidden_ordinal > p_count - cut;
    SELECT * INTO counted FROM conversations.seen_between(
        p, CASE WHEN is_long THEN cut ELSE p.hidden_ordinal END, CASE WHEN is_long THEN p_count ELSE cut END);
    newer := CASE WHEN is_long THEN counted.seen ELSE seen - counted.seen END;
    is_partial := newer > 0 OR p_up_to < p.joined;
    IF is_partial AND newer = seen THEN
        is_partial := false;
        is_effective := false;
        RETURN;
    END IF;
    uncounted := CASE WHEN is_long THEN p_count - counted.unread ELSE p.uncounted + counted.unread END;
    hidden := p_count - newer;
END
$$;

-- Hides everything from a participant, up to the last position and the number of messages.
CREATE OR REPLACE FUNCTION conversations.hide_all(p conversations.participant, p_position bigint, p_count bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE conversations.participant x
    SET hidden_up_to = p_position, hidden_ordinal = p_count, is_hidden = true, hidden = '{}', uncounted = p_count,
        hidden_count = p_count
    WHERE x.conversation_id = p.conversation_id AND x.user_id = p.user_id;
END
$$;

-- Deletes a conversation from the devices of a participant, who leaves it first if `p_leaves` is true. The caller holds
-- the lock and has checked that the conversation exists. `p_participants`: its present participants.
--
-- Outcomes: 'ok'; 'not_found' to a user who does not see it. With `p_up_to`, deletes only messages up to this position.
-- The conversation stays on the list (`is_partial`) if the user sees newer messages or was added later; otherwise
-- everything is hidden. A position may have no effect, see cut_of. Then there is no `user_position`.
CREATE OR REPLACE FUNCTION conversations.delete_conversation_from_devices(
    c conversations.conversation, p conversations.participant, p_participants text[], p_leaves boolean,
    p_origin_connection bigint, p_origin_request bigint, p_up_to bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint,
    OUT user_position bigint, OUT user_created_at timestamptz, OUT up_to bigint, OUT distinct_cleared boolean,
    OUT participants text[], OUT uncounted bigint, OUT hidden bigint, OUT is_partial boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    n record;
BEGIN
    IF NOT p_leaves AND NOT conversations.is_visible(c, p) THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    outcome := 'ok';
    participants := p_participants;
    distinct_cleared := false;
    is_partial := false;
    IF p_leaves THEN
        SELECT t.position, t.created_at, t.participants, t.distinct_cleared
        INTO "position", created_at, participants, distinct_cleared
        FROM conversations.change_roster(
            c, p_participants, '{}', ARRAY[p.user_id::text], p.user_id, p_origin_connection, p_origin_request) t;
    END IF;
    message_count := coalesce(p.left_ordinal, c.message_count);
    uncounted := message_count;
    hidden := message_count;
    IF NOT conversations.is_visible(c, p) THEN RETURN; END IF;

    up_to := coalesce(p.left_position, "position", c.position);
    IF p_up_to < coalesce(p.left_position, c.position) THEN
        n := conversations.cut_of(p, p_up_to, message_count);
        is_partial := n.is_partial;
        IF NOT n.is_effective OR is_partial THEN
            uncounted := n.uncounted;
            hidden := n.hidden;
            up_to := CASE WHEN is_partial THEN p_up_to END;
        END IF;
        IF NOT n.is_effective THEN RETURN; END IF;
    END IF;
    IF is_partial THEN
        UPDATE conversations.participant x
        SET hidden_up_to = p_up_to, hidden_ordinal = n.cut, uncounted = n.uncounted, hidden_count = n.hidden,
            hidden = p.hidden - int8multirange(int8range(0, n.cut, '[]'))
        WHERE x.conversation_id = c.id AND x.user_id = p.user_id;
    ELSE
        PERFORM conversations.hide_all(p, up_to, message_count);
    END IF;
    SELECT a.position, a.created_at INTO user_position, user_created_at
    FROM conversations.append_user_change(
        c.app_id, p.user_id, conversations.user_kind_hidden(),
        jsonb_build_object('conversation_id', c.id, 'up_to', delete_conversation_from_devices.up_to)
            || CASE WHEN is_partial THEN '{"is_partial": true}' ELSE '{}' END::jsonb) a;
END
$$;

-- Deletes a conversation for all participants (`p_mode` 'all_participants'), or from the caller's devices: see
-- delete_conversation_for_all and delete_conversation_from_devices. The app's own server (no actor) may delete any
-- conversation, and only for all.
--
-- | Outcome         | Meaning                                                                    |
-- |-----------------|----------------------------------------------------------------------------|
-- | 'ok'            | The conversation was deleted, or `p_up_to` had no effect.                  |
-- | 'not_found'     | The conversation does not exist, or the user does not see it.              |
-- | 'access_denied' | A former participant may not delete for all.                               |
-- | 'deleted'       | Only to the app's own server: the conversation is deleted already.         |
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
        SELECT d.* INTO outcome, "position", created_at, message_count, participants, former_users, former_positions,
            former_times
        FROM conversations.delete_conversation_for_all(
            c, p, participants, p_actor, p_origin_connection, p_origin_request) d;
    ELSE
        SELECT d.* INTO outcome, "position", created_at, message_count, user_position, user_created_at, up_to,
            distinct_cleared, participants, uncounted, hidden, is_partial
        FROM conversations.delete_conversation_from_devices(
            c, p, participants, p_leave AND p.left_position IS NULL, p_origin_connection, p_origin_request, p_up_to) d;
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION
    conversations.distinct_digest, conversations.sorted_users, conversations.free_set, conversations.free_claim,
    conversations.admit_creation, conversations.find_distinct, conversations.fill_conversation,
    conversations.is_taken_id, conversations.create_conversation, conversations.delete_conversation_for_all,
    conversations.cut_of, conversations.hide_all, conversations.delete_conversation_from_devices,
    conversations.delete_conversation TO strata_conversations;
