-- SPDX-License-Identifier: Apache-2.0
-- Which history of the database this is.
--
-- Clients keep positions. After the database was restored to an older state, or a replica that had not heard of everything took over, the same positions
-- come to mean other changes; the epoch, which is shown beside them, then is another one. PostgreSQL itself says when: a restored cluster is on another
-- timeline, and one that was filled from a dump has another identifier. A copy of the disk has neither: then the operator calls renew_epoch().

CREATE TABLE conversations.epoch (
    is_only           boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    value             text NOT NULL,
    system_identifier bigint,
    timeline          bigint
);
INSERT INTO conversations.epoch (value) VALUES (substr(replace(gen_random_uuid()::text, '-', ''), 1, 16));

CREATE FUNCTION conversations.renew_epoch() RETURNS text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE conversations.epoch SET value = substr(replace(gen_random_uuid()::text, '-', ''), 1, 16) RETURNING value
$$;

-- The epoch, another one if the cluster is not what it was when this was called last. Services call it when they start and every now and then.
CREATE FUNCTION conversations.check_epoch() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known conversations.epoch;
    identifier bigint;
    line bigint;
BEGIN
    SELECT * INTO known FROM conversations.epoch;
    BEGIN
        SELECT s.system_identifier INTO identifier FROM pg_control_system() s;
        SELECT c.timeline_id INTO line FROM pg_control_checkpoint() c;
    EXCEPTION WHEN insufficient_privilege THEN
        RETURN known.value;  -- the migrating role may not look: then only renew_epoch() changes it
    END;
    IF known.system_identifier IS NOT DISTINCT FROM identifier AND known.timeline IS NOT DISTINCT FROM line THEN RETURN known.value; END IF;
    -- Of several at once one decides, and the others see what it did.
    SELECT * INTO known FROM conversations.epoch FOR UPDATE;
    IF known.system_identifier IS NOT DISTINCT FROM identifier AND known.timeline IS NOT DISTINCT FROM line THEN RETURN known.value; END IF;
    IF known.system_identifier IS NOT NULL THEN known.value := conversations.renew_epoch(); END IF;
    UPDATE conversations.epoch SET system_identifier = identifier, timeline = line;
    RETURN known.value;
END
$$;
