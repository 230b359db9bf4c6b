-- SPDX-License-Identifier: Apache-2.0
-- Maintenance of the log: partitions, and rows older than the retention time.

-- Creates the log's partitions of the next two weeks, each from Monday (UTC), and drops those whose newest entry is
-- older than `keep`. Returns the number of dropped ones. Services call it periodically; concurrent calls are safe.
CREATE OR REPLACE FUNCTION conversations.maintain_partitions(keep interval) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
SET lock_timeout = '2s' AS $$
DECLARE
    week timestamptz;
    part record;
    dropped bigint := 0;
BEGIN
    IF keep < interval '48 hours' THEN
        RAISE EXCEPTION 'the change log must be kept for 48 hours at least' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- One call works at a time; the others return.
    IF NOT pg_try_advisory_xact_lock(126943972913250) THEN RETURN 0; END IF;

    FOR week IN SELECT g
        FROM generate_series(date_trunc('week', now()), date_trunc('week', now() + interval '14 days'),
            interval '7 days') g LOOP
        CONTINUE WHEN to_regclass('conversations.change_' || to_char(week, 'YYYYMMDD')) IS NOT NULL;
        BEGIN
            EXECUTE format(
                'CREATE TABLE conversations.%I PARTITION OF conversations.change FOR VALUES FROM (%L) TO (%L)',
                'change_' || to_char(week, 'YYYYMMDD'), week, week + interval '7 days');
        EXCEPTION WHEN check_violation THEN
            NULL; -- change_rest has entries of that week, which stay there
        END;
    END LOOP;

    FOR part IN
        SELECT c.relname, to_date(substr(c.relname, 8), 'YYYYMMDD')::timestamptz + interval '7 days' AS ends
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'conversations.change'::regclass AND c.relname ~ '^change_[0-9]{8}$'
    LOOP
        CONTINUE WHEN part.ends > now() - keep;
        EXECUTE format('DROP TABLE conversations.%I', part.relname);
        UPDATE conversations.log_begin b SET at = greatest(b.at, part.ends);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;

