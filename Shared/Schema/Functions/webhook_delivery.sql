-- SPDX-License-Identifier: Apache-2.0
-- Webhooks: administration, and the webhooks service's access to the outbox.
--
-- Lanes are locked with SKIP LOCKED, except by redeliver, which locks one. So no statement waits for a lane while it
-- holds another one. Writers lock lanes in the order of their conversations, so they do not deadlock.

-- True if a server token is valid. It cannot be revoked before the transaction ends.
CREATE OR REPLACE FUNCTION webhooks.lock_token(p_app uuid, p_token uuid) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM conversations.server_token t
    WHERE t.id = p_token AND t.app_id = p_app AND (t.expires_at > now()) IS NOT FALSE FOR KEY SHARE;
    RETURN FOUND;
END
$$;

-- Registers a hook. The calling instance verifies it within the lease, and afterwards any instance. `p_token`: the
-- server token that registers it, or NULL. Outcomes: 'ok', 'too_many', 'revoked'.
CREATE OR REPLACE FUNCTION webhooks.create_hook(
    p_app uuid, p_id uuid, p_version text, p_url text, p_secret bytea, p_events text[], p_kinds text[], p_config jsonb,
    p_limit bigint, p_lease bigint, p_token uuid, OUT outcome text, OUT hook webhooks.hook)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('webhook ' || p_app, 0));
    -- A repetition of the call must not count the hook again.
    SELECT h.* INTO hook FROM webhooks.hook h WHERE h.id = p_id AND h.app_id = p_app;
    IF FOUND THEN
        outcome := 'ok';
        RETURN;
    END IF;
    IF p_token IS NOT NULL AND NOT webhooks.lock_token(p_app, p_token) THEN
        outcome := 'revoked';
        RETURN;
    END IF;
    IF (SELECT count(*) FROM webhooks.hook h WHERE h.app_id = p_app) >= p_limit THEN
        outcome := 'too_many';
        RETURN;
    END IF;
    INSERT INTO webhooks.hook (id, app_id, version, target_url, secret, events, kinds, config, token_id, verify_at)
    VALUES (p_id, p_app, p_version, p_url, p_secret, p_events, p_kinds, p_config, p_token,
        clock_timestamp() + p_lease * interval '1 millisecond')
    ON CONFLICT (id) DO NOTHING;
    SELECT h.* INTO hook FROM webhooks.hook h WHERE h.id = p_id AND h.app_id = p_app;
    outcome := 'ok';
END
$$;

-- Starts another verification of a hook. An active one stays active in the meantime. No row: the hook does not exist.
CREATE OR REPLACE FUNCTION webhooks.begin_activation(p_app uuid, p_id uuid, p_lease bigint) RETURNS SETOF webhooks.hook
LANGUAGE sql VOLATILE ROWS 1 AS $$
    UPDATE webhooks.hook h
    SET status = CASE h.status WHEN 'active' THEN 'active' ELSE 'unverified' END, status_reason = NULL,
        verified_at = CASE h.status WHEN 'active' THEN h.verified_at END,
        verify_at = clock_timestamp() + p_lease * interval '1 millisecond'
    WHERE h.id = p_id AND h.app_id = p_app
    RETURNING h.*
$$;

-- Claims hooks to be verified, for the duration of the lease.
CREATE OR REPLACE FUNCTION webhooks.claim_verifications(p_limit bigint, p_lease bigint) RETURNS SETOF webhooks.hook
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
DECLARE
    now_at timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    UPDATE webhooks.hook h SET verify_at = now_at + p_lease * interval '1 millisecond'
    WHERE h.id IN (
        SELECT x.id FROM webhooks.hook x WHERE x.verify_at <= now_at AND NOT conversations.is_away(x.app_id)
        ORDER BY x.verify_at LIMIT p_limit FOR UPDATE SKIP LOCKED)
    RETURNING h.*;
END
$$;

-- True if the hook has lanes whose next event has failed.
CREATE OR REPLACE FUNCTION webhooks.has_failed_lanes(p_id uuid) RETURNS boolean
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
-- This order makes the planner use the index of failed lanes, because no other index has it.
RETURN (SELECT true FROM webhooks.lane l WHERE l.hook_id = p_id AND l.attempts > 0
    ORDER BY l.due_at LIMIT 1) IS NOT NULL;

