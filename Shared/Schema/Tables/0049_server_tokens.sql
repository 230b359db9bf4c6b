-- SPDX-License-Identifier: Apache-2.0
-- Several server tokens for each app, which can be told apart and revoked one by one.
--
-- id: what a token is revoked by. It says nothing about the token itself.
-- name: for people. A token of before, and the one that an app is created with, is called "first".
ALTER TABLE conversations.server_token
    ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    ADD COLUMN name text NOT NULL DEFAULT 'first' CHECK (char_length(name) BETWEEN 1 AND 128);
