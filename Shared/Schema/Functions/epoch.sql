-- SPDX-License-Identifier: Apache-2.0
-- The epoch identifies the history to which positions and times belong. It changes when the database was restored, when
-- another server became primary, or when the clock was set back. Clients that know another epoch load everything again.

-- Begins a new epoch and returns it. Clients' positions and times are then invalid.
CREATE OR REPLACE FUNCTION conversations.renew_epoch() RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE conversations.epoch e
    SET value = lpad(to_hex(greatest(
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            -- The epoch increases even if the clock was set back.
            CASE WHEN e.value ~ '^[0-9a-f]{24}$' THEN ('x' || lpad(substr(e.value, 1, 14), 16, '0'))::bit(64)::bigint
                + 1 ELSE 0 END)), 14, '0')
        || substr(replace(gen_random_uuid()::text, '-', ''), 1, 10)
    RETURNING e.value
$$;

-- Returns the end of the write-ahead log, the system's identifier and the timeline. NULL: the migrating role lacks the
-- permission, or the server lacks the function. The other checks must suffice.
CREATE OR REPLACE FUNCTION conversations.server_state(
    OUT reached bigint, OUT identifier bigint, OUT timeline bigint, OUT has_identifier boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    BEGIN
        -- Without this value, a shortened log is not detected.
        reached := pg_current_wal_flush_lsn() - '0/0'::pg_lsn;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
        reached := NULL;
    END;
    BEGIN
        SELECT s.system_identifier INTO identifier FROM pg_control_system() s;
        has_identifier := true;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
        has_identifier := false;
    END;
    BEGIN
        -- Use the timeline of the present write position. After a promotion, pg_control_checkpoint() shows the old one
        -- for minutes, until the first checkpoint.
        timeline := ('x' || lpad(substr(pg_walfile_name('0/0'::pg_lsn + reached), 1, 8), 16, '0'))::bit(64)::bigint;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
        timeline := NULL;
    END;
END
$$;

-- Returns the epoch and the end of the write-ahead log. It begins a new epoch if the database differs from its state at
-- the last call.
--
-- known, seen: the epoch and the end of the log that a process received last; null: none. If the log is shorter than
-- `seen`, the database was restored from a copy of the disk, which has the original's timeline and identifier. (Flushed
-- log survives every crash, so nothing else makes it shorter.) Services call this when they start and every 2 s. On a
-- replica nothing changes, and reached is null. It is also null if the role cannot read the end of the log.
--
-- If the database's clock is set back, its history changes, too. Clients replay from the time of the last packet that
-- they received. Packets carry times of this clock, and a replay begins 30 s before the requested time. If a clock that
-- was ahead is corrected, new entries have times before packets that clients already have, and a replay would miss
-- them. So the epoch changes if the clock goes back by more than a part of the 30 s.
--
-- clock_mark: a time that the clock has shown, at most 5 s behind the latest one while a service runs. One row is
-- written every 5 s; clients' writes cost nothing. A change of less than 5 s has no effect, and one of 14 s or more is
-- always detected. set_back_from: the time that the clock showed before it was last set back.
CREATE OR REPLACE FUNCTION conversations.check_epoch(known text, seen bigint) RETURNS TABLE (epoch text, reached bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tolerance CONSTANT interval := '5 seconds';
    stored conversations.epoch;
    server record;
    identifier bigint;
    line bigint;
    clock timestamptz;
    is_same boolean;
    was_set_back boolean;
BEGIN
    SELECT * INTO stored FROM conversations.epoch;
    epoch := stored.value;
    -- Nothing can be written, so nothing can have changed.
    IF current_setting('transaction_read_only')::boolean THEN
        RETURN NEXT;
        RETURN;
    END IF;
    server := conversations.server_state();
    reached := server.reached;
    identifier := CASE WHEN server.has_identifier THEN server.identifier ELSE stored.system_identifier END;
    line := coalesce(server.timeline, stored.timeline);
    -- Of concurrent calls, one decides, and the others see its result.
    FOR attempt IN 1..2 LOOP
        clock := clock_timestamp();
        was_set_back := coalesce(clock < stored.clock_mark - tolerance, false);
        is_same := stored.system_identifier IS NOT DISTINCT FROM identifier
            AND stored.timeline IS NOT DISTINCT FROM line;
        EXIT WHEN is_same AND NOT was_set_back AND NOT coalesce(known = stored.value AND reached < seen, false);
        IF attempt = 1 THEN
            SELECT * INTO stored FROM conversations.epoch FOR UPDATE;
            CONTINUE;
        END IF;
        IF stored.system_identifier IS NOT NULL OR is_same THEN stored.value := conversations.renew_epoch(); END IF;
        UPDATE conversations.epoch e
        SET system_identifier = identifier, timeline = line, clock_mark = clock,
            set_back_from = CASE WHEN was_set_back THEN stored.clock_mark ELSE e.set_back_from END;
        stored.clock_mark := clock;
    END LOOP;
    IF stored.clock_mark IS NULL OR clock > stored.clock_mark + tolerance THEN
        -- Do not wait for a concurrent update, for the disk or for a standby: losing a mark is harmless.
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE conversations.epoch e SET clock_mark = clock
        WHERE e.is_only = (SELECT o.is_only FROM conversations.epoch o FOR UPDATE SKIP LOCKED)
            AND (e.clock_mark IS NULL OR clock > e.clock_mark + tolerance);
    END IF;
    epoch := stored.value;
    RETURN NEXT;
END
$$;

-- Returns the epoch from check_epoch(known, seen), and whether clocks allow a complete replay from p_since.
--
-- The replay is uncertain in two cases:
-- - p_since is in the future, so a clock that was set back has shown it.
-- - p_since is near the time at which the clock was last set back. For some seconds, gateways still show times of the
--   old clock, even to clients that already know the new epoch. When the clock reaches these times again, old and new
--   times cannot be distinguished.
CREATE OR REPLACE FUNCTION conversations.check_replay(p_since timestamptz, known text, seen bigint)
RETURNS TABLE (epoch text, is_certain boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT c.epoch INTO epoch FROM conversations.check_epoch(known, seen) c;
    is_certain := p_since <= clock_timestamp() AND NOT EXISTS (
        SELECT FROM conversations.epoch e WHERE p_since BETWEEN e.set_back_from - interval '1 minute'
            AND e.set_back_from + interval '1 minute');
    RETURN NEXT;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.renew_epoch, conversations.check_replay TO strata_conversations;

GRANT EXECUTE ON FUNCTION
    conversations.check_epoch TO strata_conversations, strata_metadata;
