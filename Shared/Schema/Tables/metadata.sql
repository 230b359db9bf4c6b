-- SPDX-License-Identifier: Apache-2.0
-- The metadata of conversations: one row for each leaf, so that setting one of 10,000 keys writes one row.
--
-- A path is the keys to a value, joined by dots; keys are letters, digits, - and _. A subtree is the range from 'a.b.' up to 'a.b/', because '/' follows '.'
-- in the C collation. No path of a conversation is a prefix, by keys, of another one.

-- Values. They change far more often than keys come and go: the free space keeps such an update on its page, without touching the index.
CREATE TABLE metadata.leaf (
    conversation_id uuid NOT NULL,
    path            text COLLATE "C" NOT NULL CHECK (path <> '' AND octet_length(path) <= 1024),
    value           text NOT NULL CHECK (octet_length(value) <= 2048),
    -- The position of the change that wrote the value.
    position        bigint NOT NULL,
    PRIMARY KEY (conversation_id, path)
) WITH (fillfactor = 85);

-- The size of a conversation's tree, so that a limit needs no count. Written under the conversation's lock. Conversations that never had metadata have no row.
CREATE TABLE metadata.tree (
    conversation_id uuid PRIMARY KEY,
    -- The bytes of all paths and values. NULL: not counted yet.
    bytes           bigint,
    -- The number of leaves. NULL: not counted yet.
    leaves          bigint,
    -- The newest position in kept_tree. NULL: none.
    kept_position   bigint
) WITH (fillfactor = 70);

-- The positions at which former participants see the tree. A removal notes its position and copies nothing.
CREATE TABLE metadata.kept_tree (
    conversation_id uuid NOT NULL,
    -- The former participant.
    user_id         text COLLATE "C" NOT NULL,
    position        bigint NOT NULL,
    PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX kept_tree_position ON metadata.kept_tree (conversation_id, position);

-- Former values that a former participant still sees. A leaf that is changed or deleted is kept if a removed user had seen it, so a removal costs the same for
-- every size of tree.
--
-- The values at one position are found without reading the others. Each row stands at a node of the binary tree that the whole numbers form (odd numbers are
-- its leaves, 2 is the parent of 1 and 3, 4 of 2 and 6): at the highest node within its range of positions. A range that contains a position stands at that
-- position or at one of its ancestors, and there are as many of these as the number has binary digits.
CREATE TABLE metadata.kept_leaf (
    conversation_id uuid NOT NULL,
    node            bigint NOT NULL,
    -- The positions from which and before which the value held.
    position        bigint NOT NULL,
    until_position  bigint NOT NULL,
    path            text COLLATE "C" NOT NULL,
    value           text NOT NULL,
    PRIMARY KEY (conversation_id, node, position, path)
);
CREATE INDEX kept_leaf_until ON metadata.kept_leaf (conversation_id, node, until_position);

-- Positions at which kept_tree has no row any longer: leaves may be kept for nothing. metadata.sweep removes these, because there can be many.
CREATE TABLE metadata.forgotten_tree (
    conversation_id uuid NOT NULL,
    -- 0: all positions of a conversation that was deleted.
    position        bigint NOT NULL,
    PRIMARY KEY (conversation_id, position)
);

-- The conversations' positions, for the metadata service: readable in the same snapshot as the leaves.
CREATE VIEW metadata.conversation_position AS
    SELECT c.id AS conversation_id, c.app_id, c.position FROM conversations.conversation c;

GRANT SELECT, INSERT, UPDATE, DELETE ON metadata.leaf, metadata.tree, metadata.kept_tree, metadata.kept_leaf TO strata_metadata;
GRANT SELECT ON metadata.conversation_position TO strata_metadata;
