-- SPDX-License-Identifier: Apache-2.0
-- Idempotent changes: a client sends an idempotency key with a change, and each change is carried out once. The writing
-- function is called between begin_mutation and end_mutation in one statement.

-- Returns one row, the app, if no change was carried out under this key. Returns no row if one was, or if another
-- transaction is carrying it out; find_mutation distinguishes the two. Locks the key until the transaction ends. It
-- does not wait for the lock, because its transaction may be shared with statements that lock other conversations.
CREATE OR REPLACE FUNCTION conversations.begin_mutation(p_app uuid, p_user text, p_id uuid) RETURNS TABLE (app_id uuid)
LANGUAGE plpgsql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended(p_user, uuid_hash_extended(p_id, uuid_hash_extended(p_app, 5))))
    THEN
        RETURN;
    END IF;
    -- Check under the lock, to see rows that another transaction has committed in between.
    IF EXISTS (SELECT FROM conversations.mutation m WHERE m.app_id = p_app AND m.user_id = p_user AND m.id = p_id) THEN
        RETURN;
    END IF;
    app_id := p_app;
    RETURN NEXT;
END
$$;

-- Returns the position of the latest change of a conversation that this user receives, so that their client reaches it.
-- Receipts count only if they are the user's own, although other users may receive them, too. 0: there is none among
-- the last 256 changes, or the user hides the conversation and receives none of its changes. A client that relies on 0
-- briefly shows an older state.
CREATE OR REPLACE FUNCTION conversations.told_position(p_conversation uuid, p_user text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_sort = off AS $$
DECLARE
    p conversations.participant;
    h record;
BEGIN
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF NOT FOUND OR p.is_hidden THEN RETURN 0; END IF;
    FOR h IN
        SELECT c.position, c.kind, c.actor, c.ordinal, c.operations FROM conversations.change c
        WHERE c.conversation_id = p_conversation AND c.position > p.hidden_up_to
            AND c.position <= coalesce(p.left_position, conversations.end_of_log())
        ORDER BY c.position DESC LIMIT 256
    LOOP
        CONTINUE WHEN h.kind = conversations.kind_receipts()
            AND NOT h.operations @> jsonb_build_array(jsonb_build_object('user', p_user));
        CONTINUE WHEN h.kind = conversations.kind_all_read() AND h.actor <> p_user;
        CONTINUE
            WHEN h.kind IN (conversations.kind_message_created(), conversations.kind_message_deleted(),
                conversations.kind_parts()) AND NOT conversations.may_see(p, h.ordinal);
        -- If a message was deleted since, users receive only the deletion.
        CONTINUE WHEN h.kind IN (conversations.kind_message_created(), conversations.kind_parts()) AND NOT EXISTS (
            SELECT FROM conversations.message m WHERE m.conversation_id = p_conversation AND m.ordinal = h.ordinal);
        RETURN h.position;
    END LOOP;
    RETURN 0;
END
$$;

-- Stores the record of a change that was carried out. `p_outcome` is the outcome of the writing function; a refusal
-- stores nothing. Returns the positions at which the client receives the change. For a change without effect, this is
-- the latest change that the user receives: of the conversation, or without one (NULL) of the user's own log.
CREATE OR REPLACE FUNCTION conversations.end_mutation(
    p_app uuid, p_user text, p_id uuid, p_fingerprint bigint, p_outcome text, p_conversation uuid, p_position bigint,
    p_user_position bigint, p_object uuid, OUT "position" bigint, OUT user_position bigint)
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
    INSERT INTO conversations.mutation (app_id, user_id, id, fingerprint, outcome, position, user_position, object,
        created_at)
    VALUES (p_app, p_user, p_id, p_fingerprint, p_outcome, end_mutation.position, end_mutation.user_position, p_object,
        clock_timestamp());
END
$$;

-- Returns the record of an idempotency key. No row: no change was carried out under it.
CREATE OR REPLACE FUNCTION conversations.find_mutation(p_app uuid, p_user text, p_id uuid)
RETURNS TABLE (fingerprint bigint, outcome text, "position" bigint, user_position bigint, object uuid)
LANGUAGE sql STABLE ROWS 1 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.fingerprint, m.outcome, m.position, m.user_position, m.object
    FROM conversations.mutation m WHERE m.app_id = p_app AND m.user_id = p_user AND m.id = p_id
$$;

-- The writing function of a change that turned out to have no effect before any writing function ran. It lets
-- end_mutation store the record.
CREATE OR REPLACE FUNCTION conversations.change_nothing(p_app uuid, p_conversation uuid, OUT outcome text)
LANGUAGE sql STABLE AS $$ SELECT 'none' $$;

-- Deletes records that are older than the log's retention. Returns the number of rows; call again while it is not 0.
CREATE OR REPLACE FUNCTION conversations.sweep_mutations(keep interval, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET strata.sweeping = 'on' AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM conversations.mutation m WHERE m.ctid IN (
        SELECT x.ctid FROM conversations.mutation x
        WHERE x.created_at < now() - greatest(keep, interval '48 hours')
        ORDER BY x.created_at LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.told_position, conversations.change_nothing, conversations.sweep_mutations TO strata_conversations;

GRANT EXECUTE ON FUNCTION
    conversations.begin_mutation, conversations.end_mutation, conversations.find_mutation TO strata_conversations,
    strata_metadata;
