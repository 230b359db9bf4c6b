-- SPDX-License-Identifier: Apache-2.0
-- Devices: the destinations of pushes.

-- Stores a device's push token. Outcomes: 'ok'; 'too_many', if the user has `p_quota` other devices (NULL: no limit)
-- that were all updated within 90 days. An older device is removed instead.
CREATE OR REPLACE FUNCTION conversations.set_push_token(
    p_app uuid, p_device text, p_user text, p_type text, p_token text, p_bundle text, p_sender text, p_version text,
    p_quota bigint) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM conversations.lock_quota(p_app, p_user, 'push_token');
    IF p_quota IS NOT NULL
        AND NOT EXISTS (SELECT FROM conversations.push_token t
            WHERE t.app_id = p_app AND t.device_id = p_device AND t.user_id = p_user)
        AND (SELECT count(*) FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = p_user) >= p_quota
    THEN
        DELETE FROM conversations.push_token t WHERE (t.app_id, t.device_id) = (
            SELECT o.app_id, o.device_id FROM conversations.push_token o
            WHERE o.app_id = p_app AND o.user_id = p_user AND o.updated_at < now() - interval '90 days'
            ORDER BY o.updated_at LIMIT 1);
        IF NOT FOUND THEN RETURN 'too_many'; END IF;
    END IF;
    INSERT INTO conversations.push_token (app_id, device_id, user_id, type, token, apns_bundle_id, gcm_sender_id,
        ios_version)
    VALUES (p_app, p_device, p_user, p_type, p_token, p_bundle, p_sender, p_version)
    ON CONFLICT (app_id, device_id) DO UPDATE SET
        user_id = excluded.user_id, type = excluded.type, token = excluded.token,
        apns_bundle_id = excluded.apns_bundle_id,
        gcm_sender_id = excluded.gcm_sender_id, ios_version = excluded.ios_version, updated_at = now();
    RETURN 'ok';
END
$$;

-- Deletes a device's push token, if it belongs to this user.
CREATE OR REPLACE FUNCTION conversations.delete_push_token(p_app uuid, p_user text, p_device text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM conversations.push_token t WHERE t.app_id = p_app AND t.device_id = p_device AND t.user_id = p_user;
    RETURN CASE WHEN FOUND THEN 'ok' ELSE 'none' END;
END
$$;

GRANT EXECUTE ON FUNCTION
    conversations.set_push_token, conversations.delete_push_token TO strata_conversations;
