-- SPDX-License-Identifier: Apache-2.0
-- Following: a user sees the identities of the users they follow, with their changes.

-- True if two users were in a conversation at the same time.
CREATE OR REPLACE FUNCTION conversations.have_met(p_app uuid, p_user text, p_other text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.user_conversation u
        CROSS JOIN LATERAL (
            SELECT x.first_joined, x.left_position FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_other OFFSET 0) q
        CROSS JOIN LATERAL (
            SELECT x.first_joined, x.left_position FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user OFFSET 0) p
        WHERE u.app_id = p_app AND u.user_id = p_user
            AND (p.left_position IS NULL OR p.left_position > q.first_joined)
            AND (q.left_position IS NULL OR q.left_position > p.first_joined));
END
$$;

-- Returns the other users with whom a user was in a conversation at the same time. Each conversation is found by an
-- index lookup.
CREATE OR REPLACE FUNCTION conversations.met(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT DISTINCT q.user_id::text
    FROM conversations.user_conversation u
    CROSS JOIN LATERAL (
        SELECT x.first_joined, x.left_position FROM conversations.participant x
        WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user OFFSET 0) p
    CROSS JOIN LATERAL (
        SELECT x.user_id, x.first_joined, x.left_position FROM conversations.participant x
        WHERE x.conversation_id = u.conversation_id OFFSET 0) q
    WHERE u.app_id = p_app AND u.user_id = p_user AND q.user_id <> p_user
        AND (p.left_position IS NULL OR p.left_position > q.first_joined)
        AND (q.left_position IS NULL OR q.left_position > p.first_joined);
END
$$;

-- Returns the members of `p_others` that a user has met. A few are checked individually; for more, all users that the
-- user has met are read once.
CREATE OR REPLACE FUNCTION conversations.met_among(p_app uuid, p_user text, p_others text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF cardinality(p_others) <= 8 THEN
        RETURN ARRAY(SELECT w.id FROM unnest(p_others) w(id)
            WHERE w.id <> p_user AND conversations.have_met(p_app, p_user, w.id));
    END IF;
    RETURN ARRAY(
        SELECT w.id COLLATE "C" FROM unnest(p_others) w(id)
        INTERSECT SELECT m.user_id COLLATE "C" FROM conversations.met(p_app, p_user) m);
END
$$;

-- True if both are at present participants of the same conversation.
CREATE OR REPLACE FUNCTION conversations.are_together(p_app uuid, p_user text, p_other text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.user_conversation u
        CROSS JOIN LATERAL (
            SELECT FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_other AND x.left_position IS NULL OFFSET 0) q
        CROSS JOIN LATERAL (
            SELECT FROM conversations.participant x
            WHERE x.conversation_id = u.conversation_id AND x.user_id = p_user AND x.left_position IS NULL OFFSET 0) p
        CROSS JOIN LATERAL (
            SELECT FROM conversations.conversation x
            WHERE x.id = u.conversation_id AND x.deleted_position IS NULL OFFSET 0) c
        WHERE u.app_id = p_app AND u.user_id = p_user);
END
$$;

CREATE OR REPLACE FUNCTION conversations.is_followed(p_app uuid, p_user text, p_followed text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    decided boolean := (
        SELECT f.is_followed FROM conversations.follow f
        WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = p_followed);
BEGIN
    RETURN coalesce(decided, p_user <> p_followed AND conversations.have_met(p_app, p_user, p_followed));
END
$$;

-- Returns the users that a user follows. Each user's row is found by an index lookup.
CREATE OR REPLACE FUNCTION conversations.followed(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT m.user_id FROM conversations.met(p_app, p_user) m
    WHERE (
        SELECT f.is_followed FROM conversations.follow f
        WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = m.user_id) IS NOT FALSE
    UNION
    SELECT f.followed::text FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.is_followed;
END
$$;

-- Returns the members of `p_others` that a user follows, by the rule of is_followed.
CREATE OR REPLACE FUNCTION conversations.followed_among(p_app uuid, p_user text, p_others text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    others text[];
    decided boolean[];
    undecided text[];
BEGIN
    SELECT coalesce(array_agg(w.id ORDER BY w.n), '{}'), coalesce(array_agg((
            SELECT f.is_followed FROM conversations.follow f
            WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = w.id) ORDER BY w.n), '{}')
    INTO others, decided
    FROM unnest(conversations.sorted_users(p_others)) WITH ORDINALITY w(id, n);
    undecided := ARRAY(SELECT w.id FROM unnest(others, decided) w(id, is_followed)
        WHERE w.is_followed IS NULL AND w.id <> p_user);
    IF cardinality(undecided) > 0 THEN undecided := conversations.met_among(p_app, p_user, undecided); END IF;
    RETURN ARRAY(SELECT w.id FROM unnest(others, decided) w(id, is_followed) WHERE w.is_followed) || undecided;
END
$$;

-- Returns the members of `p_others` that follow a user, by the rule of is_followed. It reads only the user's own
-- conversations to find the users met.
CREATE OR REPLACE FUNCTION conversations.followers_among(p_app uuid, p_user text, p_others text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    others text[];
    decided boolean[];
    undecided text[];
BEGIN
    SELECT coalesce(array_agg(w.id ORDER BY w.n), '{}'), coalesce(array_agg((
            SELECT f.is_followed FROM conversations.follow f
            WHERE f.app_id = p_app AND f.user_id = w.id AND f.followed = p_user) ORDER BY w.n), '{}')
    INTO others, decided
    FROM unnest(conversations.sorted_users(p_others)) WITH ORDINALITY w(id, n);
    undecided := ARRAY(SELECT w.id FROM unnest(others, decided) w(id, is_followed)
        WHERE w.is_followed IS NULL AND w.id <> p_user);
    IF cardinality(undecided) > 0 THEN undecided := conversations.met_among(p_app, p_user, undecided); END IF;
    RETURN ARRAY(SELECT w.id FROM unnest(others, decided) w(id, is_followed) WHERE w.is_followed) || undecided;
END
$$;

-- Returns the users who follow a user. Each user's row is found by an index lookup.
CREATE OR REPLACE FUNCTION conversations.followers(p_app uuid, p_user text) RETURNS TABLE (user_id text)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT m.user_id FROM conversations.met(p_app, p_user) m
    WHERE (
        SELECT f.is_followed FROM conversations.follow f
        WHERE f.app_id = p_app AND f.user_id = m.user_id AND f.followed = p_user) IS NOT FALSE
    UNION
    SELECT f.user_id::text FROM conversations.follow f WHERE f.app_id = p_app AND f.followed = p_user AND f.is_followed;
END
$$;

-- Returns the members of `p_others` that a user does not follow, by id.
CREATE OR REPLACE FUNCTION conversations.not_followed(p_app uuid, p_user text, p_others text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    followed text[] := conversations.followed_among(p_app, p_user, p_others) || p_user;
BEGIN
    RETURN conversations.sorted_users(ARRAY(
        SELECT w.id COLLATE "C" FROM unnest(p_others) w(id)
        EXCEPT SELECT f.id COLLATE "C" FROM unnest(followed) f(id)));
END
$$;

-- Lists one page of the identities that a user follows, newest first. The first row has the outcome, 'ok' or
-- 'unknown_cursor', and the total. A cursor that is no longer followed keeps its place.
CREATE OR REPLACE FUNCTION conversations.list_followed(p_app uuid, p_user text, p_page_size bigint, p_from text)
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
    total := (
        SELECT count(*) FROM unnest(users) w(id)
        CROSS JOIN LATERAL (SELECT FROM conversations.identity x
            WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i);
    RETURN NEXT;
    RETURN QUERY
    SELECT NULL::text, NULL::bigint, i.row
    FROM unnest(users) w(id)
    CROSS JOIN LATERAL (SELECT x AS row FROM conversations.identity x
        WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i
    WHERE p_from IS NULL OR ((i.row).created_at, (i.row).user_id) < (from_time, p_from)
    ORDER BY (i.row).created_at DESC, (i.row).user_id DESC LIMIT p_page_size;
END
$$;

-- Stores that a user follows these users, in the order of their ids. Returns a row for each user who was not followed
-- before, with the entry of the user's own log.
CREATE OR REPLACE FUNCTION conversations.write_follows(p_app uuid, p_user text, p_followed text[])
RETURNS TABLE (followed text, "position" bigint, created_at timestamptz)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
#variable_conflict use_column
BEGIN
    FOREACH followed IN ARRAY p_followed LOOP
        INSERT INTO conversations.follow AS f (app_id, user_id, followed, is_followed)
        VALUES (p_app, p_user, write_follows.followed, true)
        ON CONFLICT (app_id, user_id, followed) DO UPDATE SET is_followed = true, is_met = false
        WHERE NOT f.is_followed;
        -- A concurrent call was faster.
        CONTINUE WHEN NOT FOUND;
        SELECT a.position, a.created_at INTO write_follows.position, write_follows.created_at
        FROM conversations.append_user_change(p_app, p_user, conversations.user_kind_followed(),
            jsonb_build_object('user', write_follows.followed)) a;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Follows users and creates minimal identities for them, unless the user would follow more than `p_quota` users by
-- choice (NULL: no limit). The first row has the outcome: 'ok', or 'too_many' if nothing was written. The other rows
-- are the users who were not followed before, each with the entry of the user's own log.
CREATE OR REPLACE FUNCTION conversations.follow_users_within(p_app uuid, p_user text, p_followed text[], p_quota bigint)
RETURNS TABLE (outcome text, followed text, "position" bigint, created_at timestamptz)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
#variable_conflict use_column
DECLARE
    wanted text[];
    used bigint;
BEGIN
    PERFORM conversations.lock_quota(p_app, p_user, 'follow');
    wanted := conversations.not_followed(p_app, p_user, p_followed);
    IF p_quota IS NOT NULL AND cardinality(wanted) > 0 THEN
        used := (
            SELECT count(*) FROM (
                SELECT FROM conversations.follow f
                WHERE f.app_id = p_app AND f.user_id = p_user AND f.is_followed AND NOT f.is_met LIMIT p_quota) f);
        IF used + cardinality(wanted) > p_quota THEN
            RETURN QUERY SELECT 'too_many'::text, NULL::text, NULL::bigint, NULL::timestamptz;
            RETURN;
        END IF;
    END IF;
    PERFORM conversations.ensure_identities(p_app, wanted);
    RETURN QUERY SELECT 'ok'::text, NULL::text, NULL::bigint, NULL::timestamptz;
    RETURN QUERY SELECT NULL::text, f.followed, f.position, f.created_at
        FROM conversations.write_follows(p_app, p_user, wanted) f;
END
$$;

-- Unfollows a user. Outcomes: 'ok', with the entry of the user's own log; 'none', if the other user was not followed,
-- or is in a conversation with the user. An unfollow is stored only if the two have met; otherwise the absence of a row
-- is enough.
CREATE OR REPLACE FUNCTION conversations.unfollow_user(
    p_app uuid, p_user text, p_followed text, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    outcome := 'none';
    IF NOT conversations.is_followed(p_app, p_user, p_followed) OR conversations.are_together(p_app, p_user, p_followed)
    THEN
        RETURN;
    END IF;
    IF conversations.have_met(p_app, p_user, p_followed) THEN
        INSERT INTO conversations.follow AS f (app_id, user_id, followed, is_followed)
        VALUES (p_app, p_user, p_followed, false)
        ON CONFLICT (app_id, user_id, followed) DO UPDATE SET is_followed = false, is_met = false WHERE f.is_followed;
    ELSE
        DELETE FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = p_followed
            AND f.is_followed;
    END IF;
    IF NOT FOUND THEN RETURN; END IF;
    outcome := 'ok';
    SELECT a.position, a.created_at INTO unfollow_user.position, unfollow_user.created_at
    FROM conversations.append_user_change(p_app, p_user, conversations.user_kind_unfollowed(),
        jsonb_build_object('user', p_followed)) a;
END
$$;

-- Removes unfollows between new participants of a conversation and all of its participants, so that they follow each
-- other again. The rows are locked in one order, because other conversations may have the same participants. Each
-- user's rows are found by an index lookup.
CREATE OR REPLACE FUNCTION conversations.follow_again(c conversations.conversation, p_users text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    all_users text[] := (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = c.id);
    ended record;
BEGIN
    FOR ended IN
        SELECT e.id AS user_id, f.followed
        FROM unnest(all_users) e(id)
        CROSS JOIN LATERAL (
            SELECT x.followed FROM conversations.follow x
            WHERE x.app_id = c.app_id AND x.user_id = e.id AND NOT x.is_followed OFFSET 0) f
        WHERE f.followed = ANY (all_users) AND (e.id = ANY (p_users) OR f.followed = ANY (p_users))
        ORDER BY e.id COLLATE "C", f.followed
    LOOP
        DELETE FROM conversations.follow f
        WHERE f.app_id = c.app_id AND f.user_id = ended.user_id AND f.followed = ended.followed
            AND NOT coalesce(f.is_followed, true);
    END LOOP;
END
$$;

-- True if more than the id of a user is known: the user has signed in, or the app has set a property.
CREATE OR REPLACE FUNCTION conversations.is_known(p_app uuid, p_user text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM conversations.identity i
        WHERE i.app_id = p_app AND i.user_id = p_user AND (conversations.has_identity(i) OR i.suspended
            OR EXISTS (SELECT FROM conversations.session s WHERE s.app_id = p_app AND s.user_id = p_user)));
END
$$;

-- Stores that these participants (NULL: all) have met the others, before their rows in the conversation are deleted.
-- Only known users get rows, because another user may name any number of unknown ones.
CREATE OR REPLACE FUNCTION conversations.keep_follows(p_conversation uuid, p_users text[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
BEGIN
    WITH known AS MATERIALIZED (
        SELECT p.app_id, p.user_id, p.first_joined, p.left_position
        FROM conversations.participant p
        WHERE p.conversation_id = p_conversation AND conversations.is_known(p.app_id, p.user_id)
    ), leaving AS MATERIALIZED (
        SELECT k.* FROM known k WHERE p_users IS NULL OR k.user_id = ANY (p_users)
    )
    INSERT INTO conversations.follow (app_id, user_id, followed, is_followed, is_met)
    SELECT p.app_id, d.user_id, d.followed, true, true
    FROM leaving p
    JOIN known q ON q.user_id <> p.user_id
        AND (p.left_position IS NULL OR p.left_position > q.first_joined)
        AND (q.left_position IS NULL OR q.left_position > p.first_joined)
    CROSS JOIN LATERAL (VALUES (p.user_id, q.user_id), (q.user_id, p.user_id)) d(user_id, followed)
    -- Insert in one order, because other conversations may have the same participants.
    ORDER BY d.user_id, d.followed
    ON CONFLICT DO NOTHING;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.have_met, conversations.met, conversations.met_among, conversations.are_together,
    conversations.is_followed, conversations.followed, conversations.followed_among, conversations.followers_among,
    conversations.followers, conversations.not_followed, conversations.list_followed, conversations.write_follows,
    conversations.follow_users_within, conversations.unfollow_user, conversations.follow_again, conversations.is_known,
    conversations.keep_follows TO strata_conversations;
