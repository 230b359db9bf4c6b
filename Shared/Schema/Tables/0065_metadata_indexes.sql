-- SPDX-License-Identifier: Apache-2.0
-- Indexes of metadata: an app names key paths by which its conversations can be found.

-- Whether the conversation's values are in index_entry. Set by the conversation's creation or by the building of an index, and never cleared: a writer holds
-- the row's lock anyway, so that the conversations of an app without indexes cost nothing more.
ALTER TABLE conversations.conversation ADD COLUMN is_indexed boolean NOT NULL DEFAULT false;

-- The key paths that an app has named.
--
-- fence: an index is built, or its entries are removed, once this transaction and all before it have ended: they may not have seen this row, or its removal.
-- built_up_to: the last conversation, by id, that the building has looked at.
-- ready_at: all conversations were looked at. NULL: it is being built.
CREATE TABLE metadata.index_path (
    app_id      uuid NOT NULL,
    path_id     bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    path        text COLLATE "C" NOT NULL CHECK (path <> '' AND octet_length(path) <= 1024),
    created_at  timestamptz NOT NULL DEFAULT now(),
    fence       xid8,
    built_up_to uuid,
    ready_at    timestamptz,
    removed_at  timestamptz,
    PRIMARY KEY (app_id, path_id)
);
CREATE UNIQUE INDEX index_path_of ON metadata.index_path (app_id, path) WHERE removed_at IS NULL;

-- The value of a conversation at an indexed path, for the app (no user) and for each user who is or was a participant: a former participant keeps the value
-- that was there when they left. Rows without a value do not exist. It is a directory: a page of a query is a range of index_entry_page.
--
-- value_key: see metadata.index_key. created_at: the conversation's.
CREATE TABLE metadata.index_entry (
    conversation_id uuid NOT NULL,
    path_id         bigint NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    app_id          uuid NOT NULL,
    value_key       bytea NOT NULL,
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, path_id, user_id)
);
CREATE INDEX index_entry_page ON metadata.index_entry (app_id, path_id, user_id, value_key, created_at DESC, conversation_id DESC);
