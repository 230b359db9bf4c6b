-- SPDX-License-Identifier: Apache-2.0
-- The metadata of conversations: one row for each leaf, so that setting one of 10,000 keys writes one row.
--
-- A path consists of the keys to a value, joined by dots. Keys consist of letters, digits, - and _. A subtree is the
-- range from 'a.b.' up to 'a.b/', because '/' follows '.' in the C collation. Within a conversation, no path is a
-- prefix, by keys, of another one.

-- Leaves. Values change far more often than keys are added and removed. The fill factor keeps such an update on its
-- page, without touching the index.
CREATE TABLE metadata.leaf (
    conversation_id uuid NOT NULL,
    path            text COLLATE "C" NOT NULL CHECK (path <> '' AND octet_length(path) <= 1024),
    value           text NOT NULL CHECK (octet_length(value) <= 2048),
    -- The position of the change that wrote the value.
    position        bigint NOT NULL,
    PRIMARY KEY (conversation_id, path)
) WITH (fillfactor = 85);

-- The size of a conversation's tree, so that the limit is checked without counting. Written under the conversation's
-- lock. Conversations that never had metadata have no row.
CREATE TABLE metadata.tree (
    conversation_id uuid PRIMARY KEY,
    -- The bytes of all paths and values. NULL: not counted yet.
    bytes           bigint,
    -- The number of leaves. NULL: not counted yet.
    leaves          bigint,
    -- The newest position in kept_tree. NULL: none.
    kept_position   bigint
) WITH (fillfactor = 70);

-- The positions at which former participants see the tree. A removal records its position and copies nothing.
CREATE TABLE metadata.kept_tree (
    conversation_id uuid NOT NULL,
    -- The former participant.
    user_id         text COLLATE "C" NOT NULL,
    position        bigint NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX kept_tree_position ON metadata.kept_tree (conversation_id, position);

-- Former values that a former participant still sees. A changed or deleted leaf is kept if a removed user had seen it.
-- So a removal costs the same for every size of tree.
--
-- The values at one position are found without reading the others. Each row is assigned to a node of the binary tree
-- over the whole numbers. Odd numbers are its leaves, 2 is the parent of 1 and 3, and 4 is the parent of 2 and 6. The
-- node is the highest one within the row's range of positions. A range that contains a position is assigned to that
-- position or to one of its ancestors. A position has one ancestor for each of its binary digits.
CREATE TABLE metadata.kept_leaf (
    conversation_id uuid NOT NULL,
    node            bigint NOT NULL,
    -- The first position at which the value held, and the position that replaced it.
    position        bigint NOT NULL,
    until_position  bigint NOT NULL,
    path            text COLLATE "C" NOT NULL,
    value           text NOT NULL,
    PRIMARY KEY (conversation_id, node, position, path)
);
CREATE INDEX kept_leaf_until ON metadata.kept_leaf (conversation_id, node, until_position);

-- Positions that no longer have a row in kept_tree, so leaves may be kept unnecessarily. metadata.sweep removes these,
-- because there can be many.
CREATE TABLE metadata.forgotten_tree (
    conversation_id uuid NOT NULL,
    -- 0: all positions of a conversation that was deleted.
    position        bigint NOT NULL,
    PRIMARY KEY (conversation_id, position)
);

GRANT SELECT ON metadata.leaf, metadata.tree, metadata.kept_tree, metadata.kept_leaf TO strata_conversations;
