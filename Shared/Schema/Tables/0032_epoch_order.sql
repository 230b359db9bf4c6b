-- SPDX-License-Identifier: Apache-2.0
-- Epochs that can be put in order, and that notice an older state also where PostgreSQL does not say so.
--
-- Gateways hear of epochs from several processes, some of which may still be connected to the database of before. So an epoch begins with the time at
-- which it began: of two, the later is the greater (14 digits of microseconds, hexadecimal, then chance). Epochs of before this migration are shorter,
-- and older than any of these. A database keeps the one it has until there is a reason for another.

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

-- The epoch, another one if the cluster is not what it was when this was called last, and how far its write-ahead log reaches.
--
-- known, seen: what a process was told last; null if nothing. A log that has become shorter since was put back: a copy of the disk has the timeline and
-- the identifier of the original. (What has been flushed survives every crash, so nothing else makes it shorter.)
-- Services call this when they start and every now and then. On a replica nothing changes, and reached is null, as where the end of the log cannot be seen.
CREATE FUNCTION conversations.check_epoch(known text, seen bigint) RETURNS TABLE (epoch text, reached bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stored conversations.epoch;
    identifier bigint;
    line bigint;
    is_same boolean;
BEGIN
    SELECT * INTO stored FROM conversations.epoch;
    epoch := stored.value;
    IF pg_is_in_recovery() THEN
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
        is_same := stored.system_identifier IS NOT DISTINCT FROM identifier AND stored.timeline IS NOT DISTINCT FROM line;
        EXIT WHEN is_same AND NOT coalesce(known = stored.value AND reached < seen, false);
        IF attempt = 1 THEN
            SELECT * INTO stored FROM conversations.epoch FOR UPDATE;
            CONTINUE;
        END IF;
        IF stored.system_identifier IS NOT NULL OR is_same THEN stored.value := conversations.renew_epoch(); END IF;
        UPDATE conversations.epoch e SET system_identifier = identifier, timeline = line;
    END LOOP;
    epoch := stored.value;
    RETURN NEXT;
END
$$;

CREATE OR REPLACE FUNCTION conversations.check_epoch() RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.epoch FROM conversations.check_epoch(NULL, NULL) c
$$;

REVOKE ALL ON FUNCTION conversations.check_epoch(text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.check_epoch(text, bigint) TO strata_conversations, strata_metadata;
