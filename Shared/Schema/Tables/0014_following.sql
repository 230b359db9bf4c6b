-- SPDX-License-Identifier: Apache-2.0
-- Who follows whom: whose identity and presence somebody is told of.
--
-- Users who were ever in a conversation at the same time follow each other without a row for it. Rows say what they, or the application for them, wanted
-- beyond that; those that say "not" go when the two meet in a conversation again.

CREATE TABLE conversations.follow (
    app_id      uuid NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    followed    text COLLATE "C" NOT NULL,
    is_followed boolean NOT NULL,
    PRIMARY KEY (app_id, user_id, followed)
);
CREATE INDEX follow_by_followed ON conversations.follow (app_id, followed) WHERE is_followed;
CREATE INDEX follow_ended ON conversations.follow (app_id, user_id) WHERE NOT is_followed;

-- With whom a user was in a conversation at the same time, himself left out.
CREATE FUNCTION conversations.met(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT DISTINCT q.user_id::text
    FROM conversations.user_conversation u
    JOIN conversations.participant p ON p.conversation_id = u.conversation_id AND p.user_id = u.user_id
    JOIN conversations.participant q ON q.conversation_id = u.conversation_id
    WHERE u.app_id = p_app AND u.user_id = p_user AND q.user_id <> p_user
        AND (p.left_position IS NULL OR p.left_position > q.first_joined) AND (q.left_position IS NULL OR q.left_position > p.first_joined);
END
$$;

-- The same for two users only.
CREATE FUNCTION conversations.have_met(p_app uuid, p_user text, p_other text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.user_conversation u
        JOIN conversations.participant p ON p.conversation_id = u.conversation_id AND p.user_id = u.user_id
        JOIN conversations.participant q ON q.conversation_id = u.conversation_id AND q.user_id = p_other
        WHERE u.app_id = p_app AND u.user_id = p_user
            AND (p.left_position IS NULL OR p.left_position > q.first_joined) AND (q.left_position IS NULL OR q.left_position > p.first_joined));
END
$$;

-- Whether both are participants of the same conversation now.
CREATE FUNCTION conversations.are_together(p_app uuid, p_user text, p_other text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.user_conversation u
        JOIN conversations.conversation c ON c.id = u.conversation_id AND c.deleted_position IS NULL
        JOIN conversations.participant p ON p.conversation_id = u.conversation_id AND p.user_id = u.user_id AND p.left_position IS NULL
        JOIN conversations.participant q ON q.conversation_id = u.conversation_id AND q.user_id = p_other AND q.left_position IS NULL
        WHERE u.app_id = p_app AND u.user_id = p_user);
END
$$;

-- Whom a user follows.
CREATE FUNCTION conversations.followed(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT m.user_id FROM conversations.met(p_app, p_user) m
    WHERE NOT EXISTS (
        SELECT FROM conversations.follow f
        WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = m.user_id AND NOT f.is_followed)
    UNION
    SELECT f.followed::text FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.is_followed;
END
$$;

-- Who follows a user.
CREATE FUNCTION conversations.followers(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT m.user_id FROM conversations.met(p_app, p_user) m
    WHERE NOT EXISTS (
        SELECT FROM conversations.follow f
        WHERE f.app_id = p_app AND f.user_id = m.user_id AND f.followed = p_user AND NOT f.is_followed)
    UNION
    SELECT f.user_id::text FROM conversations.follow f WHERE f.app_id = p_app AND f.followed = p_user AND f.is_followed;
END
$$;

CREATE FUNCTION conversations.is_followed(p_app uuid, p_user text, p_followed text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    decided boolean := (
        SELECT f.is_followed FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = p_followed);
BEGIN
    RETURN coalesce(decided, p_user <> p_followed AND conversations.have_met(p_app, p_user, p_followed));
END
$$;

-- A page of the identities a user follows, newest first. The first row has the outcome, 'ok' or 'unknown_cursor', and how many there are in all. A cursor
-- who is not followed any more still stands where he would be.
CREATE FUNCTION conversations.list_followed(p_app uuid, p_user text, p_page_size bigint, p_from text)
RETURNS TABLE (outcome text, total bigint, profile conversations.identity)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
DECLARE
    users text[] := ARRAY(SELECT f.user_id FROM conversations.followed(p_app, p_user) f);
    from_time timestamptz;
BEGIN
    IF p_from IS NOT NULL THEN
        SELECT i.created_at INTO from_time FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = p_from;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 'unknown_cursor'::text, 0::bigint, NULL::conversations.identity;
            RETURN;
        END IF;
    END IF;
    outcome := 'ok';
    total := (SELECT count(*) FROM conversations.identity i WHERE i.app_id = p_app AND i.user_id = ANY (users));
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, i FROM conversations.identity i
    WHERE i.app_id = p_app AND i.user_id = ANY (users) AND (p_from IS NULL OR (i.created_at, i.user_id) < (from_time, p_from))
    ORDER BY i.created_at DESC, i.user_id DESC LIMIT p_page_size;
END
$$;

-- Follows users, who have identities. A row for each who was not followed before, with the entry of the user's own log.
CREATE FUNCTION conversations.follow_users(p_app uuid, p_user text, p_followed text[])
RETURNS TABLE (followed text, "position" bigint, created_at timestamptz)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
#variable_conflict use_column
BEGIN
    FOREACH followed IN ARRAY conversations.sorted_users(p_followed) LOOP
        CONTINUE WHEN followed = p_user OR conversations.is_followed(p_app, p_user, followed);
        INSERT INTO conversations.follow AS f (app_id, user_id, followed, is_followed) VALUES (p_app, p_user, follow_users.followed, true)
        ON CONFLICT (app_id, user_id, followed) DO UPDATE SET is_followed = true WHERE NOT f.is_followed;
        -- Somebody else was faster.
        CONTINUE WHEN NOT FOUND;
        SELECT a.position, a.created_at INTO follow_users.position, follow_users.created_at
        FROM conversations.append_user_change(p_app, p_user, 5::smallint, jsonb_build_object('user', follow_users.followed)) a;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Outcomes: 'ok', with the entry of the user's own log; 'none', if he was not followed, or is in a conversation with the user.
CREATE FUNCTION conversations.unfollow_user(
    p_app uuid, p_user text, p_followed text, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    outcome := 'none';
    IF NOT conversations.is_followed(p_app, p_user, p_followed) OR conversations.are_together(p_app, p_user, p_followed) THEN RETURN; END IF;
    INSERT INTO conversations.follow AS f (app_id, user_id, followed, is_followed) VALUES (p_app, p_user, p_followed, false)
    ON CONFLICT (app_id, user_id, followed) DO UPDATE SET is_followed = false WHERE f.is_followed;
    IF NOT FOUND THEN RETURN; END IF;
    outcome := 'ok';
    SELECT a.position, a.created_at INTO unfollow_user.position, unfollow_user.created_at
    FROM conversations.append_user_change(p_app, p_user, 6::smallint, jsonb_build_object('user', p_followed)) a;
END
$$;

-- These users have just come to a conversation: whoever among its participants did not want to follow them, or they him, does so again.
CREATE FUNCTION conversations.follow_again(c conversations.conversation, p_users text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    everybody text[] := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
BEGIN
    DELETE FROM conversations.follow f
    WHERE f.app_id = c.app_id AND f.user_id = ANY (everybody) AND NOT f.is_followed AND f.followed = ANY (everybody)
        AND (f.user_id = ANY (p_users) OR f.followed = ANY (p_users));
END
$$;

-- A conversation is about to be forgotten: that its participants met in it is not.
CREATE FUNCTION conversations.keep_follows(p_conversation uuid) RETURNS void
LANGUAGE sql VOLATILE AS $$
    INSERT INTO conversations.follow (app_id, user_id, followed, is_followed)
    SELECT p.app_id, p.user_id, q.user_id, true
    FROM conversations.participant p JOIN conversations.participant q ON q.conversation_id = p.conversation_id AND q.user_id <> p.user_id
    WHERE p.conversation_id = p_conversation
        AND (p.left_position IS NULL OR p.left_position > q.first_joined) AND (q.left_position IS NULL OR q.left_position > p.first_joined)
    ORDER BY p.user_id, q.user_id
    ON CONFLICT DO NOTHING
$$;
