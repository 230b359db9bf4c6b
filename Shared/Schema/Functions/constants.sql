-- SPDX-License-Identifier: Apache-2.0
-- Names of numbers. The planner replaces a call by its value.

-- Returns the number of ordinals in a receipt block: the number of bits in a column of conversations.receipt_block.
CREATE OR REPLACE FUNCTION conversations.block_size() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 1024;

-- Returns the position after all others: the `until_position` of values that are current.
CREATE OR REPLACE FUNCTION conversations.end_of_log() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 9223372036854775807;

-- The kinds of conversations.change.
CREATE OR REPLACE FUNCTION conversations.kind_created() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION conversations.kind_participants() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION conversations.kind_metadata() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 3;
CREATE OR REPLACE FUNCTION conversations.kind_deleted() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 4;
CREATE OR REPLACE FUNCTION conversations.kind_message_created() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 5;
CREATE OR REPLACE FUNCTION conversations.kind_message_deleted() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 6;
CREATE OR REPLACE FUNCTION conversations.kind_receipts() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 7;
CREATE OR REPLACE FUNCTION conversations.kind_all_read() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 8;
CREATE OR REPLACE FUNCTION conversations.kind_parts() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 9;

-- The kinds of conversations.user_change.
CREATE OR REPLACE FUNCTION conversations.user_kind_hidden() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION conversations.user_kind_shown() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION conversations.user_kind_message_hidden() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 3;
CREATE OR REPLACE FUNCTION conversations.user_kind_identity() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 4;
CREATE OR REPLACE FUNCTION conversations.user_kind_followed() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 5;
CREATE OR REPLACE FUNCTION conversations.user_kind_unfollowed() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 6;
CREATE OR REPLACE FUNCTION conversations.user_kind_announced() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 7;
CREATE OR REPLACE FUNCTION conversations.user_kind_announcement_receipt() RETURNS smallint IMMUTABLE PARALLEL SAFE
RETURN 8;
CREATE OR REPLACE FUNCTION conversations.user_kind_announcement_removed() RETURNS smallint IMMUTABLE PARALLEL SAFE
RETURN 9;
CREATE OR REPLACE FUNCTION conversations.user_kind_message_deleted() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 20;
CREATE OR REPLACE FUNCTION conversations.user_kind_deleted() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 21;
CREATE OR REPLACE FUNCTION conversations.user_kind_blocks() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 22;
CREATE OR REPLACE FUNCTION conversations.user_kind_blocked_by() RETURNS smallint IMMUTABLE PARALLEL SAFE RETURN 23;

-- The entries of conversations.log_row.
CREATE OR REPLACE FUNCTION conversations.entry_header() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 0;
CREATE OR REPLACE FUNCTION conversations.entry_change() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 1;
CREATE OR REPLACE FUNCTION conversations.entry_user_change() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 2;
CREATE OR REPLACE FUNCTION conversations.entry_counts() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 3;
CREATE OR REPLACE FUNCTION conversations.entry_skipped() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 4;
CREATE OR REPLACE FUNCTION conversations.entry_override() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 5;

-- Returns the maximum size, in bytes, of a tree in an answer: 48 MiB, so that the answer stays below the 64 MiB of a
-- call between services. A larger tree is not read.
CREATE OR REPLACE FUNCTION metadata.largest_tree() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 50331648;
-- Returns the maximum size, in bytes, of a tree in the details of an error, which has at most 4 MiB.
CREATE OR REPLACE FUNCTION metadata.error_tree() RETURNS bigint IMMUTABLE PARALLEL SAFE RETURN 2097152;

GRANT EXECUTE ON FUNCTION
    conversations.block_size, conversations.end_of_log, conversations.kind_created, conversations.kind_participants,
    conversations.kind_metadata, conversations.kind_deleted, conversations.kind_message_created,
    conversations.kind_message_deleted, conversations.kind_receipts, conversations.kind_all_read,
    conversations.kind_parts, conversations.user_kind_hidden, conversations.user_kind_shown,
    conversations.user_kind_message_hidden, conversations.user_kind_identity, conversations.user_kind_followed,
    conversations.user_kind_unfollowed, conversations.user_kind_announced, conversations.user_kind_announcement_receipt,
    conversations.user_kind_announcement_removed, conversations.user_kind_message_deleted,
    conversations.user_kind_deleted, conversations.user_kind_blocks, conversations.user_kind_blocked_by,
    conversations.entry_header, conversations.entry_change, conversations.entry_user_change, conversations.entry_counts,
    conversations.entry_skipped, conversations.entry_override TO strata_conversations, strata_metadata, strata_webhooks;

GRANT EXECUTE ON FUNCTION metadata.largest_tree, metadata.error_tree TO strata_conversations;
