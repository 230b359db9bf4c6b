-- SPDX-License-Identifier: Apache-2.0
-- What an app's own server does in its own name, for no user.
--
-- Functions take NULL as the actor for it. Tables keep the empty text, which is the id of no user: instances of the release before can read that.

-- Of a message that the app's own server sent under a name: then `sender` is empty.
ALTER TABLE conversations.message ADD COLUMN sender_name text;
ALTER TYPE conversations.message_row ADD ATTRIBUTE sender_name text;
ALTER TYPE conversations.view_row ADD ATTRIBUTE last_sender_name text;
ALTER TYPE conversations.log_row ADD ATTRIBUTE m_sender_name text;

-- For which conversation the app's own server uploaded it; NULL: a user uploaded it. The owner of what the server uploads is empty.
ALTER TABLE conversations.content ADD COLUMN conversation_id uuid;
