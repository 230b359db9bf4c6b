-- SPDX-License-Identifier: Apache-2.0
-- Pushes: what devices are to be told that have no socket open. The server sends none itself: it hands them to the webhooks of the app that take pushes.

-- Hands a push to a user's devices to the app's webhooks, with the number for the app's icon, or NULL if the app shows none. A push without a notification
-- tells the number only. False: no webhook of the app takes pushes.
CREATE OR REPLACE FUNCTION conversations.hand_over_push(p_app uuid, p_push uuid, p_user text, p_notification jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    badge bigint := (SELECT b.badge FROM conversations.get_badge(p_app, p_user, false) b);
BEGIN
    RETURN webhooks.push(p_app, p_push, ARRAY[p_user], ARRAY[badge], p_notification) > 0;
END
$$;

-- Pushes a notification to users; for some of them `p_overrides`, an object by user id, has other members. `p_badges` has a number for each of the users, in
-- their order; NULL: they are counted here. Outcomes: 'ok'; 'no_webhook', and then nothing was pushed.
CREATE OR REPLACE FUNCTION conversations.push_notification(
    p_app uuid, p_users text[], p_notification jsonb, p_overrides jsonb, p_badges bigint[] DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    push uuid := gen_random_uuid();
    recipient record;
BEGIN
    -- Once for all: a webhook that ends meanwhile must not make a failure of what was pushed to some already, since the app's server would repeat that.
    IF NOT coalesce('Push' = ANY (webhooks.wanted(p_app)), false) THEN RETURN 'no_webhook'; END IF;
    -- Before the first push, which locks the lane of its user: other pushes to this user wait for that lock.
    IF p_badges IS NULL THEN
        p_badges := ARRAY(
            SELECT (SELECT b.badge FROM conversations.get_badge(p_app, u.id, false) b) FROM unnest(p_users) WITH ORDINALITY u(id, n) ORDER BY u.n);
    END IF;
    -- In the order of the users, so that two pushes cannot wait for each other.
    FOR recipient IN
        SELECT DISTINCT ON (u.id COLLATE "C") u.id, u.badge FROM unnest(p_users, p_badges) u(id, badge) ORDER BY u.id COLLATE "C"
    LOOP
        PERFORM webhooks.push(
            p_app, push, ARRAY[recipient.id], ARRAY[recipient.badge], p_notification || coalesce(p_overrides -> recipient.id, '{}'));
    END LOOP;
    RETURN 'ok';
END
$$;

-- Tells the iOS devices of a user that the number on the app's icon is another one, if a webhook of the app takes pushes.
CREATE OR REPLACE FUNCTION conversations.push_badge(p_app uuid, p_user text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user AND t.type = 'apns')
        OR EXISTS (SELECT FROM conversations.app a WHERE a.id = p_app AND a.badge_counts = 'disabled')
    THEN
        RETURN;
    END IF;
    PERFORM conversations.hand_over_push(p_app, gen_random_uuid(), p_user, NULL);
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.hand_over_push, conversations.push_notification, conversations.push_badge TO strata_conversations;
