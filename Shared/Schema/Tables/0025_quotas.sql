-- SPDX-License-Identifier: Apache-2.0
-- Rows that one user may cause, and rows that will never be asked for.
--
-- A quota is checked and used in one transaction, under a lock of this user's quota of this kind. The caller runs these functions alone in their
-- transactions: a second key of a group of statements could otherwise be waited for in a circle.

CREATE FUNCTION conversations.lock_quota(p_app uuid, p_user text, p_kind text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(p_kind || ' ' || p_app || ' ' || p_user, 0))
$$;

-- Identities that only their id is known of: a user was mentioned, and has never told anything about themselves.
ALTER TABLE conversations.identity
    -- When it was looked at last whether such an identity is still needed.
    ADD COLUMN examined_at timestamptz NOT NULL DEFAULT now(),
    -- It was not, and may be removed the next time. Until then it counts as if it were not there.
    ADD COLUMN is_doomed boolean NOT NULL DEFAULT false;
CREATE INDEX identity_bare ON conversations.identity (examined_at)
WHERE display_name IS NULL AND avatar_url IS NULL AND first_name IS NULL AND last_name IS NULL AND phone_number IS NULL AND email_address IS NULL
    AND public_key IS NULL AND NOT is_bot AND metadata = '{}' AND NOT suspended;

-- As before; an identity that was about to be removed stays. One that needs nothing is not touched: to update it, even to nothing, is to lock it, and then
-- its user could not sign in until the end of the caller's transaction. (One that is found to stay now is not doomed before its next look, which finds what
-- the caller writes.)
CREATE OR REPLACE FUNCTION conversations.ensure_identities(p_app uuid, p_users text[]) RETURNS SETOF conversations.identity
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    users text[] := conversations.sorted_users(p_users);
BEGIN
    INSERT INTO conversations.identity AS i (app_id, user_id)
    SELECT p_app, w.id FROM unnest(users) WITH ORDINALITY w(id, n)
    WHERE (SELECT x.is_doomed FROM conversations.identity x WHERE x.app_id = p_app AND x.user_id = w.id) IS NOT FALSE
    ORDER BY w.n
    ON CONFLICT (app_id, user_id) DO UPDATE SET is_doomed = false WHERE i.is_doomed;
    RETURN QUERY
    SELECT i.* FROM unnest(users) w(id)
    CROSS JOIN LATERAL (SELECT x.* FROM conversations.identity x WHERE x.app_id = p_app AND x.user_id = w.id OFFSET 0) i;
END
$$;

-- Rows that say who follows whom only because the conversation in which the two met is forgotten. A third user may have put the two into it, so these count
-- for no quota, and keep no identity.
ALTER TABLE conversations.follow ADD COLUMN is_met boolean NOT NULL DEFAULT false;
CREATE INDEX follow_chosen ON conversations.follow (app_id, user_id) WHERE is_followed AND NOT is_met;

-- As before, for users who have signed in, or of whom the application has told something: another user may name any number of the others.
CREATE OR REPLACE FUNCTION conversations.keep_follows(p_conversation uuid) RETURNS void
LANGUAGE sql VOLATILE AS $$
    WITH known AS MATERIALIZED (
        SELECT p.app_id, p.user_id, p.first_joined, p.left_position
        FROM conversations.participant p
        CROSS JOIN LATERAL (
            SELECT i.display_name IS NULL AND i.avatar_url IS NULL AND i.first_name IS NULL AND i.last_name IS NULL AND i.phone_number IS NULL
                AND i.email_address IS NULL AND i.public_key IS NULL AND NOT i.is_bot AND i.metadata = '{}' AND NOT i.suspended AS is_bare
            FROM conversations.identity i WHERE i.app_id = p.app_id AND i.user_id = p.user_id OFFSET 0) i
        WHERE p.conversation_id = p_conversation
            AND (NOT i.is_bare OR EXISTS (SELECT FROM conversations.session s WHERE s.app_id = p.app_id AND s.user_id = p.user_id)))
    INSERT INTO conversations.follow (app_id, user_id, followed, is_followed, is_met)
    SELECT p.app_id, p.user_id, q.user_id, true, true
    FROM known p JOIN known q ON q.user_id <> p.user_id
    WHERE (p.left_position IS NULL OR p.left_position > q.first_joined) AND (q.left_position IS NULL OR q.left_position > p.first_joined)
    ORDER BY p.user_id, q.user_id
    ON CONFLICT DO NOTHING
$$;

