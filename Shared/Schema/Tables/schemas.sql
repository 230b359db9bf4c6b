-- SPDX-License-Identifier: Apache-2.0
-- The three schemas and the roles of the services that use them.
--
-- Rules that all tables follow:
-- * A table that a hot statement touches has the conversation's id as its first key column, so that the tables can be split by it. Directories with keys of
--   their own are the exceptions: distinct_set, message_place, metadata.index_entry, and tables by user.
-- * User ids compare by their bytes (COLLATE "C"). The empty id is no user's: it stands for the app's own server.
-- * Times are the database's.
-- * Functions stand in Functions/, and so do the triggers that call them.

-- Roles belong to the cluster, so another database's migration may make one between the check and the CREATE.
DO $$
DECLARE
    service_role text;
BEGIN
    FOREACH service_role IN ARRAY ARRAY['strata_conversations', 'strata_metadata', 'strata_webhooks'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = service_role) THEN EXECUTE format('CREATE ROLE %I LOGIN', service_role); END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;

CREATE SCHEMA conversations;
CREATE SCHEMA metadata;
CREATE SCHEMA webhooks;

GRANT USAGE ON SCHEMA conversations TO strata_conversations, strata_metadata;
GRANT USAGE ON SCHEMA metadata TO strata_metadata, strata_conversations;
GRANT USAGE ON SCHEMA webhooks TO strata_webhooks, strata_conversations, strata_metadata;
