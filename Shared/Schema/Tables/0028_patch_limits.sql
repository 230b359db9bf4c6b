-- SPDX-License-Identifier: Apache-2.0
-- The limit of bytes where metadata is patched together with participants.

DROP FUNCTION conversations.patch_participants(uuid, text, uuid, jsonb, bigint, jsonb, bigint, bigint, bigint);

-- A client's patch of participants, and of metadata with it, all or nothing: each that has an effect is a change of its own. Outcomes: 'ok', 'none',
-- 'not_found', 'access_denied', 'too_many', 'too_many_keys' and 'too_large' (`p_max_keys` and `p_max_bytes` as for metadata.patch). Columns are NULL where
-- that part changed nothing; numbers are of those added.
CREATE FUNCTION conversations.patch_participants(
    p_app uuid, p_actor text, p_conversation uuid, p_operations jsonb, p_limit bigint, p_metadata jsonb, p_oc bigint, p_or bigint,
    p_max_keys bigint DEFAULT NULL, p_max_bytes bigint DEFAULT NULL,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT added text[], OUT removed text[],
    OUT distinct_cleared boolean, OUT participants text[], OUT conversation_created_at timestamptz, OUT receipt_policy bigint,
    OUT metadata_position bigint,
    OUT metadata_created_at timestamptz, OUT effects jsonb, OUT number_users text[], OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c conversations.conversation;
    before text[];
BEGIN
    SELECT b.outcome INTO outcome FROM conversations.begin_change(p_app, p_conversation, p_actor) b;
    IF outcome <> 'ok' THEN RETURN; END IF;
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation;
    SELECT r.user_ids INTO before FROM conversations.roster r WHERE r.conversation_id = p_conversation;

    participants := conversations.patched_users(before, p_operations);
    added := ARRAY(SELECT u.id FROM unnest(participants) u(id) WHERE u.id <> ALL (before));
    removed := ARRAY(SELECT u.id FROM unnest(before) u(id) WHERE u.id <> ALL (participants));
    IF cardinality(added) > 0 AND cardinality(participants) > p_limit THEN
        outcome := 'too_many';
        RETURN;
    END IF;
    IF p_metadata IS NOT NULL THEN
        outcome := coalesce(metadata.outgrown(p_conversation, p_metadata, p_max_keys, p_max_bytes), 'ok');
        IF outcome <> 'ok' THEN RETURN; END IF;
    END IF;
    conversation_created_at := c.created_at;
    receipt_policy := c.receipt_policy;
    message_count := c.message_count;
    distinct_cleared := false;

    IF cardinality(added) + cardinality(removed) > 0 THEN
        SELECT t.position, t.created_at, t.distinct_cleared
        INTO patch_participants.position, patch_participants.created_at, patch_participants.distinct_cleared
        FROM conversations.change_roster(c, before, added, removed, p_actor, p_oc, p_or) t;
        SELECT coalesce(array_agg(p.user_id ORDER BY p.user_id), '{}'), coalesce(array_agg(p.uncounted ORDER BY p.user_id), '{}'),
            coalesce(array_agg(p.hidden_count ORDER BY p.user_id), '{}')
        INTO number_users, number_uncounted, number_hidden
        FROM conversations.participant p WHERE p.conversation_id = p_conversation AND p.user_id = ANY (patch_participants.added);
    END IF;

    IF p_metadata IS NOT NULL THEN
        effects := metadata.apply(p_conversation, p_metadata, coalesce(patch_participants.position, c.position) + 1);
        IF effects IS NOT NULL THEN
            SELECT a.position, a.created_at INTO metadata_position, metadata_created_at
            FROM conversations.append_change(
                p_conversation, 3::smallint, p_actor, p_oc, p_or, NULL::uuid, NULL::bigint,
                jsonb_build_object('effects', patch_participants.effects)) a;
        END IF;
    END IF;
    IF patch_participants.position IS NULL AND metadata_position IS NULL THEN outcome := 'none'; END IF;
END
$$;

DROP FUNCTION metadata.exceeds(uuid, jsonb, bigint);

REVOKE ALL ON FUNCTION conversations.patch_participants FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.patch_participants TO strata_conversations;
