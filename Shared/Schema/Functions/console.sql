-- SPDX-License-Identifier: Apache-2.0
-- The console: sign-in of operators, their sessions, and the audit log.
--
-- An address is the peer's IP address as text, or empty if the peer has none.

-- Returns the network whose attempts to sign in count together: an IPv4 address, or 64 bits of an IPv6 address.
CREATE OR REPLACE FUNCTION console.network_of(p_address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    address constant inet := nullif(p_address, '')::inet;
BEGIN
    -- An IPv4 address in the form of IPv6.
    IF address <<= '::ffff:0:0/96'::inet THEN RETURN split_part(host(address), ':', -1); END IF;
    IF family(address) = 6 THEN
        RETURN network(set_masklen(address, 64))::text;
    END IF;
    RETURN coalesce(host(address), '');
END
$$;

-- Adds an entry to the audit log and returns its id. `p_outcome` NULL: a change begins, whose outcome finish adds.
CREATE OR REPLACE FUNCTION console.record(
    p_operator text, p_address text, p_action text, p_app uuid, p_target text, p_detail jsonb, p_outcome text)
RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    INSERT INTO console.audit (operator, address, action, app_id, target, detail, outcome)
    VALUES (p_operator, p_address, p_action, p_app, p_target, p_detail, p_outcome)
    RETURNING id
$$;

-- Adds the outcome of a change to its entry, once. It runs as the owner, because the service's role cannot change
-- entries.
CREATE OR REPLACE FUNCTION console.finish(p_id bigint, p_outcome text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE console.audit SET outcome = p_outcome WHERE id = p_id AND outcome IS NULL
$$;

-- Returns entries of the audit log, newest first. `p_before` NULL: from the newest.
CREATE OR REPLACE FUNCTION console.list_audit(p_before bigint, p_limit bigint) RETURNS SETOF console.audit
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN QUERY
    SELECT a.* FROM console.audit a WHERE a.id < coalesce(p_before, 9223372036854775807)
    ORDER BY a.id DESC LIMIT least(p_limit, 200);
END
$$;

-- Begins a sign-in with a password. Outcomes:
--   'ok'        `password_hash` is to be compared; NULL: no password is right
--   'too_many'  the attempt is refused for `retry_after` seconds
-- The attempt counts as failed until end_sign_in, so concurrent attempts cannot exceed the limits.
CREATE OR REPLACE FUNCTION console.begin_sign_in(
    p_name text, p_address text, OUT outcome text, OUT password_hash text, OUT retry_after bigint)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    span CONSTANT interval := '15 minutes';
    limit_by_name CONSTANT bigint := 5;
    limit_by_network CONSTANT bigint := 20;
    source CONSTANT text := console.network_of(p_address);
    now_at timestamptz;
    -- The attempts that must leave the span before another one is allowed.
    oldest timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('console ' || source, 0));
    now_at := clock_timestamp();
    SELECT greatest(
        (SELECT x.at FROM console.attempt x WHERE x.network = source AND x.at > now_at - span AND x.name = p_name
            ORDER BY x.at DESC OFFSET limit_by_name - 1 LIMIT 1),
        (SELECT x.at FROM console.attempt x WHERE x.network = source AND x.at > now_at - span
            ORDER BY x.at DESC OFFSET limit_by_network - 1 LIMIT 1)) INTO oldest;
    IF oldest IS NOT NULL THEN
        outcome := 'too_many';
        retry_after := ceil(extract(epoch FROM oldest + span - now_at));
        RETURN;
    END IF;
    INSERT INTO console.attempt (network, name, at) VALUES (source, p_name, now_at);
    SELECT o.password_hash INTO password_hash FROM console.operator o WHERE o.name = p_name AND o.disabled_at IS NULL;
    outcome := 'ok';
END
$$;

-- Locks an operator, so that no session opens while end_access ends all of them. The service's role cannot lock rows of
-- console.operator.
CREATE OR REPLACE FUNCTION console.lock_operator(p_name text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('console operator ' || p_name, 0))
$$;

-- Opens a session of an operator, for at most 12 hours.
CREATE OR REPLACE FUNCTION console.open_session(
    p_operator text, p_session bytea, p_csrf text, p_address text, p_detail jsonb)
RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO console.session (digest, operator, csrf, expires_at, address)
    VALUES (p_session, p_operator, p_csrf, clock_timestamp() + interval '12 hours', p_address);
    SELECT console.record(p_operator, p_address, 'sign_in', NULL, NULL, p_detail, 'ok')
$$;

-- Completes a sign-in whose password matched `p_password_hash`. Outcomes: 'ok', and 'refused' if the operator was
-- disabled or got another password meanwhile.
CREATE OR REPLACE FUNCTION console.end_sign_in(
    p_name text, p_password_hash text, p_session bytea, p_csrf text, p_address text, OUT outcome text, OUT role text)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    PERFORM console.lock_operator(p_name);
    SELECT o.role INTO role FROM console.operator o
    WHERE o.name = p_name AND o.password_hash = p_password_hash AND o.disabled_at IS NULL;
    IF NOT FOUND THEN
        outcome := 'refused';
        RETURN;
    END IF;
    DELETE FROM console.attempt x WHERE x.network = console.network_of(p_address) AND x.name = p_name;
    PERFORM console.open_session(p_name, p_session, p_csrf, p_address, NULL);
    outcome := 'ok';
END
$$;

-- Records a refused sign-in. An unknown name is not recorded, because it may be a password in the wrong field.
CREATE OR REPLACE FUNCTION console.refuse_sign_in(p_name text, p_address text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT console.record(
        coalesce((SELECT o.name FROM console.operator o WHERE o.name = p_name), ''), p_address, 'sign_in', NULL, NULL,
        NULL, 'refused')
$$;

-- Signs an operator in by a link, which is deleted. NULL: the link is unknown, used or expired, or its operator is
-- disabled.
CREATE OR REPLACE FUNCTION console.use_link(
    p_link bytea, p_session bytea, p_csrf text, p_address text, OUT operator text, OUT role text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM console.sign_in_link l USING console.operator o
    WHERE l.digest = p_link AND l.expires_at > clock_timestamp() AND o.name = l.operator AND o.disabled_at IS NULL
    RETURNING o.name, o.role INTO operator, role;
    IF NOT FOUND THEN RETURN; END IF;
    PERFORM console.open_session(operator, p_session, p_csrf, p_address, '{"by": "link"}');
END
$$;

-- Returns the operator of a session. No row: it has ended, or its operator is disabled. A session ends 30 minutes after
-- its last use. `p_is_used` false: the call is no use of it. The time of use is written at most once a minute.
CREATE OR REPLACE FUNCTION console.use_session(p_session bytea, p_is_used boolean DEFAULT true)
RETURNS TABLE (operator text, role text, csrf text)
LANGUAGE plpgsql VOLATILE ROWS 1 AS $$
DECLARE
    now_at CONSTANT timestamptz := clock_timestamp();
    used_at timestamptz;
BEGIN
    SELECT s.operator, o.role, s.csrf, s.last_used_at INTO operator, role, csrf, used_at
    FROM console.session s JOIN console.operator o ON o.name = s.operator
    WHERE s.digest = p_session AND s.expires_at > now_at AND s.last_used_at > now_at - interval '30 minutes'
        AND o.disabled_at IS NULL;
    IF NOT FOUND THEN RETURN; END IF;
    IF p_is_used AND used_at < now_at - interval '1 minute' THEN
        UPDATE console.session s SET last_used_at = now_at WHERE s.digest = p_session;
    END IF;
    RETURN NEXT;
END
$$;

-- Ends a session. A session that has ended is no error.
CREATE OR REPLACE FUNCTION console.end_session(p_session bytea, p_address text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    WITH ended AS (DELETE FROM console.session s WHERE s.digest = p_session RETURNING s.operator)
    SELECT console.record(e.operator, p_address, 'sign_out', NULL, NULL, NULL, 'ok') FROM ended e
$$;

-- Deletes entries of the audit log that are older than 400 days. It runs as the owner, because the service's role
-- cannot delete entries.
CREATE OR REPLACE FUNCTION console.sweep_audit(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM console.audit a WHERE a.id = ANY (ARRAY(
        SELECT x.id FROM console.audit x WHERE x.at < clock_timestamp() - interval '400 days'
        ORDER BY x.at LIMIT p_limit));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

-- Deletes ended sessions, expired links, attempts that count no longer, and old entries of the audit log. Returns the
-- greatest number of rows of one kind; call it again while it is `p_limit`.
CREATE OR REPLACE FUNCTION console.sweep(p_limit bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    now_at CONSTANT timestamptz := clock_timestamp();
    removed bigint;
    most bigint := console.sweep_audit(p_limit);
BEGIN
    DELETE FROM console.session s WHERE s.digest = ANY (ARRAY(
        SELECT x.digest FROM console.session x WHERE x.expires_at < now_at ORDER BY x.expires_at LIMIT p_limit));
    GET DIAGNOSTICS removed = ROW_COUNT;
    most := greatest(most, removed);
    DELETE FROM console.session s WHERE s.digest = ANY (ARRAY(
        SELECT x.digest FROM console.session x WHERE x.last_used_at < now_at - interval '30 minutes'
        ORDER BY x.last_used_at LIMIT p_limit));
    GET DIAGNOSTICS removed = ROW_COUNT;
    most := greatest(most, removed);
    DELETE FROM console.sign_in_link l WHERE l.digest = ANY (ARRAY(
        SELECT x.digest FROM console.sign_in_link x WHERE x.expires_at < now_at ORDER BY x.expires_at LIMIT p_limit));
    GET DIAGNOSTICS removed = ROW_COUNT;
    most := greatest(most, removed);
    DELETE FROM console.attempt a WHERE a.ctid = ANY (ARRAY(
        SELECT x.ctid FROM console.attempt x WHERE x.at < now_at - interval '15 minutes' ORDER BY x.at LIMIT p_limit));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN greatest(most, removed);
END
$$;

GRANT EXECUTE ON FUNCTION
    console.network_of, console.record, console.finish, console.list_audit, console.begin_sign_in,
    console.lock_operator, console.open_session, console.end_sign_in, console.refuse_sign_in, console.use_link,
    console.use_session, console.end_session, console.sweep_audit, console.sweep TO strata_console;

-- The functions below are those of the command `strata operator`, which runs as the owner. They return false if there
-- is no such operator.

-- Records a change by the command. Returns true.
CREATE OR REPLACE FUNCTION console.record_command(p_action text, p_name text, p_detail jsonb) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
    SELECT console.record('', '', p_action, NULL, p_name, p_detail, 'ok') IS NOT NULL
$$;

-- Ends all sessions of an operator, and deletes their link.
CREATE OR REPLACE FUNCTION console.end_access(p_name text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- Links first: the deletion waits for a sign-in by the link, and the next statement sees its session.
    DELETE FROM console.sign_in_link l WHERE l.operator = p_name;
    DELETE FROM console.session s WHERE s.operator = p_name;
END
$$;

-- Makes an operator. `p_password_hash` NULL: they sign in by links only. False: the name is taken.
CREATE OR REPLACE FUNCTION console.create_operator(p_name text, p_password_hash text, p_role text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO console.operator (name, password_hash, role) VALUES (p_name, p_password_hash, p_role)
    ON CONFLICT DO NOTHING;
    RETURN FOUND AND console.record_command('operator_create', p_name, jsonb_build_object('role', p_role));
END
$$;

-- Disables an operator and ends their sessions.
CREATE OR REPLACE FUNCTION console.disable_operator(p_name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM console.lock_operator(p_name);
    UPDATE console.operator o SET disabled_at = coalesce(o.disabled_at, clock_timestamp()) WHERE o.name = p_name;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM console.end_access(p_name);
    RETURN console.record_command('operator_disable', p_name, NULL);
END
$$;

-- Lets an operator sign in again, with another role unless `p_role` is NULL.
CREATE OR REPLACE FUNCTION console.enable_operator(p_name text, p_role text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE console.operator o SET disabled_at = NULL, role = coalesce(p_role, o.role) WHERE o.name = p_name;
    RETURN FOUND
        AND console.record_command(
            'operator_enable', p_name, CASE WHEN p_role IS NOT NULL THEN jsonb_build_object('role', p_role) END);
END
$$;

-- Sets the password of an operator and ends their sessions.
CREATE OR REPLACE FUNCTION console.set_password(p_name text, p_password_hash text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM console.lock_operator(p_name);
    UPDATE console.operator o SET password_hash = p_password_hash WHERE o.name = p_name;
    IF NOT FOUND THEN RETURN false; END IF;
    PERFORM console.end_access(p_name);
    RETURN console.record_command('operator_password', p_name, NULL);
END
$$;

-- Makes a link that signs the operator in once, in place of an earlier one. `p_seconds` NULL: the link does not expire.
-- Also false if the operator is disabled.
CREATE OR REPLACE FUNCTION console.create_link(p_name text, p_link bytea, p_seconds bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM console.lock_operator(p_name);
    DELETE FROM console.sign_in_link l WHERE l.operator = p_name;
    INSERT INTO console.sign_in_link (digest, operator, expires_at)
    SELECT p_link, o.name, coalesce(clock_timestamp() + p_seconds * interval '1 second', 'infinity')
    FROM console.operator o WHERE o.name = p_name AND o.disabled_at IS NULL;
    RETURN FOUND AND console.record_command('operator_link', p_name, NULL);
END
$$;