-- Deletes entries older than `keep` from users' own logs and from change_rest. Returns the number of rows; call again
-- while it is not 0.
CREATE OR REPLACE FUNCTION conversations.sweep(keep interval, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET strata.sweeping = 'on' AS $$
DECLARE
    before timestamptz := now() - greatest(keep, interval '48 hours');
    removed bigint;
    total bigint := 0;
BEGIN
    DELETE FROM conversations.user_change u WHERE (u.app_id, u.user_id, u.position) IN (
        SELECT x.app_id, x.user_id, x.position FROM conversations.user_change x
        WHERE x.created_at < before LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS total = ROW_COUNT;
    DELETE FROM conversations.change_rest r WHERE r.ctid IN (
        SELECT x.ctid FROM conversations.change_rest x
        WHERE x.created_at < before LIMIT p_limit FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS removed = ROW_COUNT;
    total := total + removed;
    IF total > 0 THEN
        UPDATE conversations.log_begin b SET at = before WHERE b.at < before;
    END IF;
    RETURN total;
END
$$;

-- Locks a conversation that was deleted for all before a time. Each app with such conversations is chosen with the same
-- probability, regardless of their number. No row: there is none, or other transactions have locked them.
CREATE OR REPLACE FUNCTION conversations.lock_deleted(p_before timestamptz) RETURNS TABLE (id uuid, app_id uuid)
LANGUAGE plpgsql VOLATILE ROWS 1 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
    -- The maximum number of apps to choose from, in the order of their ids from a random start.
    most_apps CONSTANT bigint := 50;
    -- The maximum number of apps that one call examines. Most have no conversation that was deleted that long ago.
    most_looks CONSTANT int := 1000;
    start CONSTANT uuid := gen_random_uuid();
    place uuid := start;
    seen record;
    apps uuid[] := '{}';
    is_again boolean := false;
    chosen uuid;
BEGIN
    FOR look IN 1..most_looks LOOP
        EXIT WHEN cardinality(apps) = most_apps;
        SELECT c.app_id, c.deleted_at INTO seen FROM conversations.conversation c
        WHERE c.app_id > place AND c.deleted_at IS NOT NULL ORDER BY c.app_id, c.deleted_at LIMIT 1;
        IF NOT FOUND THEN
            EXIT WHEN is_again;
            is_again := true;
            place := '00000000-0000-0000-0000-000000000000';
            CONTINUE;
        END IF;
        EXIT WHEN is_again AND seen.app_id > start;
        place := seen.app_id;
        IF seen.deleted_at < p_before AND NOT conversations.is_away(place) THEN apps := apps || place; END IF;
    END LOOP;
    FOREACH chosen IN ARRAY ARRAY(SELECT a.id FROM unnest(apps) a(id) ORDER BY random()) LOOP
        RETURN QUERY
        SELECT c.id, c.app_id FROM conversations.conversation c
        WHERE c.app_id = chosen AND c.deleted_at < p_before
        ORDER BY c.app_id, c.deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND;
    END LOOP;
END
$$;

-- Deletes a batch of rows of a conversation that was deleted for all longer than `keep` ago. In the end only the
-- conversation's row is left, which keeps its id used. Messages are deleted first, then participants. A participant is
-- deleted in one transaction with their list entry, after follows are stored for the users they met.
--
-- Users known to the app have met all other known users of the conversation, so only a few are deleted at a time: as
-- many as have about `most` follows, and at least one. Each has two follows for every user who was ever in the
-- conversation.
CREATE OR REPLACE FUNCTION conversations.sweep_deleted(keep interval, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    most CONSTANT bigint := 10000;
    before timestamptz := now() - greatest(keep, interval '48 hours');
    gone record;
    users text[];
    removed bigint;
    total bigint;
BEGIN
    SELECT c.id, c.app_id INTO gone FROM conversations.lock_deleted(before) c;
    IF NOT FOUND THEN RETURN 0; END IF;
    DELETE FROM conversations.message m WHERE m.conversation_id = gone.id AND m.ordinal = ANY (ARRAY(
        SELECT x.ordinal FROM conversations.message x WHERE x.conversation_id = gone.id LIMIT p_limit));
    GET DIAGNOSTICS total = ROW_COUNT;
    IF total >= p_limit THEN RETURN total; END IF;
    PERFORM conversations.unrefer_contents(gone.id, p_limit);
    IF EXISTS (SELECT FROM conversations.content_reference r WHERE r.conversation_id = gone.id) THEN
        RETURN total + p_limit;
    END IF;

    users := ARRAY(
        SELECT p.user_id FROM conversations.participant p
        WHERE p.conversation_id = gone.id AND NOT conversations.is_known(p.app_id, p.user_id) LIMIT p_limit);
    removed := conversations.forget_participants(gone.app_id, gone.id, users);
    total := total + removed;
    IF removed >= p_limit THEN RETURN total; END IF;
    users := ARRAY(
        SELECT p.user_id FROM conversations.participant p WHERE p.conversation_id = gone.id
        ORDER BY p.user_id LIMIT greatest(1, most / 2 / (
            SELECT greatest(1, count(*)) FROM conversations.participant x WHERE x.conversation_id = gone.id)));
    PERFORM conversations.keep_follows(gone.id, users);
    total := total + conversations.forget_participants(gone.app_id, gone.id, users);
    IF EXISTS (SELECT FROM conversations.participant p WHERE p.conversation_id = gone.id) THEN RETURN total; END IF;

    DELETE FROM conversations.receipt_block b WHERE b.conversation_id = gone.id;
    DELETE FROM conversations.kept_receipts k WHERE k.conversation_id = gone.id;
    DELETE FROM conversations.kept_parts k WHERE k.conversation_id = gone.id;
    DELETE FROM conversations.roster r WHERE r.conversation_id = gone.id;
    DELETE FROM conversations.outside_sending o WHERE o.conversation_id = gone.id;
    -- The row stays, so that its id stays used, but later sweeps do not find it.
    UPDATE conversations.conversation c SET deleted_at = NULL WHERE c.id = gone.id;
    RETURN total + 1;
END
$$;

-- Deletes participants of a conversation that was deleted for all, with their own rows. Returns their number.
CREATE OR REPLACE FUNCTION conversations.forget_participants(p_app uuid, p_conversation uuid, p_users text[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    forgotten text;
BEGIN
    -- Process users individually, so that each row is found by its complete key.
    FOREACH forgotten IN ARRAY p_users LOOP
        DELETE FROM conversations.user_conversation u
        WHERE u.app_id = p_app AND u.user_id = forgotten AND u.conversation_id = p_conversation;
        DELETE FROM conversations.kept_receipts k WHERE k.conversation_id = p_conversation AND k.user_id = forgotten;
        DELETE FROM conversations.participant p WHERE p.conversation_id = p_conversation AND p.user_id = forgotten;
    END LOOP;
    RETURN cardinality(p_users);
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.maintain_partitions, conversations.sweep, conversations.lock_deleted, conversations.sweep_deleted,
    conversations.forget_participants TO strata_conversations;
