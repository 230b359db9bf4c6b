-- SPDX-License-Identifier: Apache-2.0
-- Lists of conversations: what a page costs depends on the page.
--
-- The directory of a user's conversations says which of them are on the list. Triggers keep it, so that it holds whichever function writes. They write
-- under the conversation's lock, and only where a participant comes again, leaves or hides something, or where a hidden conversation comes back: what
-- a message writes stays the conversation's row and its sender's.

-- In the order in which functions lock them.
LOCK TABLE conversations.conversation, conversations.participant, conversations.user_conversation IN ACCESS EXCLUSIVE MODE;

ALTER TABLE conversations.conversation
    -- Whether there may be a participant from whose list it is gone until the next message comes.
    ADD COLUMN has_hidden boolean NOT NULL DEFAULT false;

ALTER TABLE conversations.user_conversation
    -- Whether the conversation is on the user's list: what is_visible says.
    ADD COLUMN is_listed boolean NOT NULL DEFAULT true;

-- What is on the list, in the order of creation.
CREATE INDEX user_conversation_listed ON conversations.user_conversation (app_id, user_id, created_at DESC, conversation_id DESC) WHERE is_listed;

-- A participant came again, left, or hid the conversation.
CREATE FUNCTION conversations.keep_listed() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    c conversations.conversation;
    listed boolean;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = NEW.conversation_id;
    listed := conversations.is_visible(c, NEW);
    UPDATE conversations.user_conversation u SET is_listed = listed
    WHERE u.app_id = NEW.app_id AND u.user_id = NEW.user_id AND u.conversation_id = NEW.conversation_id AND u.is_listed <> listed;
    IF NOT listed AND NEW.left_position IS NULL AND c.deleted_position IS NULL AND NOT c.has_hidden THEN
        UPDATE conversations.conversation x SET has_hidden = true WHERE x.id = NEW.conversation_id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_listed AFTER UPDATE ON conversations.participant
FOR EACH ROW WHEN (
    OLD.is_hidden <> NEW.is_hidden
    OR NEW.is_hidden AND (OLD.hidden_count <> NEW.hidden_count OR OLD.left_position IS DISTINCT FROM NEW.left_position))
EXECUTE FUNCTION conversations.keep_listed();

-- A message came into a conversation that is hidden from a user: it is back on their list.
CREATE FUNCTION conversations.keep_returned() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    returned text;
BEGIN
    FOR returned IN
        SELECT p.user_id FROM conversations.participant p WHERE p.conversation_id = NEW.id AND p.is_hidden AND conversations.is_visible(NEW, p)
    LOOP
        UPDATE conversations.user_conversation u SET is_listed = true
        WHERE u.app_id = NEW.app_id AND u.user_id = returned AND u.conversation_id = NEW.id AND NOT u.is_listed;
    END LOOP;
    UPDATE conversations.conversation x SET has_hidden = false WHERE x.id = NEW.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_returned AFTER UPDATE OF message_count ON conversations.conversation
FOR EACH ROW WHEN (NEW.has_hidden AND NEW.message_count > OLD.message_count) EXECUTE FUNCTION conversations.keep_returned();

-- It was deleted for all.
CREATE FUNCTION conversations.keep_unlisted() RETURNS trigger
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    participant text;
BEGIN
    FOR participant IN SELECT p.user_id FROM conversations.participant p WHERE p.conversation_id = NEW.id LOOP
        -- Without "AND is_listed": the index of what is listed would be another way to this row, with all of the user's conversations on it.
        UPDATE conversations.user_conversation u SET is_listed = false
        WHERE u.app_id = NEW.app_id AND u.user_id = participant AND u.conversation_id = NEW.id;
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_unlisted AFTER UPDATE OF deleted_position ON conversations.conversation
FOR EACH ROW WHEN (OLD.deleted_position IS NULL AND NEW.deleted_position IS NOT NULL) EXECUTE FUNCTION conversations.keep_unlisted();

-- What there is already.
UPDATE conversations.user_conversation u SET is_listed = false
FROM conversations.participant p JOIN conversations.conversation c ON c.id = p.conversation_id
WHERE u.app_id = p.app_id AND u.user_id = p.user_id AND u.conversation_id = p.conversation_id AND NOT conversations.is_visible(c, p);
UPDATE conversations.conversation c SET has_hidden = true
WHERE c.deleted_position IS NULL AND c.id IN (
    SELECT p.conversation_id FROM conversations.participant p
    WHERE p.left_position IS NULL AND p.is_hidden AND c.message_count <= p.hidden_count);

