-- SPDX-License-Identifier: Apache-2.0
-- Receipts: which messages a participant has read, received and hidden. Three sets of ordinals, whose size is bounded for every pattern.
--
-- A participant who reads every other message would have one range for each message, in a row that every page of messages reads and every receipt rewrites.
-- So a participant's row holds at most conversations.range_limit() ranges of each set, and the shorter half of too many moves into blocks. A set is the union
-- of both places, without rounding.

-- Blocks of 1,024 ordinals. A block that changes after a user left is kept beside the new one.
CREATE TABLE conversations.receipt_block (
    conversation_id uuid NOT NULL,
    -- The ordinals 1024 × block to 1024 × block + 1023.
    block           bigint NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    -- The positions from which and before which the block holds.
    since_position  bigint NOT NULL,
    -- The largest bigint: the block holds now.
    until_position  bigint NOT NULL DEFAULT 9223372036854775807,
    -- Bit n stands for the ordinal 1024 × block + n. NULL: no ordinal is in the set.
    read            bit(1024),
    delivered       bit(1024),
    hidden          bit(1024),
    PRIMARY KEY (conversation_id, block, user_id, until_position)
) WITH (fillfactor = 70);

-- The receipts that a former participant goes on seeing: those of all others when the user left, as parallel arrays.
CREATE TABLE conversations.kept_receipts (
    conversation_id uuid NOT NULL,
    -- The former participant.
    user_id         text COLLATE "C" NOT NULL,
    -- The others, and the number of messages up to which each of them took part.
    users           text[] COLLATE "C" NOT NULL,
    left_ordinals   bigint[] NOT NULL,
    -- Their ranges.
    reads           int8multirange[] NOT NULL,
    delivereds      int8multirange[] NOT NULL,
    -- Their `packed_up_to`. NULL: nobody had blocks.
    packed          bigint[],
    PRIMARY KEY (conversation_id, user_id)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.receipt_block, conversations.kept_receipts TO strata_conversations;
