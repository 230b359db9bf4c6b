-- SPDX-License-Identifier: Apache-2.0
-- This database among those of the installation, and the apps that move between them.

CREATE TABLE conversations.database (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- The name by which services and the command know the database. NULL: it is the installation's only one.
    name    text COLLATE "C",
    -- The remainder, modulo 1024, of the numbers that the database's sequences make. Each database has another one, so
    -- rows can move between databases with their numbers. See conversations.name_database.
    number  bigint NOT NULL DEFAULT 1 CHECK (number BETWEEN 1 AND 1024)
);
INSERT INTO conversations.database DEFAULT VALUES;

CREATE TABLE conversations.app_move (
    app_id     uuid PRIMARY KEY,
    -- The name of the other database.
    other      text COLLATE "C" NOT NULL,
    -- In the database that the app leaves:
    -- - copying: the app lives here.
    -- - paused: the app is not served.
    -- - moved: the app lives in the other database. The row stays.
    -- In the database that the app enters:
    -- - arriving: the app does not live here yet. Afterwards the row is deleted.
    state      text NOT NULL CHECK (state IN ('copying', 'paused', 'moved', 'arriving')),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE conversations.app_move_part (
    app_id     uuid NOT NULL,
    -- The table, or a partition of it.
    relation   text COLLATE "C" NOT NULL,
    -- The place of the next row to copy. NULL: all are copied.
    next_row   tid DEFAULT '(0,0)',
    -- The block before which the copy may end. Later rows are in app_move_row.
    end_block  bigint NOT NULL,
    -- The table's file. Another one: the table was rewritten, and its rows have other places.
    file       oid NOT NULL,
    PRIMARY KEY (app_id, relation)
);

CREATE TABLE conversations.app_move_row (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app_id   uuid NOT NULL,
    -- The table with the changed row, and the row's primary key by column.
    relation text COLLATE "C" NOT NULL,
    key      jsonb NOT NULL
);
CREATE INDEX app_move_row_of_app ON conversations.app_move_row (app_id, number);

CREATE TABLE conversations.app_epoch (
    app_id     uuid PRIMARY KEY,
    -- The epoch that clients of the app know from the database that it left.
    value      text NOT NULL,
    -- The epoch of this database when the app arrived. With another one, `value` does not hold.
    base       text NOT NULL,
    -- The time of the switch. If a database is restored to a time before it lost the app, the later arrival decides
    -- where the app lives. NULL: it has not arrived yet.
    arrived_at timestamptz
);
