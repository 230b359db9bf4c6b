-- SPDX-License-Identifier: Apache-2.0
-- Receipts of one user over many messages of one conversation, in one call.

-- One change for all of them that have an effect. Outcomes: 'ok'; 'none', if none has an effect; 'not_found', also what the user does not see; 'access_denied'
-- to a former participant. `ignored`: of `p_messages`, those that the user does not see in this conversation, in the order asked. Statuses and the other
-- columns are as those of give_receipts.
CREATE FUNCTION conversations.give_receipts_of(
    p_app uuid, p_actor text, p_conversation uuid, p_messages uuid[], p_status bigint, p_limit bigint, p_oc bigint, p_or bigint,
    OUT outcome text, OUT "position" bigint, OUT created_at timestamptz, OUT message_count bigint, OUT ignored uuid[], OUT users text[],
    OUT messages uuid[], OUT ordinals bigint[], OUT statuses bigint[], OUT senders text[], OUT audiences bigint[], OUT number_users text[],
    OUT number_uncounted bigint[], OUT number_hidden bigint[])
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
    c conversations.conversation;
    p conversations.participant;
    given record;
BEGIN
    SELECT * INTO c FROM conversations.conversation x WHERE x.id = p_conversation AND x.app_id = p_app FOR UPDATE;
    SELECT * INTO p FROM conversations.participant x WHERE x.conversation_id = p_conversation AND x.user_id = p_actor;
    IF c.id IS NULL OR p.user_id IS NULL OR NOT conversations.is_visible(c, p) THEN
        outcome := 'not_found';
        RETURN;
    END IF;
    IF p.left_position IS NOT NULL THEN
        outcome := 'access_denied';
        RETURN;
    END IF;
    SELECT r.* INTO given
    FROM conversations.give_receipts(
        p_app, p_conversation, array_fill(p_actor, ARRAY[cardinality(p_messages)]), p_messages,
        array_fill(p_status, ARRAY[cardinality(p_messages)]), p_limit, p_oc, p_or) r;
    ignored := ARRAY(
        SELECT m.id FROM unnest(p_messages, given.results) WITH ORDINALITY m(id, result, n) WHERE m.result = 'not_found' ORDER BY m.n);
    outcome := CASE WHEN given.position IS NULL THEN 'none' ELSE 'ok' END;
    "position" := given.position;
    created_at := given.created_at;
    message_count := given.message_count;
    users := given.users;
    messages := given.messages;
    ordinals := given.ordinals;
    statuses := given.statuses;
    senders := given.senders;
    audiences := given.audiences;
    number_users := given.number_users;
    number_uncounted := given.number_uncounted;
    number_hidden := given.number_hidden;
END
$$;

-- As before, but each user is looked up once, however many receipts the change has: nearly always none was added again, and all is told as it is.
CREATE OR REPLACE FUNCTION conversations.receipts_as_told(h conversations.change, c conversations.conversation, p conversations.participant) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- The users who were added again after the change, so that what they received then counts as read now.
    again text[] := ARRAY(
        SELECT d.id
        FROM (
            SELECT DISTINCT o.receipt ->> 'user' AS id FROM jsonb_array_elements(h.operations) o(receipt)
            WHERE (o.receipt ->> 'status')::bigint = 1) d
        CROSS JOIN LATERAL (
            SELECT x.joined FROM conversations.participant x WHERE x.conversation_id = h.conversation_id AND x.user_id = d.id OFFSET 0) x
        WHERE x.joined > h.position AND (p.left_position IS NULL OR x.joined <= p.left_position)
            AND (c.receipt_policy & 2 = 0 OR d.id = p.user_id));
BEGIN
    IF again = '{}' THEN RETURN h.operations; END IF;
    RETURN (
        SELECT jsonb_agg(
            CASE WHEN (o.receipt ->> 'status')::bigint = 1 AND o.receipt ->> 'user' = ANY (again) THEN o.receipt || '{"status": 2}' ELSE o.receipt END
            ORDER BY o.n)
        FROM jsonb_array_elements(h.operations) WITH ORDINALITY o(receipt, n));
END
$$;

REVOKE ALL ON FUNCTION conversations.give_receipts_of FROM PUBLIC;
GRANT EXECUTE ON FUNCTION conversations.give_receipts_of TO strata_conversations;
