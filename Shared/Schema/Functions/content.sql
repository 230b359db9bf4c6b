-- SPDX-License-Identifier: Apache-2.0
-- Rich content: uploaded first, and then referred to by messages.

-- True if the user sees a message that refers to this content.
CREATE OR REPLACE FUNCTION conversations.sees_content(p_user text, p_content uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.content_reference r
        CROSS JOIN LATERAL (
            SELECT x AS row FROM conversations.participant x
            WHERE x.conversation_id = r.conversation_id AND x.user_id = p_user OFFSET 0) p
        CROSS JOIN LATERAL (
            SELECT FROM conversations.conversation x
            WHERE x.id = r.conversation_id AND x.deleted_position IS NULL OFFSET 0) c
        WHERE r.content_id = p_content AND conversations.may_see(p.row, r.ordinal));
END
$$;

-- Returns content that this user can see. No row: not found.
CREATE OR REPLACE FUNCTION conversations.get_content(p_app uuid, p_user text, p_content uuid)
RETURNS TABLE (content_id uuid, mime_type text, size bigint, is_uploaded boolean)
LANGUAGE plpgsql STABLE ROWS 1 AS $$
DECLARE
    found_row conversations.content;
BEGIN
    SELECT * INTO found_row FROM conversations.content x
    WHERE x.id = p_content AND x.app_id = p_app AND NOT x.is_doomed;
    IF found_row.owner = p_user OR found_row.id IS NOT NULL AND conversations.sees_content(p_user, p_content) THEN
        content_id := found_row.id;
        mime_type := found_row.mime_type;
        size := found_row.size;
        is_uploaded := found_row.uploaded_at IS NOT NULL;
        RETURN NEXT;
    END IF;
END
$$;

