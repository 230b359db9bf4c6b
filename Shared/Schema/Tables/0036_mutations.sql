-- SPDX-License-Identifier: Apache-2.0
-- Changes that a client may repeat: it names each with an id of its own, and a repetition is given the first answer.
--
-- begin_mutation stands before a writing function in the same statement, and end_mutation after it: what was done and that it was done are committed together.
-- A statement without them costs what it cost before.

-- A change that was carried out under a name that its user gave it. What was refused is not here: it changed nothing, and may be tried again.
CREATE TABLE conversations.mutation (
    app_id        uuid NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    id            uuid NOT NULL,
    -- Of the request: the same name with another request is a mistake of the client.
    fingerprint   bigint NOT NULL,
    outcome       text NOT NULL,
    -- Where the conversation's log and the user's own log tell of it.
    position      bigint,
    user_position bigint,
    -- What was made, where the request does not say: a conversation, a message, a part of one.
    object        uuid,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_id, id)
);
CREATE INDEX mutation_by_time ON conversations.mutation (created_at);

-- One row, the app, if nothing was done under this name yet. None if something was, and none while another transaction is at it: find_mutation tells which. The
-- name is locked until the transaction ends. It is not waited for: this may share its transaction with statements that lock other conversations.
CREATE FUNCTION conversations.begin_mutation(p_app uuid, p_user text, p_id uuid) RETURNS TABLE (app_id uuid)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(p_user, uuid_hash_extended(p_id, uuid_hash_extended(p_app, 5)))) THEN RETURN; END IF;
    -- Only under the lock: what another transaction has committed meanwhile is seen.
    IF EXISTS (SELECT FROM conversations.mutation m WHERE m.app_id = p_app AND m.user_id = p_user AND m.id = p_id) THEN RETURN; END IF;
    app_id := p_app;
    RETURN NEXT;
END
$$;

-- The latest change of a conversation that this user is told of, so that their client gets there. Receipts count where they are the user's own, although others
-- may be told, too. 0 if there is none among the last 256 changes, and while the user hides the conversation, since they are told nothing of it then: a client
-- that goes by it shows for a moment what it was told last.
CREATE FUNCTION conversations.told_position(p_conversation uuid, p_user text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_sort = off AS $$
DECLARE
    p conversations.participant;
    h record;
BEGIN
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF NOT FOUND OR p.is_hidden THEN RETURN 0; END IF;
    FOR h IN
        SELECT c.position, c.kind, c.actor, c.ordinal, c.operations FROM conversations.change c
        WHERE c.conversation_id = p_conversation AND c.position > p.hidden_up_to AND c.position <= coalesce(p.left_position, 9223372036854775807)
        ORDER BY c.position DESC LIMIT 256
    LOOP
        CONTINUE WHEN h.kind = 7 AND NOT h.operations @> jsonb_build_array(jsonb_build_object('user', p_user));
        CONTINUE WHEN h.kind = 8 AND h.actor <> p_user;
        CONTINUE WHEN h.kind IN (5, 6, 9) AND NOT conversations.may_see(p, h.ordinal);
        -- Of a message that was deleted since, only the deletion is told.
        CONTINUE WHEN h.kind IN (5, 9) AND NOT EXISTS (
            SELECT FROM conversations.message m WHERE m.conversation_id = p_conversation AND m.ordinal = h.ordinal);
        RETURN h.position;
    END LOOP;
    RETURN 0;
END
$$;

-- Remembers what was done, if anything was: `p_outcome` is that of the writing function. Returns where a client is told of it. What had no effect is at the
-- latest change that the user is told of: of the conversation, or without one (NULL) of the user's own log.
CREATE FUNCTION conversations.end_mutation(
    p_app uuid, p_user text, p_id uuid, p_fingerprint bigint, p_outcome text, p_conversation uuid, p_position bigint, p_user_position bigint,
    p_object uuid, OUT "position" bigint, OUT user_position bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF p_outcome IS NULL OR p_outcome NOT IN ('ok', 'none', 'created', 'found') THEN RETURN; END IF;
    end_mutation.position := p_position;
    end_mutation.user_position := p_user_position;
    IF p_position IS NULL AND p_user_position IS NULL THEN
        IF p_conversation IS NOT NULL THEN
            end_mutation.position := conversations.told_position(p_conversation, p_user);
        ELSE
            end_mutation.user_position := coalesce(
                (SELECT l.position FROM conversations.user_log l WHERE l.app_id = p_app AND l.user_id = p_user), 0);
        END IF;
    END IF;
    INSERT INTO conversations.mutation (app_id, user_id, id, fingerprint, outcome, position, user_position, object, created_at)
    VALUES (p_app, p_user, p_id, p_fingerprint, p_outcome, end_mutation.position, end_mutation.user_position, p_object, clock_timestamp());
END
$$;

-- What was done under this name; no row if nothing was.
CREATE FUNCTION conversations.find_mutation(p_app uuid, p_user text, p_id uuid)
RETURNS TABLE (fingerprint bigint, outcome text, "position" bigint, user_position bigint, object uuid)
LANGUAGE sql STABLE ROWS 1 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.fingerprint, m.outcome, m.position, m.user_position, m.object
    FROM conversations.mutation m WHERE m.app_id = p_app AND m.user_id = p_user AND m.id = p_id
$$;

-- The writing function of a change that was found to have no effect elsewhere, so that it is remembered.
CREATE FUNCTION conversations.change_nothing(p_app uuid, p_conversation uuid, OUT outcome text)
LANGUAGE sql STABLE AS $$ SELECT 'none' $$;

-- Forgets some of what was done longer ago than the log is kept, and returns how many rows went: to be called again while that is not 0.
CREATE FUNCTION conversations.sweep_mutations(keep interval, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM conversations.mutation m WHERE m.ctid IN (
        SELECT x.ctid FROM conversations.mutation x
        WHERE x.created_at < now() - greatest(keep, interval '48 hours') ORDER BY x.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- A device's push token, removed by its user alone.
CREATE FUNCTION conversations.delete_push_token(p_app uuid, p_user text, p_device text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM conversations.push_token t WHERE t.app_id = p_app AND t.device_id = p_device AND t.user_id = p_user;
    RETURN CASE WHEN FOUND THEN 'ok' ELSE 'none' END;
END
$$;

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.mutation TO strata_conversations;
REVOKE ALL ON FUNCTION conversations.begin_mutation, conversations.end_mutation, conversations.told_position, conversations.find_mutation,
    conversations.change_nothing, conversations.sweep_mutations, conversations.delete_push_token FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.begin_mutation, conversations.end_mutation, conversations.find_mutation
    TO strata_conversations, strata_metadata;
GRANT EXECUTE ON FUNCTION
    conversations.told_position, conversations.change_nothing, conversations.sweep_mutations, conversations.delete_push_token TO strata_conversations;
