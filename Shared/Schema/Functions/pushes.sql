-- SPDX-License-Identifier: Apache-2.0
-- Pushes: notifications for devices without an open socket. The server sends none itself: it passes them to the app's
-- webhooks that accept pushes.

-- Passes a push for a user's devices to the app's webhooks, with the badge, or NULL if the app shows none. A push
-- without a notification only updates the badge. Returns false if no webhook of the app accepts pushes.
CREATE OR REPLACE FUNCTION conversations.hand_over_push(p_app uuid, p_push uuid, p_user text, p_notification jsonb)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    badge bigint := (SELECT b.badge FROM conversations.get_badge(p_app, p_user, false) b);
BEGIN
    RETURN webhooks.push(p_app, p_push, ARRAY[p_user], ARRAY[badge], p_notification) > 0;
END
$$;

-- Pushes a notification to users. `p_overrides`, an object by user id, replaces members for some of them. `p_badges`
-- has a badge for each of the users, in their order; NULL: they are counted here. Outcomes: 'ok'; 'no_webhook', if
-- nothing was pushed.
CREATE OR REPLACE FUNCTION conversations.push_notification(
    p_app uuid, p_users text[], p_notification jsonb, p_overrides jsonb, p_badges bigint[] DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    push uuid := gen_random_uuid();
    recipient record;
BEGIN
    -- Check once for all users. If a webhook ends in between, the call must not fail after some users were pushed to,
    -- because the app's server would then repeat it.
    IF NOT coalesce('Push' = ANY (webhooks.wanted(p_app)), false) THEN RETURN 'no_webhook'; END IF;
    -- Count badges before the first push, because a push locks the lane of its user, and other pushes to this user wait
    -- for the lock.
    IF p_badges IS NULL THEN
        p_badges := ARRAY(
            SELECT (SELECT b.badge FROM conversations.get_badge(p_app, u.id, false) b)
            FROM unnest(p_users) WITH ORDINALITY u(id, n) ORDER BY u.n);
    END IF;
    -- The order of the users prevents deadlocks between two pushes.
    FOR recipient IN
        SELECT DISTINCT ON (u.id COLLATE "C") u.id, u.badge FROM unnest(p_users, p_badges) u(id, badge)
        ORDER BY u.id COLLATE "C"
    LOOP
        PERFORM webhooks.push(
            p_app, push, ARRAY[recipient.id], ARRAY[recipient.badge],
            p_notification || coalesce(p_overrides -> recipient.id, '{}'));
    END LOOP;
    RETURN 'ok';
END
$$;

-- Pushes a changed badge to a user's iOS devices, if a webhook of the app accepts pushes.
CREATE OR REPLACE FUNCTION conversations.push_badge(p_app uuid, p_user text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM conversations.push_token t
        WHERE t.app_id = p_app AND t.user_id = p_user AND t.type = 'apns')
        OR EXISTS (SELECT FROM conversations.app a WHERE a.id = p_app AND a.badge_counts = 'disabled')
    THEN
        RETURN;
    END IF;
    PERFORM conversations.hand_over_push(p_app, gen_random_uuid(), p_user, NULL);
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.hand_over_push, conversations.push_notification, conversations.push_badge TO strata_conversations;
