// SPDX-License-Identifier: Apache-2.0

import Redis

/// Presence, as it lives in Redis. A user's keys, the user's channel and the deadlines of the user's shard carry the same hash tag.
///
/// - `pl:{shard}:<app>:<user>` is a hash of the user's leases: connection → `<status>:<end in ms>`. It expires by itself after the last of them.
/// - `pr:{shard}:<app>:<user>` is what is remembered of the user for weeks: `status` as last announced, `chosen` (for `auto`), `seen` and `changed`
///   (microseconds).
/// - `pd:{shard}` is a sorted set of `<app>:<user>` by the end (ms) of the user's first lease to end.
///
/// Every script ends in the same way, by settling: leases that have ended go, and if the best of the rest is another status than the announced one,
/// that is recorded and published. So a change is announced once, whichever instance finds it first.
///
/// `KEYS` of all but ``due`` and ``drop``: leases, record, deadlines, the user's channel. `ARGV` of all but these: member, the publication's fields
/// that name the user, retention of the record (ms), then as each says. They answer what ``get`` does, unless they say otherwise.
struct PresenceScripts: Sendable {
    /// Sets a connection's status. `ARGV`: connection, status or `auto`, how long the lease lasts (ms).
    let set: RedisScript
    /// Renews leases. `ARGV`: how long they last (ms), connections. Answers those connections that have no lease.
    let renew: RedisScript
    /// Lets leases end after a grace. `ARGV`: the grace (ms), connections.
    let release: RedisScript
    /// Settles, and answers status, when last seen, and when the status last changed (microseconds, or nil).
    let get: RedisScript
    /// Members of a shard of whom a lease has ended. `KEYS`: deadlines. `ARGV`: how many at most. Answers, if there are none, the time until there
    /// will be (ms; -1: no user has a lease); otherwise an array: the greatest lateness (ms), members.
    let due: RedisScript
    /// Takes out of a shard's deadlines what is no user's. `KEYS`: deadlines. `ARGV`: members. Answers how many.
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
            source: "local gone = 0 for i = 1, #ARGV do gone = gone + redis.call('ZREM', KEYS[1], ARGV[i]) end return gone")
    }

    /// Best first: where the user can be reached now, then where they are but would rather not be disturbed, then where they have been lately.
    /// Whatever others may see comes before what they may not; of these two, `invisible` tells the user that they are connected.
    ///
    /// A publication is the fields that name the user, then the status (field 3, text) and when the user was last seen (field 4, varint).
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