-- Registers content before its upload. Content that no message refers to counts towards quotas until it is swept.
--
-- Outcomes, where NULL means no limit:
-- - 'ok': also if it exists already.
-- - 'too_many', 'too_many_bytes': the user's quota of unreferenced content is exceeded.
-- - 'app_full', 'app_full_bytes': the quota of all of the app's users is exceeded.
-- - 'not_found', 'deleted': the conversation does not exist.
--
-- `p_conversation`: the conversation for which the app's own server uploads the content. Its owner is then empty.
CREATE OR REPLACE FUNCTION conversations.create_content(
    p_id uuid, p_app uuid, p_owner text, p_type text, p_size bigint, p_quota bigint, p_quota_bytes bigint,
    p_app_quota bigint, p_app_quota_bytes bigint,
    p_conversation uuid DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    used record;
    total conversations.app_uploads;
BEGIN
    IF p_conversation IS NOT NULL THEN
        PERFORM FROM conversations.conversation x
            WHERE x.id = p_conversation AND x.app_id = p_app AND x.deleted_position IS NULL;
        IF NOT FOUND THEN RETURN conversations.absence(p_app, p_conversation); END IF;
    END IF;
    PERFORM conversations.lock_quota(p_app, p_owner, 'content');
    IF EXISTS (SELECT FROM conversations.content x WHERE x.id = p_id) THEN RETURN 'ok'; END IF;
    IF p_quota IS NOT NULL OR p_quota_bytes IS NOT NULL THEN
        SELECT count(*) AS number, coalesce(sum(x.size), 0) AS bytes INTO used
        FROM conversations.content x WHERE x.app_id = p_app AND x.owner = p_owner AND x.unreferenced_since IS NOT NULL;
        IF used.number >= p_quota THEN RETURN 'too_many'; END IF;
        IF used.bytes + p_size > p_quota_bytes THEN RETURN 'too_many_bytes'; END IF;
    END IF;

    IF p_app_quota IS NOT NULL OR p_app_quota_bytes IS NOT NULL THEN
        INSERT INTO conversations.app_uploads (app_id, counted_at, number, bytes) VALUES (p_app, '-infinity', 0, 0)
        ON CONFLICT DO NOTHING;
        -- Concurrent registrations of the app's content wait here until this one is decided and written.
        SELECT * INTO total FROM conversations.app_uploads u WHERE u.app_id = p_app FOR UPDATE;
        IF total.counted_at < clock_timestamp() - interval '10 seconds' THEN
            SELECT count(*), coalesce(sum(x.size), 0) INTO total.number, total.bytes
            FROM conversations.content x WHERE x.app_id = p_app AND x.unreferenced_since IS NOT NULL;
            total.counted_at := clock_timestamp();
        END IF;
        IF total.number >= p_app_quota THEN RETURN 'app_full'; END IF;
        IF total.bytes + p_size > p_app_quota_bytes THEN RETURN 'app_full_bytes'; END IF;
        UPDATE conversations.app_uploads u SET counted_at = total.counted_at, number = total.number + 1,
            bytes = total.bytes + p_size
        WHERE u.app_id = p_app;
    END IF;

    INSERT INTO conversations.content (id, app_id, owner, mime_type, size, conversation_id)
    VALUES (p_id, p_app, p_owner, p_type, p_size, p_conversation) ON CONFLICT DO NOTHING;
    RETURN 'ok';
END
$$;

-- Returns the first of these contents that this user cannot send in a message, because it is unknown, not uploaded, or
-- not visible to the user; NULL: none. Locks the contents, so that they are not removed.
CREATE OR REPLACE FUNCTION conversations.unsendable(p_app uuid, p_user text, p_contents uuid[]) RETURNS uuid
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

-- Locks contents in the order of their ids, so that transactions that need several do not deadlock.
CREATE OR REPLACE FUNCTION conversations.lock_contents(p_contents uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wanted uuid;
BEGIN
    FOR wanted IN SELECT DISTINCT w.id FROM unnest(p_contents) w(id) ORDER BY w.id LOOP
        PERFORM FROM conversations.content x WHERE x.id = wanted FOR UPDATE;
    END LOOP;
END
$$;

-- Returns the contents to which these messages of a conversation refer.
CREATE OR REPLACE FUNCTION conversations.contents_of(p_conversation uuid, p_ordinals bigint[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT r.content_id FROM unnest(p_ordinals) o(ordinal)
        CROSS JOIN LATERAL (
            SELECT x.content_id FROM conversations.content_reference x
            WHERE x.conversation_id = p_conversation AND x.ordinal = o.ordinal OFFSET 0) r);
END
$$;

-- Sets the time of the last reference for contents that have lost their last one. Each content is locked before the
-- check for other references. So if two transactions remove the last two references, the later one sees that the other
-- is gone.
CREATE OR REPLACE FUNCTION conversations.note_unreferenced(p_contents uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lost uuid;
BEGIN
    PERFORM conversations.lock_contents(p_contents);
    FOREACH lost IN ARRAY p_contents LOOP
        UPDATE conversations.content x SET unreferenced_since = clock_timestamp()
        WHERE x.id = lost AND NOT EXISTS (SELECT FROM conversations.content_reference r WHERE r.content_id = lost);
    END LOOP;
END
$$;

-- Sets the contents to which a message refers.
CREATE OR REPLACE FUNCTION conversations.refer_contents(p_conversation uuid, p_ordinal bigint, p_contents uuid[])
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lost uuid[];
BEGIN
    INSERT INTO conversations.content_reference (content_id, conversation_id, ordinal)
    SELECT DISTINCT w.id, p_conversation, p_ordinal FROM unnest(p_contents) w(id) ON CONFLICT DO NOTHING;
    UPDATE conversations.content x SET unreferenced_since = NULL
    WHERE x.id = ANY (p_contents) AND x.unreferenced_since IS NOT NULL;
    WITH gone AS (
        DELETE FROM conversations.content_reference r
        WHERE r.conversation_id = p_conversation AND r.ordinal = p_ordinal AND r.content_id <> ALL (p_contents)
        RETURNING r.content_id
    )
    SELECT array_agg(g.content_id) INTO lost FROM gone g;
    IF lost IS NOT NULL THEN PERFORM conversations.note_unreferenced(lost); END IF;
END
$$;

-- Deletes the references of a conversation whose messages are all gone.
CREATE OR REPLACE FUNCTION conversations.unrefer_contents(p_conversation uuid, p_limit bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lost uuid[];
BEGIN
    WITH gone AS (
        DELETE FROM conversations.content_reference r WHERE r.ctid = ANY (ARRAY(
            SELECT x.ctid FROM conversations.content_reference x
            WHERE x.conversation_id = p_conversation LIMIT p_limit))
        RETURNING r.content_id
    )
    SELECT array_agg(DISTINCT g.content_id) INTO lost FROM gone g;
    IF lost IS NOT NULL THEN PERFORM conversations.note_unreferenced(lost); END IF;
END
$$;

-- Marks up to `p_limit` contents as doomed that have been unreferenced for `age`, and returns doomed contents.
-- Concurrent sweeps are safe.
CREATE OR REPLACE FUNCTION conversations.sweep_contents(age interval, p_limit bigint) RETURNS TABLE (content_id uuid)
LANGUAGE plpgsql VOLATILE ROWS 100 AS $$
BEGIN
    UPDATE conversations.content x SET is_doomed = true WHERE NOT x.is_doomed AND x.id IN (
        SELECT y.id FROM conversations.content y
        WHERE y.unreferenced_since < now() - age AND NOT conversations.is_away(y.app_id)
        ORDER BY y.unreferenced_since LIMIT p_limit FOR UPDATE SKIP LOCKED);
    RETURN QUERY
    SELECT x.id FROM conversations.content x
    WHERE x.unreferenced_since < now() - age AND x.is_doomed AND NOT conversations.is_away(x.app_id)
    ORDER BY x.unreferenced_since LIMIT p_limit;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.sees_content, conversations.get_content, conversations.create_content, conversations.unsendable,
    conversations.lock_contents, conversations.contents_of, conversations.note_unreferenced,
    conversations.refer_contents, conversations.unrefer_contents, conversations.sweep_contents TO strata_conversations;
