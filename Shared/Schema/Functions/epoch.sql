-- SPDX-License-Identifier: Apache-2.0
-- The history that positions and times belong to. The epoch changes when the database is not what it was: restored, another primary, or a clock
-- that went back. Clients that know another epoch load everything again.

-- Begins another epoch, and returns it: what clients know of positions and times no longer holds.
CREATE OR REPLACE FUNCTION conversations.renew_epoch() RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE conversations.epoch e
    SET value = lpad(to_hex(greatest(
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            -- Also where the clock has gone back.
            CASE WHEN e.value ~ '^[0-9a-f]{24}$' THEN ('x' || lpad(substr(e.value, 1, 14), 16, '0'))::bit(64)::bigint + 1 ELSE 0 END)), 14, '0')
        || substr(replace(gen_random_uuid()::text, '-', ''), 1, 10)
    RETURNING e.value
$$;

-- The epoch, another one if the database is not what it was when this was called last, and how far its write-ahead log reaches.
--
-- known, seen: what a process was told last; null if nothing. A log that has become shorter since was put back: a copy of the disk has the timeline and
-- the identifier of the original. (What has been flushed survives every crash, so nothing else makes it shorter.) Services call this when they start and
-- every 2 s. On a replica nothing changes, and reached is null, as where the end of the log cannot be seen.
--
-- A clock of the database that goes back is another history, too. Clients replay from the time of the last packet they got. Packets carry times of this
-- clock, and a replay begins 30 s before the time asked for. If the clock is put right after it was ahead, entries are made whose times lie before packets
-- that clients have: a replay would not bring them. So when the clock has gone back by more than a part of the 30 s, the epoch changes.
--
-- clock_mark: a time that the clock has shown. It is at most 5 s behind the latest one as long as a service runs. One row is written every 5 s; writes of
-- clients cost nothing. Set back by less than 5 s nothing happens, and by 14 s or more it is always noticed. set_back_from: what the clock had shown when it
-- went back last.
CREATE OR REPLACE FUNCTION conversations.check_epoch(known text, seen bigint) RETURNS TABLE (epoch text, reached bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tolerance CONSTANT interval := '5 seconds';
    stored conversations.epoch;
    identifier bigint;
    line bigint;
    clock timestamptz;
    is_same boolean;
    was_set_back boolean;
BEGIN
    SELECT * INTO stored FROM conversations.epoch;
    epoch := stored.value;
    -- Nothing can be written, and so nothing can have changed.
    IF current_setting('transaction_read_only')::boolean THEN
        RETURN NEXT;
        RETURN;
    END IF;
    BEGIN
        reached := pg_current_wal_flush_lsn() - '0/0'::pg_lsn;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
        -- Then a log that has become shorter goes unnoticed.
        reached := NULL;
    END;
    BEGIN
        SELECT s.system_identifier INTO identifier FROM pg_control_system() s;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
        -- The migrating role may not look, or there is nothing to see: then the others must show it.
        identifier := stored.system_identifier;
    END;
    BEGIN
        -- The timeline of what is written now: pg_control_checkpoint() shows the one of before until the first checkpoint after a promotion, minutes later.
        line := ('x' || lpad(substr(pg_walfile_name('0/0'::pg_lsn + reached), 1, 8), 16, '0'))::bit(64)::bigint;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported THEN
        line := NULL;
    END;
    line := coalesce(line, stored.timeline);
    -- Of several at once one decides, and the others see what it did.
    FOR attempt IN 1..2 LOOP
        clock := clock_timestamp();
        was_set_back := coalesce(clock < stored.clock_mark - tolerance, false);
        is_same := stored.system_identifier IS NOT DISTINCT FROM identifier AND stored.timeline IS NOT DISTINCT FROM line;
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
        -- One that is about to do the same is not waited for, nor is the disk or a standby: a mark that is lost does no harm.
        PERFORM set_config('synchronous_commit', 'off', true);
        UPDATE conversations.epoch e SET clock_mark = clock
        WHERE e.is_only = (SELECT o.is_only FROM conversations.epoch o FOR UPDATE SKIP LOCKED)
            AND (e.clock_mark IS NULL OR clock > e.clock_mark + tolerance);
    END IF;
    epoch := stored.value;
    RETURN NEXT;
END
$$;

-- The epoch, as check_epoch(known, seen) says it, and whether a replay from p_since brings everything as far as clocks are concerned.
--
-- Not if that time has not come yet: only a clock that went back has shown it. Nor about the time at which the clock went back last. For some seconds
-- gateways still show times of the clock as it was, also to clients that have heard of the new epoch already. When the clock comes to these times once
-- more, nothing tells the ones from the others.
CREATE OR REPLACE FUNCTION conversations.check_replay(p_since timestamptz, known text, seen bigint) RETURNS TABLE (epoch text, is_certain boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT c.epoch INTO epoch FROM conversations.check_epoch(known, seen) c;
    is_certain := p_since <= clock_timestamp() AND NOT EXISTS (
        SELECT FROM conversations.epoch e WHERE p_since BETWEEN e.set_back_from - interval '1 minute' AND e.set_back_from + interval '1 minute');
    RETURN NEXT;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.renew_epoch, conversations.check_replay TO strata_conversations;

GRANT EXECUTE ON FUNCTION
    conversations.check_epoch TO strata_conversations, strata_metadata;
