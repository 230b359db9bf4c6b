// SPDX-License-Identifier: Apache-2.0

import Redis

/// The Redis scripts of presence. A user's keys, the user's channel and the deadlines of the user's shard have the same
/// hash tag.
///
/// - `pl:{shard}:<app>:<user>` is a hash of the user's leases: connection → `<status>:<end in ms>`. It expires some
///   time after the last lease.
/// - `pr:{shard}:<app>:<user>` is the user's record, kept for weeks: `status` as last announced, `chosen` (for `auto`),
///   `seen` and `changed` (microseconds).
/// - `pd:{shard}` is a sorted set of `<app>:<user>` by the earliest end (ms) of the user's leases.
///
/// All scripts except ``due`` and ``drop`` end by settling: they remove expired leases, and record and publish the best
/// remaining status if it differs from the announced one. So a change is announced once, by the instance that finds it
/// first.
///
/// These scripts have the following parameters, and the result of ``get`` unless stated otherwise:
/// - `KEYS`: leases, record, deadlines, the user's channel.
/// - `ARGV`: member, the publication's fields that name the user, retention of the record (ms), then the arguments
///   listed with each script.
struct PresenceScripts: Sendable {
    /// Sets a connection's status. `ARGV`: connection, status or `auto`, duration of the lease (ms).
    let set: RedisScript
    /// Renews leases. `ARGV`: duration of the leases (ms), connections. Returns the connections without a lease.
    let renew: RedisScript
    /// Makes leases end after a grace period. `ARGV`: the grace period (ms), connections.
    let release: RedisScript
    /// Settles, and returns the status, the last-seen time and the time of the last change (microseconds, or nil).
    let get: RedisScript
    /// Finds members of a shard with an expired lease. `KEYS`: deadlines. `ARGV`: the maximum number of members.
    /// Returns an array of the greatest lateness (ms) and the members. If there are none, returns the time until the
    /// next lease expires (ms; -1: no leases).
    let due: RedisScript
    /// Removes invalid members from a shard's deadlines. `KEYS`: deadlines. `ARGV`: members. Returns the number of
    /// removed members.
    let drop: RedisScript

    init(clock: ScriptClock = .server) {
        let head = clock.source + PresenceScripts.head
        set = RedisScript("presence.set", source: head + PresenceScripts.set)
        renew = RedisScript("presence.renew", source: head + PresenceScripts.renew)
        release = RedisScript("presence.release", source: head + PresenceScripts.release)
        get = RedisScript("presence.get", source: head + "return settle(false)")
        due = RedisScript("presence.due", source: clock.source + PresenceScripts.due)
        drop = RedisScript(
            "presence.drop",
            source:
                "local gone = 0 for i = 1, #ARGV do gone = gone + redis.call('ZREM', KEYS[1], ARGV[i]) end return gone")
    }

    /// The common part of the scripts, which ranks statuses. Visible statuses come first: available, busy, away. Then
    /// come those that others cannot see; `invisible` precedes `offline`, because it shows the user that they are
    /// connected.
    ///
    /// A publication consists of the fields that name the user, the status (field 3, text) and the last-seen time
    /// (field 4, varint).
    private static let head = #"""

        local now_us = time[1] * 1000000 + time[2]
        local now = math.floor(now_us / 1000)
        local rank = {available = 5, busy = 4, away = 3, invisible = 2, offline = 1}
        local visible = {available = true, busy = true, away = true}

        local function integer(number)
            return string.format('%.0f', number)
        end

        local function varint(number)
            local bytes = ''
            while number >= 128 do
                bytes = bytes .. string.char(number % 128 + 128)
                number = math.floor(number / 128)
            end
            return bytes .. string.char(number)
        end

        local function read(lease)
            local status, ends = string.match(lease, '^(%a+):(%d+)$')
            return status, tonumber(ends)
        end

        local function settle(touched)
            local leases = redis.call('HGETALL', KEYS[1])
            local best, first, last = nil, nil, nil
            for i = 1, #leases, 2 do
                local status, ends = read(leases[i + 1])
                if ends <= now then
                    redis.call('HDEL', KEYS[1], leases[i])
                    touched = true
                else
                    if not best or rank[status] > rank[best] then best = status end
                    if not first or ends < first then first = ends end
                    if not last or ends > last then last = ends end
                end
            end
            if first and touched then
                redis.call('ZADD', KEYS[3], integer(first), ARGV[1])
                redis.call('PEXPIRE', KEYS[1], integer(last - now + 60000))
            elseif not first then
                redis.call('ZREM', KEYS[3], ARGV[1])
            end
            local record = redis.call('HMGET', KEYS[2], 'status', 'seen', 'changed')
            local seen, changed = record[2], record[3]
            best = best or 'offline'
            if best ~= (record[1] or 'offline') then
                changed = integer(now_us)
                redis.call('HSET', KEYS[2], 'status', best, 'changed', changed)
                touched = true
                local says = ARGV[2] .. '\26' .. varint(#best) .. best
                if seen then says = says .. '\32' .. varint(tonumber(seen)) end
                redis.call('SPUBLISH', KEYS[4], says)
            end
            if touched then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
            return {best, seen, changed}
        end

        """#

    private static let set = #"""
        local connection, status = ARGV[4], ARGV[5]
        if status == 'auto' then
            status = redis.call('HGET', KEYS[2], 'chosen') or 'available'
        else
            redis.call('HSET', KEYS[2], 'chosen', status)
        end
        redis.call('HSET', KEYS[1], connection, status .. ':' .. integer(now + tonumber(ARGV[6])))
        if visible[status] then redis.call('HSET', KEYS[2], 'seen', integer(now_us)) end
        return settle(true)
        """#

    private static let renew = #"""
        local forgotten = {}
        for i = 5, #ARGV do
            local lease = redis.call('HGET', KEYS[1], ARGV[i])
            if lease then
                local status = read(lease)
                redis.call('HSET', KEYS[1], ARGV[i], status .. ':' .. integer(now + tonumber(ARGV[4])))
                if visible[status] then redis.call('HSET', KEYS[2], 'seen', integer(now_us)) end
            else
                forgotten[#forgotten + 1] = ARGV[i]
            end
        end
        settle(true)
        return forgotten
        """#

    private static let release = #"""
        local ends_now = now + tonumber(ARGV[4])
        for i = 5, #ARGV do
            local lease = redis.call('HGET', KEYS[1], ARGV[i])
            if lease then
                local status, ends = read(lease)
                redis.call('HSET', KEYS[1], ARGV[i], status .. ':' .. integer(math.min(ends, ends_now)))
                if visible[status] and ends > now then redis.call('HSET', KEYS[2], 'seen', integer(now_us)) end
            end
        end
        return settle(true)
        """#

    private static let due = #"""

        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
        if not first[2] then return -1 end
        local wait = first[2] - now
        if wait > 0 then return wait end
        local answer = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
        table.insert(answer, 1, -wait)
        return answer
        """#
}
