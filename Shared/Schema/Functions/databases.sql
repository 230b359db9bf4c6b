-- SPDX-License-Identifier: Apache-2.0
-- The apps of this database, among the databases of the installation.

-- True if the app lives in another database, is not served, or is about to arrive. Background tasks leave its rows
-- alone.
CREATE OR REPLACE FUNCTION conversations.is_away(p_app uuid) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversations.app_move m WHERE m.app_id = p_app AND m.state <> 'copying');
END
$$;

-- Returns the name of the database, the apps that are away with their states, and those that have arrived from another
-- database with the times, in microseconds since 1970.
CREATE OR REPLACE FUNCTION conversations.departures(
    OUT name text, OUT app_ids uuid[], OUT states text[], OUT arrived uuid[], OUT arrived_at bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT d.name INTO departures.name FROM conversations.database d WHERE d.is_only;
    SELECT coalesce(array_agg(m.app_id), '{}'), coalesce(array_agg(m.state), '{}')
    INTO departures.app_ids, departures.states
    FROM (SELECT x.app_id, x.state FROM conversations.app_move x ORDER BY x.app_id) m
    WHERE m.state <> 'copying';
    SELECT coalesce(array_agg(e.app_id), '{}'),
        coalesce(array_agg((extract(epoch FROM e.arrived_at) * 1000000)::bigint), '{}')
    INTO departures.arrived, departures.arrived_at
    FROM (SELECT x.app_id, x.arrived_at FROM conversations.app_epoch x ORDER BY x.app_id) e
    WHERE e.arrived_at IS NOT NULL AND NOT conversations.is_away(e.app_id);
END
$$;

-- Returns the time at which an app arrived from another database. NULL: it has always been here, or is not here.
CREATE OR REPLACE FUNCTION conversations.app_arrival(p_app uuid) RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT e.arrived_at FROM conversations.app_epoch e WHERE e.app_id = p_app);
END
$$;

-- Returns the state of an app in this database: 'here', or the state in conversations.app_move. NULL: it is unknown.
CREATE OR REPLACE FUNCTION conversations.app_state(p_app uuid) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce(
        (SELECT m.state FROM conversations.app_move m WHERE m.app_id = p_app AND m.state <> 'copying'),
        (SELECT 'here' FROM conversations.app a WHERE a.id = p_app));
END
$$;

-- Returns the apps that have left this database.
CREATE OR REPLACE FUNCTION conversations.moved_apps() RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        SELECT m.app_id FROM (SELECT x.app_id, x.state FROM conversations.app_move x ORDER BY x.app_id) m
        WHERE m.state = 'moved');
END
$$;

-- Returns the apps that arrived from another database, with the epochs that their clients know, while this database has
-- the epoch `p_epoch`.
CREATE OR REPLACE FUNCTION conversations.app_epochs(p_epoch text, OUT app_ids uuid[], OUT epochs text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT coalesce(array_agg(e.app_id), '{}'), coalesce(array_agg(e.value), '{}')
    INTO app_epochs.app_ids, app_epochs.epochs
    FROM (SELECT x.app_id, x.value, x.base FROM conversations.app_epoch x ORDER BY x.app_id) e WHERE e.base = p_epoch;
END
$$;

-- Gives the database its name, and a number that no other database of the installation has.
CREATE OR REPLACE FUNCTION conversations.name_database(p_name text, p_number bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    step CONSTANT bigint := 1024;
    made text;
    last bigint;
BEGIN
    UPDATE conversations.database d SET name = p_name, number = p_number WHERE d.is_only;
    FOREACH made IN ARRAY ARRAY[
        pg_get_serial_sequence('metadata.index_path', 'path_id'), pg_get_serial_sequence('webhooks.event', 'id'),
        pg_get_serial_sequence('webhooks.delivery', 'number'), 'webhooks.number'
    ] LOOP
        EXECUTE format('SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM %s', made) INTO last;
        -- The first number with the remainder behind all that the sequence has made.
        PERFORM setval(made::regclass, (last / step + 1) * step + p_number, false);
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.is_away, conversations.departures, conversations.app_arrival, conversations.app_state,
    conversations.app_epochs
TO strata_conversations, strata_metadata, strata_webhooks;

GRANT EXECUTE ON FUNCTION conversations.moved_apps TO strata_conversations;
