-- SPDX-License-Identifier: Apache-2.0
-- Pushes: what devices are to be told that have no socket open. The server sends none itself: it hands them to the webhooks of the app that take pushes.

-- Hands a push to the app's webhooks. False: the app has none that takes pushes.
CREATE OR REPLACE FUNCTION conversations.hand_over_push(p_app uuid, p_user text, p_push jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- No webhook of this release takes pushes.
    RETURN false;
END
$$;

-- What is pushed to a user: where, what, and the number for the app's icon. `p_type` names the devices: 'apns', 'gcm'; NULL: all.
CREATE OR REPLACE FUNCTION conversations.push_of(p_app uuid, p_user text, p_notification jsonb, p_type text) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'user_id', p_user, 'notification', p_notification,
        'badge', (SELECT b.badge FROM conversations.get_badge(p_app, p_user) b),
        'tokens', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'type', t.type, 'token', t.token, 'device_id', t.device_id, 'apns_bundle_id', t.apns_bundle_id, 'gcm_sender_id', t.gcm_sender_id,
                    'ios_version', t.ios_version) ORDER BY t.device_id), '[]')
            FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user AND (p_type IS NULL OR t.type = p_type)));
END
$$;

-- Pushes a notification to users; for some of them `p_overrides`, an object by user id, has other members. Outcomes: 'ok'; 'no_webhook', and then nothing
-- was pushed.
CREATE OR REPLACE FUNCTION conversations.push_notification(p_app uuid, p_users text[], p_notification jsonb, p_overrides jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    recipient text;
    own jsonb;
BEGIN
    FOREACH recipient IN ARRAY conversations.sorted_users(p_users) LOOP
        own := p_notification || coalesce(p_overrides -> recipient, '{}');
        IF NOT conversations.hand_over_push(p_app, recipient, conversations.push_of(p_app, recipient, own, NULL)) THEN RETURN 'no_webhook'; END IF;
    END LOOP;
    RETURN 'ok';
END
$$;

-- Tells the iOS devices of a user that the number on the app's icon is another one, if a webhook of the app takes pushes.
CREATE OR REPLACE FUNCTION conversations.push_badge(p_app uuid, p_user text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    push jsonb;
BEGIN
    IF NOT EXISTS (SELECT FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user AND t.type = 'apns') THEN RETURN; END IF;
    push := conversations.push_of(p_app, p_user, NULL, 'apns');
    IF push ->> 'badge' IS NOT NULL THEN PERFORM conversations.hand_over_push(p_app, p_user, push); END IF;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.hand_over_push, conversations.push_of, conversations.push_notification, conversations.push_badge TO strata_conversations;