-- Resets lanes that had failed before their hook was verified, and makes them due: a batch of one hook, without lanes
-- that are locked. It runs before the hook is active, when no writer records for it. A claimed lane may be in delivery,
-- so it stays due at the end of its lease. Returns the number of lanes; call it repeatedly.
CREATE OR REPLACE FUNCTION webhooks.reset_lanes(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    verified uuid;
    count bigint;
BEGIN
    -- Choose a random one, so that a hook with many lanes does not delay the others.
    SELECT h.id INTO verified FROM webhooks.hook h
    WHERE h.status = 'unverified' AND h.verified_at IS NOT NULL AND webhooks.has_failed_lanes(h.id)
    ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED;
    UPDATE webhooks.lane l
    SET due_at = CASE WHEN l.claim IS NULL THEN clock_timestamp() ELSE l.due_at END, attempts = 0, failed_since = NULL
    WHERE l.ctid = ANY (ARRAY(
        SELECT x.ctid FROM webhooks.lane x WHERE x.hook_id = verified AND x.attempts > 0
        ORDER BY x.due_at LIMIT p_limit FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS count = ROW_COUNT;
    RETURN count;
END
$$;

-- Stores the receiver's answer. `p_reason` NULL: it confirmed the hook. No row: the hook does not exist, or no
-- verification is pending.
--
-- The hook becomes active immediately if both conditions hold; otherwise settle activates it later:
-- - The app has had an active hook for longer than `p_delay`, so all services know that the app has hooks.
-- - None of the hook's lanes has failed.
CREATE OR REPLACE FUNCTION webhooks.end_verification(p_id uuid, p_reason text, p_delay bigint)
RETURNS SETOF webhooks.hook
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
DECLARE
    h webhooks.hook;
BEGIN
    SELECT * INTO h FROM webhooks.hook x WHERE x.id = p_id AND x.verify_at IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;
    IF p_reason IS NOT NULL THEN
        UPDATE webhooks.hook x
        SET status = 'inactive', status_reason = p_reason, verify_at = NULL, verified_at = NULL,
            inactive_since = coalesce(x.inactive_since, clock_timestamp())
        WHERE x.id = p_id;
    ELSE
        UPDATE webhooks.hook x
        SET verify_at = NULL, verified_at = CASE h.status WHEN 'active' THEN x.verified_at ELSE clock_timestamp() END
        WHERE x.id = p_id;
        IF h.status <> 'active' AND NOT webhooks.has_failed_lanes(p_id) THEN
            -- Lock the other hook, so that it does not become inactive before this one is active. Otherwise services
            -- that read in between would find no hooks of the app. A hook that is being deactivated does not count.
            PERFORM FROM webhooks.hook o
            WHERE o.app_id = h.app_id AND o.id <> p_id AND o.status = 'active'
                AND o.verified_at < clock_timestamp() - p_delay * interval '1 millisecond'
            LIMIT 1 FOR SHARE SKIP LOCKED;
            IF FOUND THEN
                UPDATE webhooks.hook x SET status = 'active', status_reason = NULL, inactive_since = NULL
                WHERE x.id = p_id;
            END IF;
        END IF;
    END IF;
    RETURN QUERY SELECT x.* FROM webhooks.hook x WHERE x.id = p_id;
END
$$;

-- Activates hooks whose receivers confirmed longer than `p_delay` ago, because every service then knows that their apps
-- have hooks. Hooks with failed lanes wait until reset_lanes has processed them.
CREATE OR REPLACE FUNCTION webhooks.settle(p_delay bigint) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    UPDATE webhooks.hook h SET status = 'active', status_reason = NULL, inactive_since = NULL
    WHERE h.id IN (
        SELECT x.id FROM webhooks.hook x
        WHERE x.status = 'unverified' AND x.verified_at < clock_timestamp() - p_delay * interval '1 millisecond'
            AND NOT webhooks.has_failed_lanes(x.id) AND NOT conversations.is_away(x.app_id)
        ORDER BY x.id FOR UPDATE SKIP LOCKED)
    RETURNING h.id;
END
$$;

-- Deactivates a hook: no events are recorded for it. Its undelivered events stay for a week. No row: the hook does not
-- exist.
CREATE OR REPLACE FUNCTION webhooks.deactivate(p_app uuid, p_id uuid, p_reason text) RETURNS SETOF webhooks.hook
LANGUAGE sql VOLATILE ROWS 1 AS $$
    UPDATE webhooks.hook h
    SET status = 'inactive', status_reason = p_reason, verify_at = NULL, verified_at = NULL,
        inactive_since = coalesce(h.inactive_since, clock_timestamp())
    WHERE h.id = p_id AND h.app_id = p_app
    RETURNING h.*
$$;

-- Deactivates a hook whose receiver has not accepted an event for too long. No row: the hook is not active any longer,
-- was activated again since it was read with `p_verified_at`, or is being verified.
CREATE OR REPLACE FUNCTION webhooks.give_up(p_id uuid, p_reason text, p_verified_at timestamptz)
RETURNS SETOF webhooks.hook
LANGUAGE sql VOLATILE ROWS 1 AS $$
    UPDATE webhooks.hook h
    SET status = 'inactive', status_reason = p_reason, verify_at = NULL, verified_at = NULL,
        inactive_since = clock_timestamp()
    WHERE h.id = p_id AND h.status = 'active' AND h.verified_at = p_verified_at AND h.verify_at IS NULL
    RETURNING h.*
$$;

-- Claims due lanes until the lease ends: of each of these hooks at most its limit, and in total at most `p_total`.
-- read_lanes reads their events afterwards. The lanes are locked only for this statement, so that writers do not wait
-- for reads. A lane may have no events; finish then removes it.
--
-- A failed lane will probably fail again and take long. So other lanes come first, and failed lanes get at most half of
-- a hook's limit, which includes those already claimed. At least one is claimed if the limit is greater than one, or if
-- there are no others.
--
-- A claim counts as lost until it ends, because a killed instance reports no result.
CREATE OR REPLACE FUNCTION webhooks.claim(p_hooks uuid[], p_limits bigint[], p_total bigint, p_claim uuid,
    p_lease bigint)
RETURNS TABLE (hook_id uuid, lane uuid, attempts bigint, failing_seconds bigint, lost bigint, bytes bigint)
LANGUAGE plpgsql VOLATILE ROWS 100
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    now_at timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    WITH due AS MATERIALIZED (
        SELECT l.hook_id, l.lane
        FROM unnest(p_hooks, p_limits) h(id, most)
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE y.due_at > now_at) AS claimed
            FROM (
                SELECT x.due_at FROM webhooks.lane x WHERE x.hook_id = h.id AND x.attempts > 0 AND x.claim IS NOT NULL
                ORDER BY x.claim LIMIT 1000) y) f
        CROSS JOIN LATERAL (
            SELECT count(*) AS failing
            FROM (
                SELECT FROM webhooks.lane x WHERE x.hook_id = h.id AND x.attempts > 0 AND x.due_at <= now_at
                    AND f.claimed = 0 AND h.most > 1
                ORDER BY x.due_at LIMIT 1) y) reserved
        CROSS JOIN LATERAL (
            SELECT a.* FROM (
                SELECT x.hook_id, x.lane FROM webhooks.lane x
                WHERE x.hook_id = h.id AND x.attempts = 0 AND x.due_at <= now_at
                ORDER BY x.due_at LIMIT h.most - reserved.failing FOR UPDATE SKIP LOCKED) a
            UNION ALL
            SELECT b.* FROM (
                SELECT x.hook_id, x.lane FROM webhooks.lane x
                WHERE x.hook_id = h.id AND x.attempts > 0 AND x.due_at <= now_at
                ORDER BY x.due_at LIMIT greatest(
                    (h.most - f.claimed) / 2, CASE WHEN f.claimed = 0 THEN 1 ELSE 0 END) FOR UPDATE SKIP LOCKED) b
            LIMIT h.most) l
        LIMIT p_total
    )
    UPDATE webhooks.lane x SET due_at = now_at + p_lease * interval '1 millisecond', claim = p_claim, lost = x.lost + 1
    FROM due d WHERE x.hook_id = d.hook_id AND x.lane = d.lane
    RETURNING x.hook_id, x.lane, x.attempts, coalesce(extract(epoch FROM now_at - x.failed_since)::bigint, 0),
        x.lost - 1, x.bytes;
END
$$;

-- Returns the first events of claimed lanes in order: of each lane at most `p_events` and about `p_bytes`. It sees the
-- events present at the claim, and locks nothing.
CREATE OR REPLACE FUNCTION webhooks.read_lanes(p_hooks uuid[], p_lanes uuid[], p_events bigint, p_bytes bigint)
RETURNS TABLE (
    hook_id uuid, lane uuid, "position" bigint, number bigint, event bigint, app_id uuid, kind text, event_id uuid,
    created_at timestamptz, subject uuid, facts jsonb, parts bytea, size bigint)
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT c.hook_id, c.lane, o.position, o.number, e.id, e.app_id, e.kind, e.event_id, e.created_at, e.subject,
        e.facts, e.parts, o.size
    FROM unnest(p_hooks, p_lanes) c(hook_id, lane)
    CROSS JOIN LATERAL (
        SELECT f.*, sum(f.size) OVER (ORDER BY f.position, f.number) - f.size AS before
        FROM (
            SELECT x.position, x.number, x.event, x.size FROM webhooks.outbox x
            WHERE x.hook_id = c.hook_id AND x.lane = c.lane ORDER BY x.position, x.number LIMIT p_events) f) o
    JOIN webhooks.event e ON e.id = o.event
    WHERE o.before < p_bytes
    ORDER BY c.hook_id, c.lane, o.position, o.number;
END
$$;

-- Ends the work on a claim's lanes and deletes delivered events, up to a position and number (0: none).
--
-- `p_delays`: -1: the lane continues immediately if events are left. Otherwise the next event has failed, `p_attempts`
-- times so far (0: it was not tried), and is retried after this number of milliseconds.
--
-- Returns the indexes of lanes that another transaction had locked. Call again for these.
CREATE OR REPLACE FUNCTION webhooks.finish(
    p_claim uuid, p_hooks uuid[], p_lanes uuid[], p_positions bigint[], p_numbers bigint[], p_attempts bigint[],
    p_delays bigint[])
RETURNS TABLE (n bigint)
LANGUAGE plpgsql VOLATILE ROWS 1 SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    -- The indexes of lanes locked by this transaction, and of lanes whose bytes decrease.
    mine bigint[];
    lighter bigint[];
    sizes bigint[];
    now_at timestamptz := clock_timestamp();
BEGIN
    mine := ARRAY(
        SELECT i.n FROM unnest(p_hooks, p_lanes) WITH ORDINALITY i(hook_id, lane, n)
        CROSS JOIN LATERAL (
            SELECT x.claim FROM webhooks.lane x
            WHERE x.hook_id = i.hook_id AND x.lane = i.lane AND x.claim = p_claim FOR UPDATE SKIP LOCKED) l);
    WITH gone AS (
        DELETE FROM webhooks.outbox o USING unnest(p_hooks, p_lanes, p_positions, p_numbers) WITH ORDINALITY i(
            hook_id, lane, position, number, n)
        WHERE i.n = ANY (mine) AND o.hook_id = i.hook_id AND o.lane = i.lane
            AND (o.position, o.number) <= (i.position, i.number)
        RETURNING i.n, o.size
    ), lighter AS (
        SELECT g.n, sum(g.size) AS size FROM gone g GROUP BY g.n
    )
    SELECT array_agg(l.n), array_agg(l.size) INTO lighter, sizes FROM lighter l;
    DELETE FROM webhooks.lane x USING unnest(p_hooks, p_lanes) WITH ORDINALITY i(hook_id, lane, n)
    WHERE i.n = ANY (mine) AND x.hook_id = i.hook_id AND x.lane = i.lane
        AND NOT EXISTS (SELECT FROM webhooks.outbox o WHERE o.hook_id = i.hook_id AND o.lane = i.lane);
    UPDATE webhooks.lane x
    SET claim = NULL, lost = 0, bytes = greatest(x.bytes - coalesce(s.size, 0), 0),
        attempts = CASE WHEN i.delay < 0 THEN 0 ELSE i.attempts END,
        due_at = now_at + greatest(i.delay, 0) * interval '1 millisecond',
        failed_since = CASE
            WHEN i.delay < 0 OR i.attempts = 0 THEN NULL
            -- A different event failed than before.
            WHEN i.position > 0 THEN now_at
            ELSE coalesce(x.failed_since, now_at) END
    FROM unnest(p_hooks, p_lanes, p_positions, p_attempts, p_delays) WITH ORDINALITY i(
        hook_id, lane, position, attempts, delay, n)
    LEFT JOIN unnest(lighter, sizes) s(n, size) ON s.n = i.n
    WHERE i.n = ANY (mine) AND x.hook_id = i.hook_id AND x.lane = i.lane;
    RETURN QUERY
    SELECT i.n FROM unnest(p_hooks, p_lanes) WITH ORDINALITY i(hook_id, lane, n)
    WHERE i.n <> ALL (mine) AND EXISTS (
        SELECT FROM webhooks.lane x WHERE x.hook_id = i.hook_id AND x.lane = i.lane AND x.claim = p_claim);
END
$$;

-- Deletes those of these events that no hook waits for and to which no attempt refers. It locks them first, so that an
-- event that is being redelivered stays.
CREATE OR REPLACE FUNCTION webhooks.collect(p_events bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    locked constant bigint[] := ARRAY(
        SELECT e.id FROM webhooks.event e
        WHERE e.id = ANY (p_events) AND NOT EXISTS (SELECT FROM webhooks.outbox o WHERE o.event = e.id)
            AND NOT EXISTS (SELECT FROM webhooks.delivery d WHERE d.event = e.id)
        FOR UPDATE SKIP LOCKED);
    removed bigint;
BEGIN
    DELETE FROM webhooks.event e
    WHERE e.id = ANY (locked) AND NOT EXISTS (SELECT FROM webhooks.outbox o WHERE o.event = e.id)
        AND NOT EXISTS (SELECT FROM webhooks.delivery d WHERE d.event = e.id);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- Stores delivery attempts, and deletes all except the newest `p_keep` of each hook.
--
-- `p_attempts`: [{"hook", "app", "event", "id", "kind", "created_at", "attempted_at", "attempt", "delivered", "status",
-- "latency", "error", "lane", "position", "number"}, …]. Times are in microseconds since 1970. "event" is the event's
-- row and "id" its id. "lane", "position" and "number" are its place in the outbox.
CREATE OR REPLACE FUNCTION webhooks.keep_deliveries(p_attempts jsonb, p_keep bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    old bigint[];
BEGIN
    INSERT INTO webhooks.delivery (
        hook_id, app_id, event, event_id, kind, created_at, attempted_at, attempt, is_delivered, response_status,
        latency_ms, error, lane,
        lane_position, lane_number)
    SELECT (a.v ->> 'hook')::uuid, (a.v ->> 'app')::uuid, (a.v ->> 'event')::bigint, (a.v ->> 'id')::uuid,
        a.v ->> 'kind',
        timestamptz 'epoch' + (a.v ->> 'created_at')::bigint * interval '1 microsecond',
        timestamptz 'epoch' + (a.v ->> 'attempted_at')::bigint * interval '1 microsecond', (a.v ->> 'attempt')::bigint,
        (a.v ->> 'delivered')::boolean, (a.v ->> 'status')::bigint, (a.v ->> 'latency')::bigint, a.v ->> 'error',
        (a.v ->> 'lane')::uuid, (a.v ->> 'position')::bigint, (a.v ->> 'number')::bigint
    FROM jsonb_array_elements(p_attempts) WITH ORDINALITY a(v, n)
    WHERE EXISTS (SELECT FROM webhooks.hook h WHERE h.id = (a.v ->> 'hook')::uuid) ORDER BY a.n;
    WITH gone AS (
        DELETE FROM webhooks.delivery d
        USING (SELECT DISTINCT (a.v ->> 'hook')::uuid AS id FROM jsonb_array_elements(p_attempts) a(v)) h
        WHERE d.hook_id = h.id AND d.number <= (
            SELECT o.number FROM webhooks.delivery o WHERE o.hook_id = h.id
            ORDER BY o.number DESC OFFSET p_keep LIMIT 1)
        RETURNING d.event
    )
    SELECT array_agg(DISTINCT g.event) INTO old FROM gone g;
    PERFORM webhooks.collect(old);
END
$$;

-- Sends an event of a hook again. An event that waits for a retry becomes due immediately. A delivered one is added to
-- the outbox again, in a separate lane, so that it delays no other event. A hook may have `p_limit` such lanes.
-- Outcomes: 'ok', 'not_found', 'inactive', 'too_many'.
CREATE OR REPLACE FUNCTION webhooks.redeliver(p_app uuid, p_hook uuid, p_event uuid, p_limit bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    hook_status text := (SELECT h.status FROM webhooks.hook h WHERE h.id = p_hook AND h.app_id = p_app);
    d webhooks.delivery;
    e webhooks.event;
    own_lane uuid := gen_random_uuid();
    bytes bigint;
BEGIN
    IF hook_status IS NULL THEN RETURN 'not_found'; END IF;
    SELECT * INTO d FROM webhooks.delivery x WHERE x.hook_id = p_hook AND x.event_id = p_event
    ORDER BY x.number DESC LIMIT 1;
    IF NOT FOUND THEN RETURN 'not_found'; END IF;
    IF hook_status <> 'active' THEN RETURN 'inactive'; END IF;
    IF NOT d.is_delivered THEN
        PERFORM FROM webhooks.outbox o
        WHERE o.hook_id = p_hook AND o.lane = d.lane AND o.position = d.lane_position AND o.number = d.lane_number
            AND o.event = d.event;
        IF FOUND THEN
            UPDATE webhooks.lane l SET due_at = least(l.due_at, clock_timestamp())
            WHERE l.hook_id = p_hook AND l.lane = d.lane AND l.claim IS NULL;
            RETURN 'ok';
        END IF;
    END IF;
    -- Lock the event, so that it is not removed in between.
    SELECT * INTO e FROM webhooks.event x WHERE x.id = d.event FOR SHARE;
    IF NOT FOUND THEN RETURN 'not_found'; END IF;
    -- Count the lanes in one transaction at a time.
    PERFORM pg_advisory_xact_lock(hashtextextended('redeliver ' || p_hook, 0));
    IF (SELECT count(*) FROM webhooks.lane l WHERE l.hook_id = p_hook AND l.is_again) >= p_limit THEN
        RETURN 'too_many';
    END IF;
    bytes := webhooks.event_bytes(e.facts, e.parts);
    INSERT INTO webhooks.lane (hook_id, lane, app_id, is_again, bytes) VALUES (p_hook, own_lane, p_app, true, bytes);
    INSERT INTO webhooks.outbox (hook_id, lane, position, number, event, size)
    VALUES (p_hook, own_lane, nextval('webhooks.number'), 0, e.id, bytes);
    RETURN 'ok';
END
$$;

-- Returns the pending bytes of each hook that has any. `is_inactive`: no events are recorded for the hook, and its
-- undelivered events are kept.
CREATE OR REPLACE FUNCTION webhooks.waiting()
RETURNS TABLE (hook_id uuid, app_id uuid, is_inactive boolean, inactive_since timestamptz, bytes bigint)
LANGUAGE sql STABLE ROWS 100 AS $$
    SELECT h.id, h.app_id, h.status <> 'active', h.inactive_since, w.bytes
    FROM (SELECT l.hook_id, sum(l.bytes)::bigint AS bytes FROM webhooks.lane l GROUP BY l.hook_id) w
    JOIN webhooks.hook h ON h.id = w.hook_id
    ORDER BY h.app_id, h.id
$$;

-- Deactivates an active hook, because the hook or its app has too many pending bytes.
CREATE OR REPLACE FUNCTION webhooks.end_recording(p_id uuid, p_reason text) RETURNS SETOF webhooks.hook
LANGUAGE sql VOLATILE ROWS 1 AS $$
    UPDATE webhooks.hook h
    SET status = 'inactive', status_reason = p_reason, verify_at = NULL, verified_at = NULL,
        inactive_since = clock_timestamp()
    WHERE h.id = p_id AND h.status = 'active'
    RETURNING h.*
$$;

-- Makes the next sweep delete the undelivered events of an inactive hook.
CREATE OR REPLACE FUNCTION webhooks.give_away(p_id uuid) RETURNS SETOF webhooks.hook
LANGUAGE sql VOLATILE ROWS 1 AS $$
    UPDATE webhooks.hook h SET inactive_since = 'epoch' WHERE h.id = p_id AND h.status = 'inactive' RETURNING h.*
$$;

-- Deactivates the hooks of suspended apps, and returns them.
CREATE OR REPLACE FUNCTION webhooks.end_suspended() RETURNS SETOF webhooks.hook
LANGUAGE sql VOLATILE ROWS 1 SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE webhooks.hook h
    SET status = 'inactive', status_reason = 'The app is suspended', verify_at = NULL, verified_at = NULL,
        inactive_since = coalesce(h.inactive_since, clock_timestamp())
    FROM conversations.app a
    WHERE h.status <> 'inactive' AND a.id = h.app_id AND a.suspended
    RETURNING h.*
$$;

-- Revokes a server token. With `p_ends_hooks` it also deactivates the hooks registered with it, even if the token was
-- revoked before. `name` is NULL if the token did not exist. No row: there was nothing to do. Only the owner of the
-- database may call it.
CREATE OR REPLACE FUNCTION webhooks.revoke_token(p_token uuid, p_ends_hooks boolean)
RETURNS TABLE (name text, ended uuid[])
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
#variable_conflict use_column
DECLARE
    revoked text;
    hooks uuid[] := '{}';
BEGIN
    -- Waits for running registrations.
    DELETE FROM conversations.server_token t WHERE t.id = p_token RETURNING t.name INTO revoked;
    IF p_ends_hooks THEN
        -- This statement is separate from the first, so that it sees the hooks that these have registered.
        WITH hook AS (
            UPDATE webhooks.hook h
            SET status = 'inactive', status_reason = 'The server token that registered it was revoked',
                verify_at = NULL, verified_at = NULL,
                inactive_since = coalesce(h.inactive_since, clock_timestamp())
            WHERE h.token_id = p_token AND h.status <> 'inactive'
            RETURNING h.id
        )
        SELECT coalesce(array_agg(x.id ORDER BY x.id), '{}') INTO hooks FROM hook x;
    END IF;
    IF revoked IS NOT NULL OR hooks <> '{}' THEN RETURN QUERY SELECT revoked, hooks; END IF;
END
$$;

-- Deletes a batch of expired rows:
-- - undelivered events of hooks that have been inactive for longer than `p_keep` seconds;
-- - attempts that are older than that;
-- - all rows of hooks that no longer exist.
--
-- It processes the hooks in the order of their ids, after `p_after` (NULL: from the first one), up to `p_limit` rows or
-- hooks. `next_after` is the hook to continue after; NULL: none are left. One call works at a time; a concurrent one
-- returns immediately.
CREATE OR REPLACE FUNCTION webhooks.sweep(p_keep bigint, p_limit bigint, p_after uuid, OUT removed bigint,
    OUT next_after uuid)
LANGUAGE plpgsql VOLATILE SET strata.sweeping = 'on' SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off AS $$
DECLARE
    before constant timestamptz := clock_timestamp() - p_keep * interval '1 second';
    looked_at bigint := 0;
    count bigint;
    place uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
    present uuid;
BEGIN
    removed := 0;
    IF NOT pg_try_advisory_xact_lock(126943972913260) THEN RETURN; END IF;
    LOOP
        -- Each of these reads one entry of an index.
        present := least(
            (SELECT x.hook_id FROM webhooks.outbox x WHERE x.hook_id > place ORDER BY x.hook_id LIMIT 1),
            (SELECT x.hook_id FROM webhooks.lane x WHERE x.hook_id > place ORDER BY x.hook_id LIMIT 1),
            (SELECT x.hook_id FROM webhooks.delivery x WHERE x.hook_id > place ORDER BY x.hook_id LIMIT 1));
        IF present IS NULL THEN RETURN; END IF;
        -- A locked hook cannot be activated before this transaction ends.
        IF webhooks.is_gone(present) THEN
            removed := removed + webhooks.sweep_owed(present, p_limit - removed);
            DELETE FROM webhooks.delivery d WHERE d.ctid = ANY (ARRAY(
                SELECT x.ctid FROM webhooks.delivery x WHERE x.hook_id = present
                ORDER BY x.number LIMIT p_limit - removed FOR UPDATE SKIP LOCKED));
            GET DIAGNOSTICS count = ROW_COUNT;
            removed := removed + count;
        ELSE
            PERFORM FROM webhooks.hook h WHERE h.id = present AND h.status = 'inactive'
                AND h.inactive_since < before FOR UPDATE SKIP LOCKED;
            IF FOUND THEN removed := removed + webhooks.sweep_owed(present, p_limit - removed); END IF;
            -- Attempts are numbered approximately in the order of their times.
            IF (SELECT x.attempted_at FROM webhooks.delivery x WHERE x.hook_id = present
                ORDER BY x.number LIMIT 1) < before
            THEN
                DELETE FROM webhooks.delivery d WHERE d.ctid = ANY (ARRAY(
                    SELECT x.ctid FROM webhooks.delivery x WHERE x.hook_id = present AND x.attempted_at < before
                    ORDER BY x.number LIMIT p_limit - removed FOR UPDATE SKIP LOCKED));
                GET DIAGNOSTICS count = ROW_COUNT;
                removed := removed + count;
            END IF;
        END IF;
        -- This hook may have more rows.
        EXIT WHEN removed >= p_limit;
        place := present;
        looked_at := looked_at + 1;
        EXIT WHEN looked_at >= p_limit;
    END LOOP;
    next_after := place;
END
$$;

-- True if no hook has this id any longer.
CREATE OR REPLACE FUNCTION webhooks.is_gone(p_id uuid) RETURNS boolean
LANGUAGE sql STABLE
RETURN NOT EXISTS (SELECT FROM webhooks.hook h WHERE h.id = p_id);

-- Deletes unreferenced events that collect missed because its instance was killed, among the `p_limit` events after
-- `p_after` (NULL: from the first one). Returns the last examined one; NULL: none are left.
CREATE OR REPLACE FUNCTION webhooks.sweep_events(p_limit bigint, p_after bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET strata.sweeping = 'on' SET enable_seqscan = off AS $$
DECLARE
    events constant bigint[] := ARRAY(
        SELECT e.id FROM webhooks.event e WHERE e.id > coalesce(p_after, 0) ORDER BY e.id LIMIT p_limit);
BEGIN
    -- Events of the last minute may still reach collect.
    PERFORM webhooks.collect(ARRAY(
        SELECT e.id FROM webhooks.event e WHERE e.id = ANY (events)
            AND e.created_at < clock_timestamp() - interval '1 minute'));
    RETURN CASE WHEN cardinality(events) = p_limit THEN events[p_limit] END;
END
$$;

-- Deletes a batch of a hook's undelivered events, and its empty lanes. Returns the number of rows.
CREATE OR REPLACE FUNCTION webhooks.sweep_owed(p_hook uuid, p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    events bigint;
    gone_events bigint[];
    lanes bigint;
BEGIN
    WITH gone AS (
        DELETE FROM webhooks.outbox o WHERE o.ctid = ANY (ARRAY(
            SELECT x.ctid FROM webhooks.outbox x WHERE x.hook_id = p_hook
            ORDER BY x.lane, x.position, x.number LIMIT p_limit FOR UPDATE SKIP LOCKED))
        RETURNING o.event
    )
    SELECT count(*), array_agg(DISTINCT g.event) INTO events, gone_events FROM gone g;
    PERFORM webhooks.collect(gone_events);
    -- While events are left, nearly all lanes have some.
    IF events >= p_limit THEN RETURN events; END IF;
    DELETE FROM webhooks.lane l WHERE l.ctid = ANY (ARRAY(
        SELECT x.ctid FROM webhooks.lane x
        WHERE x.hook_id = p_hook
            AND NOT EXISTS (SELECT FROM webhooks.outbox o WHERE o.hook_id = x.hook_id AND o.lane = x.lane OFFSET 0)
        ORDER BY x.lane LIMIT p_limit - events FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS lanes = ROW_COUNT;
    RETURN events + lanes;
END
$$;

-- Returns the backlog for metrics: the lanes of active hooks, and the age of the oldest one that is due. It counts up
-- to 100,000 lanes of each kind, so that its duration is bounded.
CREATE OR REPLACE FUNCTION webhooks.backlog(OUT lanes bigint, OUT failing bigint, OUT oldest_seconds bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    hooks constant uuid[] := ARRAY(SELECT h.id FROM webhooks.hook h WHERE h.status = 'active');
    now_at constant timestamptz := clock_timestamp();
BEGIN
    SELECT count(*) INTO failing
    FROM (
        SELECT FROM unnest(hooks) h(id) CROSS JOIN LATERAL (
            SELECT FROM webhooks.lane x WHERE x.hook_id = h.id AND x.attempts > 0 ORDER BY x.due_at OFFSET 0) l
        LIMIT 100000) y;
    SELECT count(*) + failing INTO lanes
    FROM (
        SELECT FROM unnest(hooks) h(id) CROSS JOIN LATERAL (
            SELECT FROM webhooks.lane x WHERE x.hook_id = h.id AND x.attempts = 0 ORDER BY x.due_at OFFSET 0) l
        LIMIT 100000) y;
    SELECT coalesce(extract(epoch FROM now_at - min(l.due_at))::bigint, 0) INTO oldest_seconds
    FROM unnest(hooks) h(id) CROSS JOIN LATERAL (
        SELECT x.due_at FROM webhooks.lane x WHERE x.hook_id = h.id AND x.attempts = 0 AND x.due_at <= now_at
            AND x.claim IS NULL
        ORDER BY x.due_at LIMIT 1) l;
END
$$;

GRANT EXECUTE ON FUNCTION
    webhooks.lock_token, webhooks.create_hook, webhooks.begin_activation, webhooks.claim_verifications,
    webhooks.has_failed_lanes, webhooks.reset_lanes, webhooks.end_verification, webhooks.settle, webhooks.deactivate,
    webhooks.give_up, webhooks.claim, webhooks.read_lanes, webhooks.finish, webhooks.collect, webhooks.keep_deliveries,
    webhooks.redeliver, webhooks.waiting, webhooks.end_recording, webhooks.give_away, webhooks.end_suspended,
    webhooks.sweep, webhooks.is_gone, webhooks.sweep_events, webhooks.sweep_owed, webhooks.event_bytes, webhooks.backlog
TO strata_webhooks;
