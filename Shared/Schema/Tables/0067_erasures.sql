-- SPDX-License-Identifier: Apache-2.0
-- What the erasing of users looks for: what is due, announcements that no user has any more or that the user sent, and blocks by their time. And the order of
-- delayed messages in a conversation.

CREATE INDEX erasure_due ON conversations.erasure (not_before);

CREATE INDEX announcement_recipient_by_announcement ON conversations.announcement_recipient (announcement_id, user_id);
-- Those that are still to lose their parts when their sender is erased.
CREATE INDEX announcement_by_sender ON conversations.announcement (app_id, sender_user, sent_at)
    WHERE sender_user IS NOT NULL AND octet_length(parts) > 0;

-- When `is_own` was set last: what a user blocks after coming back is not erased with the rest. Blocks of before this step count as old.
ALTER TABLE conversations.block ADD COLUMN changed_at timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE conversations.block ALTER COLUMN changed_at SET DEFAULT clock_timestamp();

-- No message is sent before an earlier one of its conversation. Serves what delayed_message_by_app did, too.
CREATE INDEX delayed_message_in_order ON conversations.delayed_message (app_id, conversation_id, due_at, id);
DROP INDEX conversations.delayed_message_by_app;