-- The ids of a page by creation: as many entries of one index as the page has.
CREATE FUNCTION conversations.page_by_creation(p_app uuid, p_user text, p_page_size bigint, p_from_key timestamptz, p_from_id uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN ARRAY(
        SELECT u.conversation_id FROM conversations.user_conversation u
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed AND (u.created_at, u.conversation_id) < (p_from_key, p_from_id)
        ORDER BY u.created_at DESC, u.conversation_id DESC LIMIT p_page_size);
END
$$;

-- The ids of a page by the last message that the user sees. That order cannot be kept by user: each message would write a row for each participant. So
-- one short pass reads when each conversation of the list changed last, which is never before its last message; and the messages are looked up in the
-- order of that, until no conversation that is left can belong to the page.
CREATE FUNCTION conversations.page_by_last_message(p_app uuid, p_user text, p_page_size bigint, p_from_key timestamptz, p_from_id uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_mergejoin = off AS $$
DECLARE
    ids uuid[];
    bounds timestamptz[];
    page uuid[] := '{}';
    keys timestamptz[] := '{}';
    seen bigint := 0;
    step bigint := p_page_size + 20;
BEGIN
    SELECT array_agg(b.id), array_agg(b.last_change_at) INTO ids, bounds
    FROM (
        SELECT u.conversation_id AS id, c.last_change_at
        FROM conversations.user_conversation u
        CROSS JOIN LATERAL (SELECT x.last_change_at FROM conversations.conversation x WHERE x.id = u.conversation_id OFFSET 0) c
        WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed
        ORDER BY c.last_change_at DESC) b;
    WHILE seen < coalesce(cardinality(ids), 0) LOOP
        EXIT WHEN cardinality(page) = p_page_size AND bounds[seen + 1] < keys[p_page_size];
        SELECT coalesce(array_agg(e.id), '{}'), coalesce(array_agg(e.key), '{}') INTO page, keys
        FROM (
            SELECT k.id, k.key
            FROM (
                SELECT g.id, g.key FROM unnest(page, keys) g(id, key)
                UNION ALL
                SELECT i.id, coalesce(
                    (SELECT m.sent_at FROM conversations.message m
                    WHERE m.conversation_id = i.id AND m.ordinal = CASE
                        -- As last_visible has it, without calling it for nearly all.
                        WHEN (p.row).left_position IS NOT NULL OR NOT isempty((p.row).hidden) THEN conversations.last_visible(c.row, p.row)
                        WHEN (c.row).last_ordinal > (p.row).hidden_ordinal THEN (c.row).last_ordinal ELSE 0 END), (c.row).created_at)
                FROM unnest(ids[seen + 1 : seen + step]) i(id)
                CROSS JOIN LATERAL (SELECT x AS row FROM conversations.conversation x WHERE x.id = i.id OFFSET 0) c
                CROSS JOIN LATERAL (
                    SELECT x AS row FROM conversations.participant x WHERE x.conversation_id = i.id AND x.user_id = p_user OFFSET 0) p) k
            WHERE (k.key, k.id) < (p_from_key, p_from_id)
            ORDER BY k.key DESC, k.id DESC LIMIT p_page_size) e;
        seen := seen + step;
        step := step * 2;
    END LOOP;
    RETURN page;
END
$$;

-- How many conversations are on a user's list: entries of one index are counted, a tenth of a microsecond each. A number that is kept would have to be
-- locked by everything that adds the user somewhere.
CREATE FUNCTION conversations.listed_count(p_app uuid, p_user text) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM (
            SELECT FROM conversations.user_conversation u WHERE u.app_id = p_app AND u.user_id = p_user AND u.is_listed
            ORDER BY u.created_at DESC, u.conversation_id DESC OFFSET 0) l);
END
$$;

-- A page of a user's conversations, those they left included, newest first. The first row has the outcome, 'ok' or 'unknown_cursor', and the number of
-- conversations on the whole list. A cursor that has vanished from the list meanwhile still stands where it would be.
CREATE OR REPLACE FUNCTION conversations.list_conversations(p_app uuid, p_user text, p_by_last_message boolean, p_page_size bigint, p_from_id uuid)
RETURNS TABLE (outcome text, total bigint, view conversations.view_row)
LANGUAGE plpgsql STABLE ROWS 100 SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    page_id uuid;
    from_key timestamptz := 'infinity';
    from_id uuid := coalesce(p_from_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    IF p_from_id IS NOT NULL THEN
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_from_id AND x.app_id = p_app;
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_from_id AND x.user_id = p_user;
        IF c.id IS NULL OR p.user_id IS NULL THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, 0::bigint, NULL::conversations.view_row;
            RETURN;
        END IF;
        from_key := conversations.list_key(c, p, p_by_last_message);
    END IF;

    outcome := 'ok';
    total := conversations.listed_count(p_app, p_user);
    RETURN NEXT;
    outcome := NULL;
    total := NULL;
    FOREACH page_id IN ARRAY CASE WHEN p_by_last_message
        THEN conversations.page_by_last_message(p_app, p_user, p_page_size, from_key, from_id)
        ELSE conversations.page_by_creation(p_app, p_user, p_page_size, from_key, from_id) END
    LOOP
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = page_id;
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = page_id AND x.user_id = p_user;
        view := conversations.view_of(c, p);
        RETURN NEXT;
    END LOOP;
END
$$;

REVOKE ALL ON FUNCTION conversations.keep_listed, conversations.keep_returned, conversations.keep_unlisted,
    conversations.page_by_creation, conversations.page_by_last_message, conversations.listed_count FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.page_by_creation, conversations.page_by_last_message, conversations.listed_count TO strata_conversations;
