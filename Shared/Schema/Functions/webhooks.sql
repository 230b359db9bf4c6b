-- SPDX-License-Identifier: Apache-2.0
-- Webhooks: recording of events for apps' own servers, in the transaction of the change.
--
-- Facts are the members of an event at its time. Times are microseconds since 1970. An event holds the change, so its
-- size is about that of the request that caused it. webhooks.complete reads the objects concerned when the event is
-- delivered. The kinds of events:
--   Message.created and .deleted, with the message; Conversation.deleted, with the conversation
--   Message.updated; MessagePart.created, .updated, .deleted
--   Receipt.created, of a run of messages; message.delivered and message.read, of one message (1.0)
--   Conversation.created, .updated
--   Participation.created, .deleted; conversation.updated.participants, of both (1.0)
--   Push
--
-- Functions that services call run as the owner. The others are called only by these.

CREATE OR REPLACE FUNCTION webhooks.microseconds(p_time timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (extract(epoch FROM p_time) * 1000000)::bigint;

-- Returns the basic identities of these users: {"<user id>": {"display_name": …, "avatar_url": …}, …}. Each is found by
-- an index lookup.
CREATE OR REPLACE FUNCTION webhooks.identities(p_app uuid, p_users text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT coalesce(
            jsonb_object_agg(u.id, jsonb_build_object('display_name', i.display_name, 'avatar_url', i.avatar_url)),
            '{}')
        FROM (SELECT DISTINCT x.id FROM unnest(p_users) x(id)) u
        CROSS JOIN LATERAL (
            SELECT y.display_name, y.avatar_url FROM conversations.identity y
            WHERE y.app_id = p_app AND y.user_id = u.id OFFSET 0) i);
END
$$;

-- Returns a conversation without its participants and metadata.
CREATE OR REPLACE FUNCTION webhooks.conversation_object(p_conversation uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT jsonb_build_object('created_at', webhooks.microseconds(x.created_at), 'is_distinct', x.is_distinct)
        FROM conversations.conversation x WHERE x.id = p_conversation);
END
$$;

-- Returns the participants of a conversation with their identities, and its metadata, unless that has more than
-- `p_bytes`.
CREATE OR REPLACE FUNCTION webhooks.conversation_facts(p_app uuid, p_conversation uuid, p_bytes bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    users constant text[] := coalesce(
        (SELECT r.user_ids FROM conversations.roster r WHERE r.conversation_id = p_conversation), '{}');
    -- A conversation without a row has no metadata.
    bytes constant bigint := coalesce(
        (SELECT coalesce(t.bytes, p_bytes) FROM metadata.tree t WHERE t.conversation_id = p_conversation), 0);
BEGIN
    RETURN jsonb_build_object(
        'participants', to_jsonb(users), 'identities', webhooks.identities(p_app, users),
        'metadata', CASE WHEN bytes <= p_bytes THEN (
            SELECT coalesce(jsonb_agg(jsonb_build_array(l.path, l.value) ORDER BY l.path), '[]')
            FROM metadata.leaf l WHERE l.conversation_id = p_conversation) END);
END
$$;

-- Returns a message in its present state, without its parts.
CREATE OR REPLACE FUNCTION webhooks.message_object(m conversations.message_row) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    -- Drop the parts before to_jsonb, which would encode them as text of twice their length.
    m.parts := NULL;
    RETURN to_jsonb(m) - '{parts,conversation_id,sent_at,updated_at}'::text[] || jsonb_build_object(
        'sent_at', webhooks.microseconds(m.sent_at), 'updated_at', webhooks.microseconds(m.updated_at));
END
$$;

-- Returns a message without its parts, with the identities of its sender and of another user; NULL if there is no
-- message.
CREATE OR REPLACE FUNCTION webhooks.message_facts(p_app uuid, m conversations.message_row, p_user text) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF m.message_id IS NULL THEN RETURN NULL; END IF;
    RETURN jsonb_build_object(
        'message', webhooks.message_object(m),
        'identities',
        webhooks.identities(p_app, CASE WHEN m.sender = p_user THEN ARRAY[p_user] ELSE ARRAY[m.sender, p_user] END));
END
$$;

-- Returns the members of a message that identify it, and those that the event reports if the message is gone at
-- delivery.
CREATE OR REPLACE FUNCTION webhooks.message_reference(m conversations.message_row) RETURNS jsonb
LANGUAGE sql STABLE
RETURN jsonb_build_object(
    'message_id', m.message_id, 'position', m.position, 'ordinal', m.ordinal, 'sender', m.sender, 'sender_name',
    m.sender_name,
    'sent_at', webhooks.microseconds(m.sent_at));

-- Adds the objects that an event concerns, in their present state, with at most `p_bytes` of metadata. The parts of a
-- deleted message are NULL. A deleted conversation has its remaining participants and metadata.
CREATE OR REPLACE FUNCTION webhooks.complete(
    p_app uuid, p_subject uuid, p_kind text, p_facts jsonb, p_bytes bigint, OUT facts jsonb, OUT parts bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    m conversations.message_row;
    found_facts jsonb;
BEGIN
    facts := p_facts;
    IF p_facts ? 'conversation' THEN
        found_facts := webhooks.conversation_facts(p_app, p_subject, p_bytes);
        facts := facts || jsonb_build_object(
            'conversation', (facts -> 'conversation') || (found_facts - 'identities'),
            'identities', (found_facts -> 'identities') || coalesce(facts -> 'identities', '{}'));
    ELSIF p_facts ? 'message' THEN
        m := conversations.message_at(p_subject, (p_facts -> 'message' ->> 'ordinal')::bigint);
        IF m.message_id IS NULL THEN RETURN; END IF;
        parts := m.parts;
        facts := facts || jsonb_build_object(
            'message', webhooks.message_object(m), 'identities',
            webhooks.identities(p_app, ARRAY[m.sender, p_facts ->> 'actor']));
    END IF;
END
$$;

-- Returns the kinds of events that the app's active hooks want; NULL: none.
CREATE OR REPLACE FUNCTION webhooks.wanted(p_app uuid) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT array_agg(DISTINCT k.kind) FROM webhooks.hook h CROSS JOIN LATERAL unnest(h.kinds) k(kind)
        WHERE h.app_id = p_app AND h.status = 'active');
END
$$;

-- Returns the size of an event in bytes: its content, and about 256 bytes for its rows.
CREATE OR REPLACE FUNCTION webhooks.event_bytes(p_facts jsonb, p_parts bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN 256 + octet_length(p_facts::text) + coalesce(octet_length(p_parts), 0);

-- Locks a lane of each active hook that wants one of these kinds, and creates missing lanes. Returns the hooks. The
-- order of the hooks prevents deadlocks between two transactions.
CREATE OR REPLACE FUNCTION webhooks.lock_lanes(p_app uuid, p_lane uuid, p_kinds text[]) RETURNS uuid[]
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    hooks uuid[] := ARRAY(
        SELECT h.id FROM webhooks.hook h WHERE h.app_id = p_app AND h.status = 'active' AND p_kinds && h.kinds
        ORDER BY h.id);
BEGIN
    IF hooks <> '{}' THEN
        INSERT INTO webhooks.lane AS l (hook_id, lane, app_id)
        SELECT h.id, p_lane, p_app FROM unnest(hooks) WITH ORDINALITY h(id, n) ORDER BY h.n
        ON CONFLICT (hook_id, lane) DO UPDATE SET app_id = l.app_id WHERE false;
    END IF;
    RETURN hooks;
END
$$;

-- Adds bytes to the locked lanes of these hooks.
CREATE OR REPLACE FUNCTION webhooks.weigh(p_hooks uuid[], p_lane uuid, p_bytes bigint) RETURNS void
LANGUAGE sql VOLATILE AS $$
    UPDATE webhooks.lane l SET bytes = l.bytes + p_bytes WHERE l.hook_id = ANY (p_hooks) AND l.lane = p_lane
$$;

-- Records an event once, for all active hooks that want its kind. `p_position` NULL: the event has no position in a
-- conversation and follows everything in the lane. Its number is taken while the lane is locked, so that no transaction
-- with a higher one ends before this one.
CREATE OR REPLACE FUNCTION webhooks.emit(
    p_app uuid, p_lane uuid, p_position bigint, p_number bigint, p_kind text, p_event uuid, p_created_at timestamptz,
    p_facts jsonb,
    p_parts bytea DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    hooks constant uuid[] := webhooks.lock_lanes(p_app, p_lane, ARRAY[p_kind]);
    bytes constant bigint := webhooks.event_bytes(p_facts, p_parts);
    recorded bigint;
BEGIN
    IF hooks = '{}' THEN RETURN; END IF;
    IF p_position IS NULL THEN p_position := nextval('webhooks.number'); END IF;
    INSERT INTO webhooks.event (app_id, kind, event_id, created_at, subject, facts, parts)
    VALUES (p_app, p_kind, p_event, p_created_at, p_lane, p_facts, p_parts) RETURNING id INTO recorded;
    INSERT INTO webhooks.outbox (hook_id, lane, position, number, event, size)
    SELECT h.id, p_lane, p_position, p_number, recorded, bytes FROM unnest(hooks) h(id)
    ON CONFLICT (hook_id, lane, position, number) DO NOTHING;
    PERFORM webhooks.weigh(hooks, p_lane, bytes);
END
$$;

-- Returns the wanted kinds that report a single message of these receipts.
CREATE OR REPLACE FUNCTION webhooks.receipt_kinds(p_receipts jsonb, p_wanted text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT k.kind FROM jsonb_array_elements(p_receipts) e(v)
        CROSS JOIN LATERAL (SELECT CASE (e.v ->> 'status')::bigint WHEN 2 THEN 'message.read'
            ELSE 'message.delivered' END AS kind) k
        WHERE k.kind = ANY (p_wanted));
END
$$;

-- Records the events of receipts: for each user and status, a Receipt.created for each run of messages; then a
-- message.… event for each message, in the order of the receipts. Each step is one statement, regardless of the number
-- of receipts. It reads no parts, because a 1.0 hook gets events for up to a thousand messages, and the transaction is
-- shared. `p_receipts`: [{"user": …, "message_id": …, "ordinal": …, "status": 1|2}, …].
CREATE OR REPLACE FUNCTION webhooks.record_receipts(
    p_app uuid, p_conversation uuid, p_position bigint, p_created_at timestamptz, p_receipts jsonb, p_wanted text[])
RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    -- The wanted kinds that report a single message.
    single constant text[] := webhooks.receipt_kinds(p_receipts, p_wanted);
    hooks uuid[];
BEGIN
    IF jsonb_array_length(p_receipts) = 0 THEN RETURN; END IF;
    hooks := webhooks.lock_lanes(p_app, p_conversation, single || ARRAY['Receipt.created']);
    IF hooks = '{}' THEN RETURN; END IF;
    WITH receipt AS MATERIALIZED (
        SELECT e.n, e.v ->> 'user' AS user_id, (e.v ->> 'ordinal')::bigint AS ordinal,
            (e.v ->> 'status')::bigint AS status, m.*
        FROM jsonb_array_elements(p_receipts) WITH ORDINALITY e(v, n)
        CROSS JOIN LATERAL (
            SELECT y.id, y.position, y.sender, y.sender_name, y.sent_at FROM conversations.message y
            WHERE y.conversation_id = p_conversation AND y.ordinal = (e.v ->> 'ordinal')::bigint OFFSET 0) m
    ), run AS (
        SELECT g.user_id, g.status, min(g.position) AS first, max(g.position) AS last
        FROM (
            SELECT r.user_id, r.status, r.position,
                r.ordinal - row_number() OVER (PARTITION BY r.user_id, r.status ORDER BY r.ordinal) AS run
            FROM (SELECT DISTINCT x.user_id, x.status, x.ordinal, x.position FROM receipt x
                WHERE 'Receipt.created' = ANY (p_wanted)) r) g
        GROUP BY g.user_id, g.status, g.run
    ), event AS MATERIALIZED (
        SELECT row_number() OVER (ORDER BY r.first, r.user_id, r.status) - 1 AS number, 'Receipt.created' AS kind,
            gen_random_uuid() AS event_id, jsonb_build_object(
                'actor', r.user_id, 'status', r.status, 'from', r.first, 'to', r.last,
                'identities', webhooks.identities(p_app, ARRAY[r.user_id])) AS facts
        FROM run r
        UNION ALL
        -- Number these after the runs, which are at most as many as the receipts.
        SELECT jsonb_array_length(p_receipts) + r.n, k.kind, gen_random_uuid(),
            jsonb_build_object(
                'actor', r.user_id, 'message', jsonb_build_object(
                    'message_id', r.id, 'position', r.position, 'ordinal', r.ordinal, 'sender', r.sender,
                    'sender_name', r.sender_name, 'sent_at', webhooks.microseconds(r.sent_at)))
        FROM receipt r
        CROSS JOIN LATERAL (SELECT CASE r.status WHEN 2 THEN 'message.read' ELSE 'message.delivered' END AS kind) k
        WHERE k.kind = ANY (single)
    ), recorded AS (
        INSERT INTO webhooks.event (app_id, kind, event_id, created_at, subject, facts)
        SELECT p_app, e.kind, e.event_id, p_created_at, p_conversation, e.facts FROM event e
        RETURNING id, event_id
    ), owed AS (
        INSERT INTO webhooks.outbox (hook_id, lane, position, number, event, size)
        SELECT h.id, p_conversation, p_position, e.number, r.id, webhooks.event_bytes(e.facts, NULL)
        FROM event e JOIN recorded r ON r.event_id = e.event_id CROSS JOIN webhooks.hook h
        WHERE h.id = ANY (hooks) AND e.kind = ANY (h.kinds)
        ON CONFLICT (hook_id, lane, position, number) DO NOTHING
        RETURNING hook_id, size
    )
    UPDATE webhooks.lane l SET bytes = l.bytes + o.size
    FROM (SELECT w.hook_id, sum(w.size) AS size FROM owed w GROUP BY w.hook_id) o
    WHERE l.hook_id = o.hook_id AND l.lane = p_conversation;
END
$$;

-- Returns the receipts that mark_all_read gave. The unread messages before it are unknown, so these are all messages of
-- other users from the first unread one on, at most the newest 1,000.
CREATE OR REPLACE FUNCTION webhooks.all_read(p_conversation uuid, p_user text, p_from bigint, p_up_to bigint)
RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        SELECT coalesce(
            jsonb_agg(jsonb_build_object('user', p_user, 'message_id', r.id, 'ordinal', r.ordinal, 'status', 2)
                ORDER BY r.ordinal), '[]')
        FROM (
            SELECT m.id, m.ordinal FROM conversations.message m
            WHERE m.conversation_id = p_conversation AND m.ordinal >= p_from AND m.position <= p_up_to
                AND m.sender <> p_user
            ORDER BY m.ordinal DESC LIMIT 1000) r);
END
$$;

-- Records the events of changed parts of a message: one for each part, and one for the message. An edit's kind: 0
-- created, 1 updated, 2 deleted, 3 erased, for which only the message has an event.
CREATE OR REPLACE FUNCTION webhooks.record_parts(p_app uuid, h conversations.change, p_actor jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    m conversations.message_row := conversations.message_at(h.conversation_id, h.ordinal);
    facts jsonb;
    edit jsonb;
    kind text;
    number bigint := 0;
BEGIN
    IF m.message_id IS NULL THEN RETURN; END IF;
    facts := jsonb_build_object('message', webhooks.message_reference(m)) || p_actor;
    FOR edit IN
        SELECT e.v FROM jsonb_array_elements(h.operations -> 'edits') WITH ORDINALITY e(v, n) ORDER BY e.n
    LOOP
        kind := CASE (edit ->> 'kind')::bigint
            WHEN 0 THEN 'MessagePart.created' WHEN 1 THEN 'MessagePart.updated' WHEN 2 THEN 'MessagePart.deleted' END;
        CONTINUE WHEN kind IS NULL;
        PERFORM webhooks.emit(
            p_app, h.conversation_id, h.position, number, kind,
            CASE kind WHEN 'MessagePart.created' THEN (edit ->> 'part')::uuid ELSE gen_random_uuid() END, h.created_at,
            facts || jsonb_build_object('part', edit ->> 'part'));
        number := number + 1;
    END LOOP;
    PERFORM webhooks.emit(
        p_app, h.conversation_id, h.position, number, 'Message.updated', gen_random_uuid(), h.created_at, facts);
END
$$;

-- Returns a deleted message. Its remaining data is in the log's entry and in its recipients' rows.
CREATE OR REPLACE FUNCTION webhooks.deleted_message(h conversations.change) RETURNS conversations.message_row
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    m conversations.message_row;
BEGIN
    m.message_id := h.message_id;
    m.ordinal := h.ordinal;
    m.position := (h.operations ->> 'position')::bigint;
    m.sender := coalesce(h.operations ->> 'sender', '');
    m.sent_at := (h.operations ->> 'sent_at')::timestamptz;
    m.receipt_policy := 0;
    SELECT array_agg(p.user_id::text ORDER BY p.user_id),
        array_agg(conversations.recipient_status(
                0, p.user_id = m.sender, conversations.has_read(p, h.ordinal), p.delivered @> h.ordinal)
            ORDER BY p.user_id)
    INTO m.recipients, m.statuses
    FROM conversations.participant p
    WHERE p.conversation_id = h.conversation_id AND (p.left_position IS NULL OR p.left_ordinal >= h.ordinal);
    RETURN m;
END
$$;

-- Records the events of a change of participants. `p_facts`: the facts of all of them.
CREATE OR REPLACE FUNCTION webhooks.record_participants(p_app uuid, h conversations.change, p_facts jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kind text;
    number bigint := 0;
    users jsonb;
BEGIN
    FOR kind, users IN
        SELECT * FROM (VALUES
            ('Participation.created', h.operations -> 'added'), ('Participation.deleted', h.operations -> 'removed'),
            ('conversation.updated.participants', '["any"]'::jsonb)) k(kind, users)
    LOOP
        CONTINUE WHEN coalesce(jsonb_array_length(users), 0) = 0;
        PERFORM webhooks.emit(
            p_app, h.conversation_id, h.position, number, kind, gen_random_uuid(), h.created_at,
            p_facts || jsonb_build_object('users', users, 'identities', p_facts -> 'identities' || webhooks.identities(
                p_app, ARRAY(SELECT jsonb_array_elements_text(users)))));
        number := number + 1;
    END LOOP;
END
$$;

-- Records the events of a change of the conversation itself.
CREATE OR REPLACE FUNCTION webhooks.record_conversation(p_app uuid, h conversations.change, p_actor jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    facts jsonb := jsonb_build_object(
        'conversation', webhooks.conversation_object(h.conversation_id),
        'identities', webhooks.identities(p_app, ARRAY[h.actor])) || p_actor;
    kind text := CASE h.kind
        WHEN conversations.kind_created() THEN 'Conversation.created'
        WHEN conversations.kind_metadata() THEN 'Conversation.updated'
        WHEN conversations.kind_deleted() THEN 'Conversation.deleted' END;
BEGIN
    IF h.kind = conversations.kind_participants() THEN PERFORM webhooks.record_participants(p_app, h, facts); END IF;
    IF kind IS NULL THEN RETURN; END IF;
    -- Complete the event now, because nothing can be read at delivery.
    IF h.kind = conversations.kind_deleted() THEN
        facts := (webhooks.complete(p_app, h.conversation_id, kind, facts, 262144)).facts;
    END IF;
    PERFORM webhooks.emit(
        p_app, h.conversation_id, h.position, 0, kind,
        CASE h.kind WHEN conversations.kind_created() THEN h.conversation_id ELSE gen_random_uuid() END, h.created_at,
        facts || jsonb_build_object('effects', h.operations -> 'effects'));
END
$$;

-- Records the events of one change of a conversation.
CREATE OR REPLACE FUNCTION webhooks.record_change(p_app uuid, h conversations.change, p_wanted text[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    m conversations.message_row;
    facts jsonb;
    -- Changes by the app's own server have no actor.
    actor jsonb := jsonb_build_object('actor', nullif(h.actor, ''));
BEGIN
    IF h.kind = conversations.kind_message_created() THEN
        m := conversations.message_at(h.conversation_id, h.ordinal);
        facts := webhooks.message_facts(p_app, m, h.actor) || actor;
        IF facts IS NULL THEN RETURN; END IF;
        PERFORM webhooks.emit(
            p_app, h.conversation_id, h.position, 0, 'Message.created', m.message_id, h.created_at, facts, m.parts);
    ELSIF h.kind IN (conversations.kind_receipts(), conversations.kind_all_read()) THEN
        PERFORM webhooks.record_receipts(
            p_app, h.conversation_id, h.position, h.created_at,
            CASE h.kind WHEN conversations.kind_receipts() THEN h.operations ELSE webhooks.all_read(
                h.conversation_id, h.actor, coalesce((h.operations ->> 'from')::bigint, 1),
                (h.operations ->> 'up_to')::bigint) END,
            p_wanted);
    ELSIF h.kind = conversations.kind_parts() THEN
        PERFORM webhooks.record_parts(p_app, h, actor);
    ELSIF h.kind = conversations.kind_message_deleted() THEN
        PERFORM webhooks.emit(
            p_app, h.conversation_id, h.position, 0, 'Message.deleted', gen_random_uuid(), h.created_at,
            webhooks.message_facts(p_app, webhooks.deleted_message(h), h.actor) || actor);
    ELSE
        PERFORM webhooks.record_conversation(p_app, h, actor);
    END IF;
END
$$;

-- Records the events of a conversation's changes in a range of positions, which this transaction has written. It is
-- called after a writing function in the same statement. NULL positions: nothing changed. Returns the number of changes
-- read.
CREATE OR REPLACE FUNCTION webhooks.record(p_app uuid, p_conversation uuid, p_first bigint, p_last bigint)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    wanted text[];
    h conversations.change;
    changes bigint := 0;
BEGIN
    IF p_first IS NULL OR p_conversation IS NULL THEN RETURN 0; END IF;
    wanted := webhooks.wanted(p_app);
    IF wanted IS NULL THEN RETURN 0; END IF;
    FOR h IN
        SELECT x.* FROM conversations.change x
        WHERE x.conversation_id = p_conversation AND x.position >= p_first AND x.position <= p_last ORDER BY x.position
    LOOP
        changes := changes + 1;
        CONTINUE WHEN NOT wanted && (CASE h.kind
            WHEN conversations.kind_created() THEN '{Conversation.created}'
            WHEN conversations.kind_participants()
                THEN '{Participation.created,Participation.deleted,conversation.updated.participants}'
            WHEN conversations.kind_metadata() THEN '{Conversation.updated}'
            WHEN conversations.kind_deleted() THEN '{Conversation.deleted}'
            WHEN conversations.kind_message_created() THEN '{Message.created}'
            WHEN conversations.kind_message_deleted() THEN '{Message.deleted}'
            WHEN conversations.kind_parts()
                THEN '{Message.updated,MessagePart.created,MessagePart.updated,MessagePart.deleted}'
            ELSE '{Receipt.created,message.delivered,message.read}' END)::text[];
        PERFORM webhooks.record_change(p_app, h, wanted);
    END LOOP;
    RETURN changes;
END
$$;

-- Passes a notification to the hooks that accept pushes: one event for each user, with the tokens of their devices.
-- `p_badges`: a badge for each user; NULL: unknown. Pushes to one user are sent in order. Returns the number of users;
-- 0: no active hook of the app accepts pushes.
CREATE OR REPLACE FUNCTION webhooks.push(
    p_app uuid, p_id uuid, p_users text[], p_badges bigint[], p_notification jsonb, p_conversation uuid DEFAULT NULL,
    p_message uuid DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    recipient record;
    pushed bigint := 0;
BEGIN
    IF NOT coalesce('Push' = ANY (webhooks.wanted(p_app)), false) THEN RETURN 0; END IF;
    FOR recipient IN
        SELECT DISTINCT ON (1) md5('push ' || p_app || ' ' || u.id)::uuid AS lane, u.id, u.badge
        FROM unnest(p_users, p_badges) u(id, badge) ORDER BY 1
    LOOP
        PERFORM webhooks.emit(
            p_app, recipient.lane, NULL, 0, 'Push', gen_random_uuid(), clock_timestamp(),
            jsonb_build_object(
                'push', p_id, 'user', recipient.id, 'badge', recipient.badge, 'notification', p_notification,
                'conversation_id', p_conversation,
                'message_id', p_message,
                'tokens', (
                    SELECT coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                        'device_id', t.device_id, 'type', t.type, 'token', t.token, 'apns_bundle_id', t.apns_bundle_id,
                        'gcm_sender_id', t.gcm_sender_id)) ORDER BY t.device_id), '[]')
                    FROM conversations.push_token t WHERE t.app_id = p_app AND t.user_id = recipient.id)));
        pushed := pushed + 1;
    END LOOP;
    RETURN pushed;
END
$$;

-- Returns the apps for which events may have to be recorded: those with a hook that is active or about to become
-- active.
CREATE OR REPLACE FUNCTION webhooks.recorded_apps() RETURNS TABLE (app_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT h.app_id FROM webhooks.hook h
    WHERE h.status = 'active' OR h.status = 'unverified' AND h.verified_at IS NOT NULL
$$;

-- Deletes the stored attempts that concern an erased user. Undelivered events stay, because the app's server still has
-- to receive them.
CREATE OR REPLACE FUNCTION webhooks.forget_user(p_app uuid, p_user text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM webhooks.delivery d USING webhooks.hook h, webhooks.event e
    WHERE h.app_id = p_app AND d.hook_id = h.id AND e.id = d.event
        AND (e.facts ->> 'actor' = p_user OR e.facts ->> 'user' = p_user OR e.facts -> 'message' ->> 'sender' = p_user
            OR e.facts -> 'identities' ? p_user)
$$;

GRANT EXECUTE ON FUNCTION webhooks.record, webhooks.recorded_apps TO strata_conversations, strata_metadata;

GRANT EXECUTE ON FUNCTION webhooks.complete TO strata_webhooks;

GRANT EXECUTE ON FUNCTION webhooks.wanted, webhooks.push, webhooks.forget_user TO strata_conversations;
