-- SPDX-License-Identifier: Apache-2.0
-- Participants of conversations, present and former.

-- The present participants of a conversation, sorted, in one row. Written only when a user joins or leaves.
CREATE TABLE conversations.roster (
    conversation_id uuid PRIMARY KEY,
    user_ids        text[] COLLATE "C" NOT NULL
);

-- Every user who is or was a participant, with the messages that the user has read, received and hidden. The counts of
-- a former participant end where the user left.
CREATE TABLE conversations.participant (
    conversation_id uuid NOT NULL,
    user_id         text COLLATE "C" NOT NULL,
    app_id          uuid NOT NULL,
    -- The positions at which the user joined for the first time and the last time.
    first_joined    bigint NOT NULL,
    joined          bigint NOT NULL,
    -- For a former participant: the position of leaving, and the number of messages then. The user sees nothing later.
    -- NULL: the user takes part.
    left_position   bigint,
    left_ordinal    bigint,
    -- The position and the ordinal up to which the user has deleted the conversation from their devices. Both stay when
    -- newer messages restore the conversation.
    hidden_up_to    bigint NOT NULL DEFAULT 0,
    hidden_ordinal  bigint NOT NULL DEFAULT 0,
    -- True if the conversation is absent from the user's list until the user sees a message in it.
    is_hidden       boolean NOT NULL DEFAULT false,
    -- Ordinals above `hidden_ordinal` of messages that the user does not see: individually deleted from the user's
    -- devices, or hidden by a block.
    hidden          int8multirange NOT NULL DEFAULT '{}',
    -- Ordinals that the user has read, and ordinals that were delivered and not read. Own messages may be in either
    -- set, if that joins ranges: they count as read. Each of the three sets has at most conversations.range_limit()
    -- ranges here; the others are in receipt_block.
    read            int8multirange NOT NULL DEFAULT '{}',
    delivered       int8multirange NOT NULL DEFAULT '{}',
    -- Messages that do not count as unread: own, read, hidden or deleted for all.
    uncounted       bigint NOT NULL,
    -- Messages that the user does not see: hidden or deleted for all.
    hidden_count    bigint NOT NULL,
    -- The largest ordinal in the user's receipt blocks. 0: none.
    packed_up_to    bigint NOT NULL DEFAULT 0,
    -- For a former participant: the number of messages deleted for all, of those up to `left_ordinal`.
    left_deleted    bigint NOT NULL DEFAULT 0,
    -- The position of the first message that a block hid from the user. NULL, or less than `joined`: none since the
    -- user joined. The change "all read", as other users see it, would include that message.
    first_kept      bigint,
    PRIMARY KEY (conversation_id, user_id)
) WITH (fillfactor = 70);

-- The number of conversations to which one user has added another one within an hour. Rows are swept after the hour.
CREATE TABLE conversations.addition (
    app_id   uuid NOT NULL,
    -- The user who was added.
    user_id  text COLLATE "C" NOT NULL,
    added_by text COLLATE "C" NOT NULL,
    -- The beginning of the hour: the first addition in it.
    since    timestamptz NOT NULL,
    -- Additions in the hour.
    number   bigint NOT NULL,
    PRIMARY KEY (app_id, user_id, added_by)
) WITH (fillfactor = 70);
CREATE INDEX addition_by_time ON conversations.addition (since);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.roster, conversations.participant,
    conversations.addition TO strata_conversations;
