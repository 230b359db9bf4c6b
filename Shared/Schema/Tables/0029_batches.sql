-- SPDX-License-Identifier: Apache-2.0
-- Reading long answers in batches: so many rows as `p_bytes` allow, at least one, and the caller asks again for the rest. Null is no bound. STABLE functions:
-- all of an answer is from one snapshot.

-- What a view takes in an answer, about: names are added to it later.
CREATE FUNCTION conversations.view_bytes(v conversations.view_row) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 256 + coalesce(octet_length(v.last_parts), 0) + coalesce(octet_length(v.last_notification), 0) + 128 * cardinality(v.participants);

-- The conversations with these ids as one user sees them, in this order; what that user does not see is left out. The last row has no view: it says how
-- many of the ids the answer covers.
CREATE FUNCTION conversations.views_of(p_app uuid, p_user text, p_ids uuid[], p_bytes bigint)
RETURNS TABLE (covered bigint, view conversations.view_row)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
DECLARE
    id uuid;
    done bigint := 0;
    used bigint := 0;
BEGIN
    FOREACH id IN ARRAY p_ids LOOP
        view := conversations.find_view(p_app, p_user, id);
        IF view.conversation_id IS NOT NULL THEN
            EXIT WHEN used > 0 AND used + conversations.view_bytes(view) > p_bytes;
            used := used + conversations.view_bytes(view);
            RETURN NEXT;
        END IF;
        done := done + 1;
    END LOOP;
    covered := done;
    view := NULL;
    RETURN NEXT;
END
$$;

-- As `list_conversations`, with views of as many as fit. Of the others there is only the id, in `later`: they are asked for by `views_of`, since their places in
-- the list may have changed by then.
CREATE FUNCTION conversations.list_conversations_within(
    p_app uuid, p_user text, p_by_last_message boolean, p_page_size bigint, p_from_id uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, later uuid, view conversations.view_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    row record;
    used bigint := 0;
    is_full boolean := false;
BEGIN
    FOR row IN SELECT l.* FROM conversations.list_conversations(p_app, p_user, p_by_last_message, p_page_size, p_from_id) l LOOP
        outcome := row.outcome;
        total := row.total;
        view := row.view;
        IF view.conversation_id IS NOT NULL THEN
            is_full := is_full OR coalesce(used > 0 AND used + conversations.view_bytes(view) > p_bytes, false);
            used := used + conversations.view_bytes(view);
        END IF;
        IF is_full THEN
            later := view.conversation_id;
            view := NULL;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- A page of the messages of a conversation that this user sees, newest first. The first row has the outcome, 'ok', 'not_found' or 'unknown_cursor', and
-- how many there are in all. A message that was deleted meanwhile still serves as a cursor. Where the bytes did not suffice for the page, the last row has
-- the outcome 'more'.
CREATE FUNCTION conversations.list_messages(
    p_app uuid, p_user text, p_conversation uuid, p_page_size bigint, p_from_id uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    before bigint;
    ordinal bigint;
    own bigint;
    used bigint := 0;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF c.id IS NULL OR p.user_id IS NULL OR NOT conversations.is_visible(c, p) THEN
        RETURN QUERY SELECT 'not_found'::text, 0::bigint, NULL::conversations.message_row;
        RETURN;
    END IF;
    total := coalesce(p.left_ordinal, c.message_count) - p.hidden_count;
    before := coalesce(p.left_ordinal, c.message_count) + 1;
    IF p_from_id IS NOT NULL THEN
        SELECT least(x.ordinal, before) INTO before FROM conversations.message_place x
        WHERE x.message_id = p_from_id AND x.conversation_id = p_conversation AND (p.left_position IS NULL OR x.ordinal <= p.left_ordinal);
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, total, NULL::conversations.message_row;
            RETURN;
        END IF;
    END IF;

    outcome := 'ok';
    RETURN NEXT;
    outcome := NULL;
    total := NULL;
    FOR ordinal IN
        SELECT o.ordinal FROM conversations.visible_ordinals(p, before, p_page_size) o(ordinal) ORDER BY o.ordinal DESC
    LOOP
        message := conversations.message_for(p, ordinal);
        CONTINUE WHEN message.message_id IS NULL;
        own := 256 + coalesce(octet_length(message.parts), 0) + 64 * coalesce(cardinality(message.recipients), 0);
        IF used > 0 AND used + own > p_bytes THEN
            outcome := 'more';
            message := NULL;
            RETURN NEXT;
            RETURN;
        END IF;
        used := used + own;
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION conversations.list_messages(p_app uuid, p_user text, p_conversation uuid, p_page_size bigint, p_from_id uuid)
RETURNS TABLE (outcome text, total bigint, message conversations.message_row)
LANGUAGE sql STABLE ROWS 100 AS $$
    SELECT l.outcome, l.total, l.message FROM conversations.list_messages(p_app, p_user, p_conversation, p_page_size, p_from_id, NULL) l
$$;

-- As `list_announcements`; where the bytes did not suffice for the page, the last row has the outcome 'more'.
CREATE FUNCTION conversations.list_announcements_within(p_app uuid, p_user text, p_page_size bigint, p_from uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, announcement conversations.announcement_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    row record;
    used bigint := 0;
BEGIN
    FOR row IN SELECT l.* FROM conversations.list_announcements(p_app, p_user, p_page_size, p_from) l LOOP
        outcome := row.outcome;
        total := row.total;
        announcement := row.announcement;
        IF outcome IS NULL THEN
            used := used + 256 + coalesce(octet_length(announcement.parts), 0);
            IF used > p_bytes AND used > 256 + coalesce(octet_length(announcement.parts), 0) THEN
                outcome := 'more';
                announcement := NULL;
                RETURN NEXT;
                RETURN;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- As `trees`, for as many of the conversations, from the first on, as fit. They are read a few at a time, more of them the smaller the trees are.
CREATE FUNCTION metadata.trees_within(p_app uuid, p_conversations uuid[], p_users text[], p_bytes bigint)
RETURNS TABLE (n bigint, "position" bigint, paths text[], vals text[])
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    tree record;
    own bigint;
    used bigint := 0;
    done bigint := 0;
    size bigint := 4;
BEGIN
    WHILE done < cardinality(p_conversations) LOOP
        FOR tree IN
            SELECT t.n, t.position, t.paths, t.vals
            FROM metadata.trees(p_app, p_conversations[done + 1:done + size], p_users[done + 1:done + size]) t ORDER BY t.n
        LOOP
            own := pg_column_size(tree.paths) + pg_column_size(tree.vals);
            IF used > 0 AND used + own > p_bytes THEN RETURN; END IF;
            used := used + own;
            n := done + tree.n;
            "position" := tree.position;
            paths := tree.paths;
            vals := tree.vals;
            RETURN NEXT;
        END LOOP;
        done := done + size;
        size := greatest(1, least(64, 4 * size, coalesce((p_bytes - used) * done / greatest(used, 1), 64)));
    END LOOP;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.view_bytes, conversations.views_of, conversations.list_conversations_within,
    conversations.list_messages(uuid, text, uuid, bigint, uuid, bigint), conversations.list_announcements_within
TO strata_conversations;
REVOKE ALL ON FUNCTION
    conversations.view_bytes, conversations.views_of, conversations.list_conversations_within,
    conversations.list_messages(uuid, text, uuid, bigint, uuid, bigint), conversations.list_announcements_within, metadata.trees_within
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION metadata.trees_within TO strata_metadata;
