-- SPDX-License-Identifier: Apache-2.0
-- The four schemas, and the roles of the services that use them.
--
-- Rules for all tables:
-- * The first key column of a table that a frequent statement uses is the conversation's id, so that the tables can be
--   sharded by it. The exceptions are directories with other keys: distinct_set, message_place, metadata.index_entry,
--   and tables by user.
-- * User ids are compared by their bytes (COLLATE "C"). No user has the empty id: it represents the app's own server.
-- * Times come from the database's clock.
-- * Functions are in Functions/, as are the triggers that call them.

-- Roles belong to the cluster. So the migration of another database may create one between the check and the CREATE.
DO $$
DECLARE
    service_role text;
BEGIN
    FOREACH service_role IN ARRAY ARRAY[
        'strata_conversations', 'strata_metadata', 'strata_webhooks', 'strata_console'
    ] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = service_role) THEN
                EXECUTE format('CREATE ROLE %I LOGIN', service_role);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;

CREATE SCHEMA conversations;
CREATE SCHEMA metadata;
CREATE SCHEMA webhooks;
CREATE SCHEMA console;

GRANT USAGE ON SCHEMA conversations TO strata_conversations, strata_metadata, strata_webhooks;
GRANT USAGE ON SCHEMA metadata TO strata_metadata, strata_conversations;
GRANT USAGE ON SCHEMA webhooks TO strata_webhooks, strata_conversations, strata_metadata;
GRANT USAGE ON SCHEMA console TO strata_console;