-- Whether anything refers to a user: a session, a conversation, a follower, a log of their own, a device, an announcement.
CREATE FUNCTION conversations.is_needed(p_app uuid, p_user text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM conversations.session s WHERE s.app_id = p_app AND s.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.user_conversation u WHERE u.app_id = p_app AND u.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.follow f WHERE f.app_id = p_app AND f.followed = p_user AND f.is_followed AND NOT f.is_met)
        OR EXISTS (SELECT FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND NOT f.is_met)
        OR EXISTS (SELECT FROM conversations.user_log l WHERE l.app_id = p_app AND l.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user)
        OR EXISTS (SELECT FROM conversations.announcement_recipient r WHERE r.app_id = p_app AND r.user_id = p_user);
END
$$;

-- Looks at identities of which only the id is known, each once a day, and removes those that twice in a row nothing referred to: who mentions one in between
-- keeps it (ensure_identities). To be called again while it looked at some. Several may sweep at once.
CREATE FUNCTION conversations.sweep_identities(p_limit bigint, OUT looked_at bigint, OUT removed bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    i conversations.identity;
    needed boolean;
BEGIN
    looked_at := 0;
    removed := 0;
    FOR i IN
        SELECT * FROM conversations.identity x
        WHERE x.display_name IS NULL AND x.avatar_url IS NULL AND x.first_name IS NULL AND x.last_name IS NULL AND x.phone_number IS NULL
            AND x.email_address IS NULL AND x.public_key IS NULL AND NOT x.is_bot AND x.metadata = '{}' AND NOT x.suspended
            AND x.examined_at < now() - interval '1 day'
        ORDER BY x.examined_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    LOOP
        looked_at := looked_at + 1;
        needed := conversations.is_needed(i.app_id, i.user_id);
        IF i.is_doomed AND NOT needed THEN
            DELETE FROM conversations.follow f WHERE f.app_id = i.app_id AND f.user_id = i.user_id AND f.is_met;
            DELETE FROM conversations.follow f WHERE f.app_id = i.app_id AND f.followed = i.user_id AND f.is_followed AND f.is_met;
            DELETE FROM conversations.identity x WHERE x.app_id = i.app_id AND x.user_id = i.user_id;
            removed := removed + 1;
        ELSE
            UPDATE conversations.identity x SET examined_at = now(), is_doomed = NOT needed WHERE x.app_id = i.app_id AND x.user_id = i.user_id;
        END IF;
    END LOOP;
END
$$;

-- Those that were there before have not been looked at yet.
UPDATE conversations.identity i SET examined_at = i.created_at - interval '1 day'
WHERE i.display_name IS NULL AND i.avatar_url IS NULL AND i.first_name IS NULL AND i.last_name IS NULL AND i.phone_number IS NULL
    AND i.email_address IS NULL AND i.public_key IS NULL AND NOT i.is_bot AND i.metadata = '{}' AND NOT i.suspended;

-- Those of some users whom a user has met. A few are looked for one by one; for more, all whom the user has met are found once.
CREATE FUNCTION conversations.met_among(p_app uuid, p_user text, p_others text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF cardinality(p_others) <= 8 THEN
        RETURN ARRAY(SELECT w.id FROM unnest(p_others) w(id) WHERE w.id <> p_user AND conversations.have_met(p_app, p_user, w.id));
    END IF;
    RETURN ARRAY(
        SELECT w.id COLLATE "C" FROM unnest(p_others) w(id) INTERSECT SELECT m.user_id COLLATE "C" FROM conversations.met(p_app, p_user) m);
END
$$;

-- Those of some users whom a user follows, as is_followed says of each.
CREATE FUNCTION conversations.followed_among(p_app uuid, p_user text, p_others text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    others text[];
    decided boolean[];
    undecided text[];
BEGIN
    SELECT coalesce(array_agg(w.id ORDER BY w.n), '{}'), coalesce(array_agg((
            SELECT f.is_followed FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = w.id) ORDER BY w.n), '{}')
    INTO others, decided
    FROM unnest(conversations.sorted_users(p_others)) WITH ORDINALITY w(id, n);
    undecided := ARRAY(SELECT w.id FROM unnest(others, decided) w(id, is_followed) WHERE w.is_followed IS NULL AND w.id <> p_user);
    IF cardinality(undecided) > 0 THEN undecided := conversations.met_among(p_app, p_user, undecided); END IF;
    RETURN ARRAY(SELECT w.id FROM unnest(others, decided) w(id, is_followed) WHERE w.is_followed) || undecided;
END
$$;

-- Writes that a user follows these, in the order of their ids. A row for each who was not followed before, with the entry of the user's own log.
CREATE FUNCTION conversations.write_follows(p_app uuid, p_user text, p_followed text[])
RETURNS TABLE (followed text, "position" bigint, created_at timestamptz)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
#variable_conflict use_column
BEGIN
    FOREACH followed IN ARRAY p_followed LOOP
        INSERT INTO conversations.follow AS f (app_id, user_id, followed, is_followed) VALUES (p_app, p_user, write_follows.followed, true)
        ON CONFLICT (app_id, user_id, followed) DO UPDATE SET is_followed = true, is_met = false WHERE NOT f.is_followed;
        -- Another call was faster.
        CONTINUE WHEN NOT FOUND;
        SELECT a.position, a.created_at INTO write_follows.position, write_follows.created_at
        FROM conversations.append_user_change(p_app, p_user, 5::smallint, jsonb_build_object('user', write_follows.followed)) a;
        RETURN NEXT;
    END LOOP;
END
$$;

-- Those of some users whom a user does not follow, in the order of their ids.
CREATE FUNCTION conversations.not_followed(p_app uuid, p_user text, p_others text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    followed text[] := conversations.followed_among(p_app, p_user, p_others) || p_user;
BEGIN
    RETURN conversations.sorted_users(ARRAY(
        SELECT w.id COLLATE "C" FROM unnest(p_others) w(id) EXCEPT SELECT f.id COLLATE "C" FROM unnest(followed) f(id)));
END
$$;

-- As before, whom the user has met found once.
CREATE OR REPLACE FUNCTION conversations.follow_users(p_app uuid, p_user text, p_followed text[])
RETURNS TABLE (followed text, "position" bigint, created_at timestamptz)
LANGUAGE plpgsql VOLATILE ROWS 10 AS $$
BEGIN
    RETURN QUERY SELECT f.* FROM conversations.write_follows(p_app, p_user, conversations.not_followed(p_app, p_user, p_followed)) f;
END
$$;

-- Follows users as follow_users does, who have an identity from then on, while the user has chosen no more than `p_quota` (NULL: no limit). The first
-- row has the outcome: 'ok', or 'too_many', and then nothing was written.
CREATE FUNCTION conversations.follow_users_within(p_app uuid, p_user text, p_followed text[], p_quota bigint)
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
                SELECT FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.is_followed AND NOT f.is_met LIMIT p_quota) f);
        IF used + cardinality(wanted) > p_quota THEN
            RETURN QUERY SELECT 'too_many'::text, NULL::text, NULL::bigint, NULL::timestamptz;
            RETURN;
        END IF;
    END IF;
    PERFORM conversations.ensure_identities(p_app, wanted);
    RETURN QUERY SELECT 'ok'::text, NULL::text, NULL::bigint, NULL::timestamptz;
    RETURN QUERY SELECT NULL::text, f.followed, f.position, f.created_at FROM conversations.write_follows(p_app, p_user, wanted) f;
END
$$;

-- As before. That a user is not followed needs a row only where the two have met: otherwise there is nothing to say.
CREATE OR REPLACE FUNCTION conversations.unfollow_user(
    p_app uuid, p_user text, p_followed text, OUT outcome text, OUT "position" bigint, OUT created_at timestamptz)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
BEGIN
    outcome := 'none';
    IF NOT conversations.is_followed(p_app, p_user, p_followed) OR conversations.are_together(p_app, p_user, p_followed) THEN RETURN; END IF;
    IF conversations.have_met(p_app, p_user, p_followed) THEN
        INSERT INTO conversations.follow AS f (app_id, user_id, followed, is_followed) VALUES (p_app, p_user, p_followed, false)
        ON CONFLICT (app_id, user_id, followed) DO UPDATE SET is_followed = false, is_met = false WHERE f.is_followed;
    ELSE
        DELETE FROM conversations.follow f WHERE f.app_id = p_app AND f.user_id = p_user AND f.followed = p_followed AND f.is_followed;
    END IF;
    IF NOT FOUND THEN RETURN; END IF;
    outcome := 'ok';
    SELECT a.position, a.created_at INTO unfollow_user.position, unfollow_user.created_at
    FROM conversations.append_user_change(p_app, p_user, 6::smallint, jsonb_build_object('user', p_followed)) a;
END
$$;

-- Where a device can be reached. Outcomes: 'ok'; 'too_many', if the user has `p_quota` other devices (NULL: no limit), each of which was heard of within
-- 90 days. One that was not makes room.
CREATE FUNCTION conversations.set_push_token(
    p_app uuid, p_device text, p_user text, p_type text, p_token text, p_bundle text, p_sender text, p_version text, p_quota bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM conversations.lock_quota(p_app, p_user, 'push_token');
    IF p_quota IS NOT NULL
        AND NOT EXISTS (SELECT FROM conversations.push_token t WHERE t.app_id = p_app AND t.device_id = p_device AND t.user_id = p_user)
        AND (SELECT count(*) FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user) >= p_quota
    THEN
        DELETE FROM conversations.push_token t WHERE (t.app_id, t.device_id) = (
            SELECT o.app_id, o.device_id FROM conversations.push_token o
            WHERE o.app_id = p_app AND o.user_id = p_user AND o.updated_at < now() - interval '90 days' ORDER BY o.updated_at LIMIT 1);
        IF NOT FOUND THEN RETURN 'too_many'; END IF;
    END IF;
    INSERT INTO conversations.push_token (app_id, device_id, user_id, type, token, apns_bundle_id, gcm_sender_id, ios_version)
    VALUES (p_app, p_device, p_user, p_type, p_token, p_bundle, p_sender, p_version)
    ON CONFLICT (app_id, device_id) DO UPDATE SET
        user_id = excluded.user_id, type = excluded.type, token = excluded.token, apns_bundle_id = excluded.apns_bundle_id,
        gcm_sender_id = excluded.gcm_sender_id, ios_version = excluded.ios_version, updated_at = now();
    RETURN 'ok';
END
$$;

-- What a user has announced or uploaded that is in no message.
CREATE INDEX content_waiting ON conversations.content (app_id, owner) INCLUDE (size) WHERE unreferenced_since IS NOT NULL;

-- What all users of an app have announced or uploaded that is in no message. Counted anew when that was done `counted_at` ago; in between only what is
-- announced is added. So it may be more than there is by what was sent or removed since then, and less by what deleted messages have left.
CREATE TABLE conversations.app_uploads (
    app_id     uuid PRIMARY KEY,
    counted_at timestamptz NOT NULL,
    number     bigint NOT NULL,
    bytes      bigint NOT NULL
) WITH (fillfactor = 20);

-- Content that is going to be uploaded. Outcomes: 'ok', also if it is there already; 'too_many', 'too_many_bytes', if the user would have more than that in no message;
-- 'app_full', 'app_full_bytes', if all users of the app would. NULL is no limit. What is in no message counts until it is swept.
CREATE FUNCTION conversations.create_content(
    p_id uuid, p_app uuid, p_owner text, p_type text, p_size bigint, p_quota bigint, p_quota_bytes bigint, p_app_quota bigint, p_app_quota_bytes bigint)
RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    used record;
    total conversations.app_uploads;
BEGIN
    PERFORM conversations.lock_quota(p_app, p_owner, 'content');
    IF EXISTS (SELECT FROM conversations.content x WHERE x.id = p_id) THEN RETURN 'ok'; END IF;
    IF p_quota IS NOT NULL OR p_quota_bytes IS NOT NULL THEN
        SELECT count(*) AS number, coalesce(sum(x.size), 0) AS bytes INTO used
        FROM conversations.content x WHERE x.app_id = p_app AND x.owner = p_owner AND x.unreferenced_since IS NOT NULL;
        IF used.number >= p_quota THEN RETURN 'too_many'; END IF;
        IF used.bytes + p_size > p_quota_bytes THEN RETURN 'too_many_bytes'; END IF;
    END IF;

    IF p_app_quota IS NOT NULL OR p_app_quota_bytes IS NOT NULL THEN
        INSERT INTO conversations.app_uploads (app_id, counted_at, number, bytes) VALUES (p_app, '-infinity', 0, 0) ON CONFLICT DO NOTHING;
        -- Other creations of content of this app wait here until this is decided and written.
        SELECT * INTO total FROM conversations.app_uploads u WHERE u.app_id = p_app FOR UPDATE;
        IF total.counted_at < clock_timestamp() - interval '10 seconds' THEN
            SELECT count(*), coalesce(sum(x.size), 0) INTO total.number, total.bytes
            FROM conversations.content x WHERE x.app_id = p_app AND x.unreferenced_since IS NOT NULL;
            total.counted_at := clock_timestamp();
        END IF;
        IF total.number >= p_app_quota THEN RETURN 'app_full'; END IF;
        IF total.bytes + p_size > p_app_quota_bytes THEN RETURN 'app_full_bytes'; END IF;
        UPDATE conversations.app_uploads u SET counted_at = total.counted_at, number = total.number + 1, bytes = total.bytes + p_size
        WHERE u.app_id = p_app;
    END IF;

    INSERT INTO conversations.content (id, app_id, owner, mime_type, size) VALUES (p_id, p_app, p_owner, p_type, p_size) ON CONFLICT DO NOTHING;
    RETURN 'ok';
END
$$;

GRANT SELECT, INSERT, UPDATE ON conversations.app_uploads TO strata_conversations;
REVOKE ALL ON FUNCTION conversations.lock_quota, conversations.is_needed, conversations.sweep_identities, conversations.met_among,
    conversations.followed_among, conversations.not_followed, conversations.write_follows, conversations.follow_users_within,
    conversations.set_push_token, conversations.create_content FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.lock_quota, conversations.is_needed, conversations.sweep_identities, conversations.met_among,
    conversations.followed_among, conversations.not_followed, conversations.write_follows, conversations.follow_users_within,
    conversations.set_push_token, conversations.create_content TO strata_conversations;
