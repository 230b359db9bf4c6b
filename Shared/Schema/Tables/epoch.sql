-- SPDX-License-Identifier: Apache-2.0
-- The epoch: the name of the database's history.
--
-- Clients keep positions. After a restore to an older state, or the promotion of a replica that had missed changes, the
-- same positions mean other changes. Then the epoch changes. PostgreSQL reveals most such cases: a restored cluster is
-- on another timeline, and a cluster filled from a dump has another system identifier. A copy of a disk reveals
-- neither, so the operator must call conversations.renew_epoch.

-- One row, which conversations.check_epoch compares with the server.
CREATE TABLE conversations.epoch (
    is_only           boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- 14 hexadecimal digits of the microseconds since 1970 at which the epoch began, then 10 random ones: the later
    -- epoch is the greater text.
    value             text NOT NULL,
    -- The cluster and the timeline on which the epoch was checked last. NULL: not yet.
    system_identifier bigint,
    timeline          bigint,
    -- A time that the server's clock has shown, at most 5 s behind the latest one while a service runs. If the clock
    -- shows an earlier time, it was set back.
    clock_mark        timestamptz,
    -- The time that the clock showed before it was last set back.
    set_back_from     timestamptz
);
INSERT INTO conversations.epoch (value)
VALUES (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000000)::bigint), 14, '0')
    || substr(replace(gen_random_uuid()::text, '-', ''), 1, 10));
