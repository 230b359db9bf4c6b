-- SPDX-License-Identifier: Apache-2.0
-- Where a page of a list ends. A client that follows the pages of a list is told whether there is anything behind a page, and after which object the next
-- page begins, before it gets the page itself. So each function looks at one id more than the page has, and its last row tells. STABLE functions: all of an
-- answer is from one snapshot.

-- The ids of a user's conversations, those they left included, newest first. NULL: the user never had the conversation `p_from_id`. A cursor that has left
-- the list meanwhile still stands where it would be.
CREATE FUNCTION conversations.listed_ids(p_app uuid, p_user text, p_by_last_message boolean, p_count bigint, p_from_id uuid) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    from_key timestamptz := 'infinity';
    from_id uuid := coalesce(p_from_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
BEGIN
    IF p_from_id IS NOT NULL THEN
        SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_from_id AND x.app_id = p_app;
        SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_from_id AND x.user_id = p_user;
        IF c.id IS NULL OR p.user_id IS NULL THEN RETURN NULL; END IF;
        from_key := conversations.list_key(c, p, p_by_last_message);
    END IF;
    RETURN CASE WHEN p_by_last_message
        THEN conversations.page_by_last_message(p_app, p_user, p_count, from_key, from_id)
        ELSE conversations.page_by_creation(p_app, p_user, p_count, from_key, from_id) END;
END
$$;

-- As `list_conversations_within`. If there are conversations behind the page, the last row has the outcome 'more'. No more views are made than fit.
CREATE FUNCTION conversations.list_conversations_page(
    p_app uuid, p_user text, p_by_last_message boolean, p_page_size bigint, p_from_id uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, later uuid, view conversations.view_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    ids uuid[] := conversations.listed_ids(p_app, p_user, p_by_last_message, p_page_size + 1, p_from_id);
    page_id uuid;
    c conversations.conversation;
    p conversations.participant;
    used bigint := 0;
    is_full boolean := false;
BEGIN
    outcome := CASE WHEN ids IS NULL THEN 'unknown_cursor' ELSE 'ok' END;
    total := CASE WHEN ids IS NULL THEN 0 ELSE conversations.listed_count(p_app, p_user) END;
    RETURN NEXT;
    IF ids IS NULL THEN RETURN; END IF;
    outcome := NULL;
    total := NULL;
    FOREACH page_id IN ARRAY ids[1:p_page_size] LOOP
        IF NOT is_full THEN
            SELECT * INTO c FROM conversations.conversation x WHERE x.id = page_id;
            SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = page_id AND x.user_id = p_user;
            view := conversations.view_of(c, p);
            is_full := coalesce(used > 0 AND used + conversations.view_bytes(view) > p_bytes, false);
            used := used + conversations.view_bytes(view);
        END IF;
        IF is_full THEN
            later := page_id;
            view := NULL;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF cardinality(ids) > p_page_size THEN
        outcome := 'more';
        later := NULL;
        view := NULL;
        RETURN NEXT;
    END IF;
END
$$;

-- As `list_messages`. If there are messages behind the page, the last row has the id of the page's last message in `last_id`, also where the bytes did not
-- suffice for all of the page. Its outcome is 'more' then, and NULL otherwise.
CREATE FUNCTION conversations.list_messages_page(
    p_app uuid, p_user text, p_conversation uuid, p_page_size bigint, p_from_id uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, last_id uuid, message conversations.message_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    c conversations.conversation;
    p conversations.participant;
    before bigint;
    ordinals bigint[];
    ordinal bigint;
    own bigint;
    used bigint := 0;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_user;
    IF c.id IS NULL OR p.user_id IS NULL OR NOT conversations.is_visible(c, p) THEN
        RETURN QUERY SELECT 'not_found'::text, 0::bigint, NULL::uuid, NULL::conversations.message_row;
        RETURN;
    END IF;
    total := coalesce(p.left_ordinal, c.message_count) - p.hidden_count;
    before := coalesce(p.left_ordinal, c.message_count) + 1;
    IF p_from_id IS NOT NULL THEN
        SELECT least(x.ordinal, before) INTO before FROM conversations.message_place x
        WHERE x.message_id = p_from_id AND x.conversation_id = p_conversation AND (p.left_position IS NULL OR x.ordinal <= p.left_ordinal);
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, total, NULL::uuid, NULL::conversations.message_row;
            RETURN;
        END IF;
    END IF;

    outcome := 'ok';
    RETURN NEXT;
    outcome := NULL;
    total := NULL;
    ordinals := ARRAY(SELECT o.ordinal FROM conversations.visible_ordinals(p, before, p_page_size + 1) o(ordinal) ORDER BY o.ordinal DESC);
    FOREACH ordinal IN ARRAY ordinals[1:p_page_size] LOOP
        message := conversations.message_for(p, ordinal);
        own := 256 + coalesce(octet_length(message.parts), 0) + 64 * coalesce(cardinality(message.recipients), 0);
        IF used > 0 AND used + own > p_bytes THEN
            outcome := 'more';
            EXIT;
        END IF;
        used := used + own;
        RETURN NEXT;
    END LOOP;
    IF cardinality(ordinals) > p_page_size THEN
        last_id := (SELECT m.id FROM conversations.message m WHERE m.conversation_id = p_conversation AND m.ordinal = ordinals[p_page_size]);
    END IF;
    IF outcome IS NOT NULL OR last_id IS NOT NULL THEN
        message := NULL;
        RETURN NEXT;
    END IF;
END
$$;

-- As `list_announcements_within`, with a last row as `list_messages_page` has it.
CREATE FUNCTION conversations.list_announcements_page(p_app uuid, p_user text, p_page_size bigint, p_from uuid, p_bytes bigint)
RETURNS TABLE (outcome text, total bigint, last_id uuid, announcement conversations.announcement_row)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    row record;
    n bigint := -1;
    own bigint;
    used bigint := 0;
    is_full boolean := false;
    page_end uuid;
BEGIN
    FOR row IN SELECT l.* FROM conversations.list_announcements(p_app, p_user, p_page_size + 1, p_from) l LOOP
        n := n + 1;
        IF n > p_page_size THEN
            last_id := page_end;
            EXIT;
        END IF;
        page_end := (row.announcement).announcement_id;
        CONTINUE WHEN is_full;
        outcome := row.outcome;
        total := row.total;
        announcement := row.announcement;
        IF n > 0 THEN
            own := 256 + coalesce(octet_length(announcement.parts), 0);
            is_full := coalesce(used > 0 AND used + own > p_bytes, false);
            CONTINUE WHEN is_full;
            used := used + own;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF is_full OR last_id IS NOT NULL THEN
        outcome := CASE WHEN is_full THEN 'more' END;
        announcement := NULL;
        RETURN NEXT;
    END IF;
END
$$;

REVOKE ALL ON FUNCTION conversations.listed_ids, conversations.list_conversations_page, conversations.list_messages_page,
    conversations.list_announcements_page FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.listed_ids, conversations.list_conversations_page, conversations.list_messages_page,
    conversations.list_announcements_page TO strata_conversations;
