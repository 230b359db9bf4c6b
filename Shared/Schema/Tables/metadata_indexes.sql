-- SPDX-License-Identifier: Apache-2.0
-- Indexes of metadata: they find conversations by the values at key paths that their app has declared.

-- The key paths of an app.
CREATE TABLE metadata.index_path (
    app_id      uuid NOT NULL,
    -- Unique among all databases, see conversations.database.
    path_id     bigint NOT NULL GENERATED ALWAYS AS IDENTITY (INCREMENT BY 1024),
    path        text COLLATE "C" NOT NULL CHECK (path <> '' AND octet_length(path) <= 1024),
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- The transaction that wrote the row. It and earlier ones may have missed the row or its removal. So building the
    -- index, or removing its entries, begins when all of them have ended.
    fence       xid8,
    -- The cursor of the build: the largest conversation id that it has read. NULL: none.
    built_up_to uuid,
    -- The time at which all conversations had been read. NULL: the index is being built.
    ready_at    timestamptz,
    -- The time at which the app removed the index. NULL: the index exists.
    removed_at  timestamptz,
    PRIMARY KEY (app_id, path_id)
);
CREATE UNIQUE INDEX index_path_of ON metadata.index_path (app_id, path) WHERE removed_at IS NULL;
-- Indexes that are being built or removed.
CREATE INDEX index_path_unfinished ON metadata.index_path (app_id) WHERE ready_at IS NULL OR removed_at IS NOT NULL;

-- The value of a conversation at an indexed path: for the app, and for each present and former participant. A former
-- participant keeps the value from the time of leaving. Conversations without a value have no row.
CREATE TABLE metadata.index_entry (
    conversation_id uuid NOT NULL,
    path_id         bigint NOT NULL,
    -- The empty text: the app.
    user_id         text COLLATE "C" NOT NULL,
    app_id          uuid NOT NULL,
    -- metadata.index_key of the value.
    value_key       bytea NOT NULL,
    -- The time at which the conversation was created.
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, path_id, user_id)
);
-- A page of a query is a range of this index.
CREATE INDEX index_entry_page ON metadata.index_entry (
    app_id, path_id, user_id, value_key, created_at DESC, conversation_id DESC);
