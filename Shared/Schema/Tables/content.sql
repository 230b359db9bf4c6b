-- SPDX-License-Identifier: Apache-2.0
-- Rich content: its description and the messages that use it. The bytes are stored elsewhere.

CREATE TABLE conversations.content (
    id                 uuid PRIMARY KEY,
    app_id             uuid NOT NULL,
    -- The user who uploads it. The empty text: the app's own server.
    owner              text COLLATE "C" NOT NULL,
    mime_type          text NOT NULL,
    -- Size in bytes.
    size               bigint NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    -- The time at which all bytes were stored. NULL: the upload was announced and has not finished.
    uploaded_at        timestamptz,
    -- The time since which no message refers to it. NULL: a message does.
    unreferenced_since timestamptz DEFAULT now(),
    -- True if nobody can see it any longer: its bytes are being removed.
    is_doomed          boolean NOT NULL DEFAULT false,
    -- The conversation for which the app's own server uploads it. NULL: a user uploads it.
    conversation_id    uuid
);
CREATE INDEX content_unreferenced ON conversations.content (unreferenced_since) WHERE unreferenced_since IS NOT NULL;
-- A user's contents that no message refers to.
CREATE INDEX content_waiting ON conversations.content (app_id, owner) INCLUDE (size)
WHERE unreferenced_since IS NOT NULL;

CREATE TABLE conversations.content_reference (
    content_id      uuid NOT NULL,
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL,
    PRIMARY KEY (content_id, conversation_id, ordinal)
);
CREATE INDEX content_reference_by_message ON conversations.content_reference (conversation_id, ordinal);

-- An estimate of the app's contents that no message refers to. They were counted at `counted_at`. Since then, announced
-- uploads are added; contents that were sent or removed are not subtracted, and contents of deleted messages are not
-- added.
CREATE TABLE conversations.app_uploads (
    app_id     uuid PRIMARY KEY,
    counted_at timestamptz NOT NULL,
    number     bigint NOT NULL,
    bytes      bigint NOT NULL
) WITH (fillfactor = 20);

GRANT SELECT, INSERT, UPDATE, DELETE ON conversations.content, conversations.content_reference TO strata_conversations;
GRANT SELECT, INSERT, UPDATE ON conversations.app_uploads TO strata_conversations;
