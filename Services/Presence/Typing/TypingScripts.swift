// SPDX-License-Identifier: Apache-2.0

import Redis

/// The Redis scripts of typing. All keys of a shard, and the channels of its conversations, have the same hash tag. So
/// one script may access and publish them in a cluster, too.
///
/// - `t:{shard}` is a hash: `<conversation>:<user>` → MessagePack of the state, the time of its last announcement (ms),
///   and the publications that say `paused` and `finished`. The publications are stored because the instance that
///   sweeps may not know the user.
/// - `td:{shard}` is a sorted set of the same members by the end of the state (ms).
///
/// Both keys expire some time after the last event of the shard (`timeToLive`), in case no instance sweeps.
struct TypingScripts: Sendable {
    /// Processes a typing event.
    ///
    /// - `KEYS`: states, deadlines, the conversation's channel.
    /// - `ARGV`: member; action; its publication; the publications of `paused` and `finished`; the durations of
    ///   `started` and `paused` (ms); the interval at which an unchanged state is announced (ms); TTL of the keys (ms).
    ///
    /// Results:
    /// - 0: nothing was announced.
    /// - 1: an unchanged state was announced again.
    /// - 2: a transition was announced.
    let event: RedisScript

    /// Ends the states that are due on one shard.
    ///
    /// `KEYS`: states, deadlines. `ARGV`: the maximum number of states, the duration of `paused` (ms), the prefix of
    /// the conversations' channel names. Returns an array of the number paused, the number finished and the greatest
    /// lateness (ms). If nothing was due, returns the time until the next deadline (ms; -1: none).
    let sweep: RedisScript

    init(clock: ScriptClock = .server) {
        event = RedisScript(
            "typing.event",
            source: clock.source + #"""

                local now = time[1] * 1000 + math.floor(time[2] / 1000)
                local member, action = ARGV[1], ARGV[2]
                local stored = redis.call('HGET', KEYS[1], member)
                if action == 'finished' then
                    redis.call('ZREM', KEYS[2], member)
                    if not stored then return 0 end
                    redis.call('HDEL', KEYS[1], member)
                    redis.call('SPUBLISH', KEYS[3], ARGV[3])
                    return 2
                end
                local outcome, announced = 2, now
                if stored then
                    local state, at = cmsgpack.unpack(stored)
                    if state == action then
                        if now - at >= tonumber(ARGV[8]) then outcome = 1 else outcome, announced = 0, at end
                    end
                end
                local lasts = action == 'started' and ARGV[6] or ARGV[7]
                redis.call('HSET', KEYS[1], member, cmsgpack.pack(action, announced, ARGV[4], ARGV[5]))
                redis.call('ZADD', KEYS[2], now + tonumber(lasts), member)
                redis.call('PEXPIRE', KEYS[1], ARGV[9])
                redis.call('PEXPIRE', KEYS[2], ARGV[9])
                if outcome > 0 then redis.call('SPUBLISH', KEYS[3], ARGV[3]) end
                return outcome
                """#)
        sweep = RedisScript(
            "typing.sweep",
            source: clock.source + #"""

                local now = time[1] * 1000 + math.floor(time[2] / 1000)
                local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
                if #due == 0 then
                    local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
                    return first[2] and first[2] - now or -1
                end
                local paused, finished, late = 0, 0, 0
                for i = 1, #due, 2 do
                    local member, deadline = due[i], tonumber(due[i + 1])
                    local stored = redis.call('HGET', KEYS[1], member)
                    local state, _, says_paused, says_finished
                    if stored then state, _, says_paused, says_finished = cmsgpack.unpack(stored) end
                    local channel = ARGV[3] .. string.sub(member, 1, 36)
                    if state == 'started' then
                        redis.call('HSET', KEYS[1], member, cmsgpack.pack('paused', now, says_paused, says_finished))
                        redis.call('ZADD', KEYS[2], deadline + tonumber(ARGV[2]), member)
                        redis.call('SPUBLISH', channel, says_paused)
                        paused = paused + 1
                    else
                        redis.call('HDEL', KEYS[1], member)
                        redis.call('ZREM', KEYS[2], member)
                        if stored then
                            redis.call('SPUBLISH', channel, says_finished)
                            finished = finished + 1
                        end
                    end
                    late = math.max(late, now - deadline)
                end
                return {paused, finished, late}
                """#)
    }
}
