-- SPDX-License-Identifier: Apache-2.0
-- Receipts: the messages that a participant has read, received and hidden, as three sets of ordinals of bounded size.
--
-- A participant who reads every other message needs one range for each of them. They would be in a row that every page
-- of messages reads and every receipt rewrites. So a participant's row holds at most conversations.range_limit() ranges
-- of each set. If there are more, the shorter half moves into blocks. A set is the union of both places, without
-- rounding.

-- Blocks of 1,024 ordinals. If a block changes after a user left, its former value is kept beside the new one.
CREATE TABLE conversations.receipt_block (
    conversation_id uuid NOT NULL,
    -- The number of the block. It contains the ordinals 1024 × block to 1024 × block + 1023.
    block           bigint NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    -- The first position at which the block holds, and the position that replaced it.
    since_position  bigint NOT NULL,
    -- The largest bigint: the block is current.
    until_position  bigint NOT NULL DEFAULT 9223372036854775807,
    -- Bit n represents the ordinal 1024 × block + n. NULL: no ordinal is in the set.
    read            bit(1024),
    delivered       bit(1024),
    hidden          bit(1024),
    PRIMARY KEY (conversation_id, block, user_id, until_position)
) WITH (fillfactor = 70);

-- The receipts that a former participant continues to see: those of all other users at the time of leaving, as parallel
-- arrays.
CREATE TABLE conversations.kept_receipts (
    conversation_id uuid NOT NULL,
    -- The former participant.
    user_id         text COLLATE "C" NOT NULL,
    -- The other users, and for each of them the number of messages up to which they took part.
    users           text[] COLLATE "C" NOT NULL,
    left_ordinals   bigint[] NOT NULL,
    -- Their ranges.
    reads           int8multirange[] NOT NULL,
    delivereds      int8multirange[] NOT NULL,
    -- Their `packed_up_to`. NULL: nobody had blocks.
    packed          bigint[],
    PRIMARY KEY (conversation_id, user_id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.receipt_block,
    conversations.kept_receipts TO strata_conversations;
