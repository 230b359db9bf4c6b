-- SPDX-License-Identifier: Apache-2.0
-- Rich content: what it is and who may see it. Its bytes are elsewhere.

CREATE TABLE conversations.content (
    id                 uuid PRIMARY KEY,
    app_id             uuid NOT NULL,
    owner              text COLLATE "C" NOT NULL,
    mime_type          text NOT NULL,
    size               bigint NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now(),
    -- When all of its bytes were stored.
    uploaded_at        timestamptz,
    -- Since when no message refers to it; NULL: one does.
    unreferenced_since timestamptz DEFAULT now(),
    -- Nobody sees it any more; its bytes are being removed.
    is_doomed          boolean NOT NULL DEFAULT false
);
CREATE INDEX content_unreferenced ON conversations.content (unreferenced_since) WHERE unreferenced_since IS NOT NULL;

-- The messages that refer to it.
CREATE TABLE conversations.content_reference (
    content_id      uuid NOT NULL,
    conversation_id uuid NOT NULL,
    ordinal         bigint NOT NULL,
    PRIMARY KEY (content_id, conversation_id, ordinal)
);
CREATE INDEX content_reference_by_message ON conversations.content_reference (conversation_id, ordinal);

-- Whether a user sees a message that refers to it.
CREATE FUNCTION conversations.sees_content(p_user text, p_content uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.content_reference r
        JOIN conversations.conversation c ON c.id = r.conversation_id AND c.deleted_position IS NULL
        JOIN conversations.participant p ON p.conversation_id = r.conversation_id AND p.user_id = p_user
        WHERE r.content_id = p_content AND conversations.may_see(p, r.ordinal));
END
$$;

-- No row: there is none that this user may see.
CREATE FUNCTION conversations.get_content(p_app uuid, p_user text, p_content uuid)
RETURNS TABLE (content_id uuid, mime_type text, size bigint, is_uploaded boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT x.id, x.mime_type, x.size, x.uploaded_at IS NOT NULL FROM conversations.content x
    WHERE x.id = p_content AND x.app_id = p_app AND NOT x.is_doomed AND (x.owner = p_user OR conversations.sees_content(p_user, p_content));
END
$$;

-- The first of these that this user cannot put into a message: unknown, not uploaded, or none of his business; NULL: he can. Locks them, so that they stay.
CREATE FUNCTION conversations.unsendable(p_app uuid, p_user text, p_contents uuid[]) RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wanted uuid;
BEGIN
    FOR wanted IN SELECT DISTINCT w.id FROM unnest(p_contents) w(id) ORDER BY w.id LOOP
        PERFORM FROM conversations.content x
        WHERE x.id = wanted AND x.app_id = p_app AND x.uploaded_at IS NOT NULL AND NOT x.is_doomed
            AND (x.owner = p_user OR conversations.sees_content(p_user, wanted))
        FOR UPDATE;
        IF NOT FOUND THEN RETURN wanted; END IF;
    END LOOP;
    RETURN NULL;
END
$$;

-- A message refers to these from now on, and to no others.
CREATE FUNCTION conversations.refer_contents(p_conversation uuid, p_ordinal bigint, p_contents uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lost uuid;
BEGIN
    INSERT INTO conversations.content_reference (content_id, conversation_id, ordinal)
    SELECT DISTINCT w.id, p_conversation, p_ordinal FROM unnest(p_contents) w(id) ON CONFLICT DO NOTHING;
    UPDATE conversations.content x SET unreferenced_since = NULL WHERE x.id = ANY (p_contents) AND x.unreferenced_since IS NOT NULL;
    FOR lost IN
        DELETE FROM conversations.content_reference r
        WHERE r.conversation_id = p_conversation AND r.ordinal = p_ordinal AND r.content_id <> ALL (p_contents) RETURNING r.content_id
    LOOP
        UPDATE conversations.content x SET unreferenced_since = clock_timestamp()
        WHERE x.id = lost AND NOT EXISTS (SELECT FROM conversations.content_reference r WHERE r.content_id = lost);
    END LOOP;
END
$$;

-- All messages of a conversation are gone.
CREATE FUNCTION conversations.unrefer_contents(p_conversation uuid) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lost uuid;
BEGIN
    FOR lost IN DELETE FROM conversations.content_reference r WHERE r.conversation_id = p_conversation RETURNING r.content_id LOOP
        UPDATE conversations.content x SET unreferenced_since = clock_timestamp()
        WHERE x.id = lost AND NOT EXISTS (SELECT FROM conversations.content_reference r WHERE r.content_id = lost);
    END LOOP;
END
$$;

-- Takes what has been in no message for `age` out of reach, and returns what is out of reach, at most so many. Several may sweep at once.
CREATE FUNCTION conversations.sweep_contents(age interval, p_limit bigint) RETURNS TABLE (content_id uuid)
LANGUAGE plpgsql VOLATILE ROWS 100 AS $$
BEGIN
    UPDATE conversations.content x SET is_doomed = true WHERE NOT x.is_doomed AND x.id IN (
        SELECT y.id FROM conversations.content y WHERE y.unreferenced_since < now() - age
        ORDER BY y.unreferenced_since LIMIT p_limit FOR UPDATE SKIP LOCKED);
    RETURN QUERY
    SELECT x.id FROM conversations.content x
    WHERE x.unreferenced_since < now() - age AND x.is_doomed ORDER BY x.unreferenced_since LIMIT p_limit;
END
$$;
