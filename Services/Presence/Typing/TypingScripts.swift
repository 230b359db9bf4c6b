// SPDX-License-Identifier: Apache-2.0

import Redis

/// Typing, as it lives in Redis. All keys of a shard, and the channels of its conversations, carry the same hash tag, so that one script may
/// touch and publish them in a cluster too.
///
/// - `t:{shard}` is a hash, `<conversation>:<user>` → MessagePack of: state, when it was last announced (ms), the publications that say
///   `paused` and `finished`. They are kept since the sweep may run on an instance that has never heard of this user.
/// - `td:{shard}` is a sorted set of the same members by the time (ms) when the state ends.
///
/// Both expire some time after the last event of the shard (`timeToLive`): then no instance has swept them.
struct TypingScripts: Sendable {
    /// One event of a typist.
    ///
    /// `KEYS`: states, deadlines, the conversation's channel. `ARGV`: member, action, its publication, the publications of `paused` and
    /// `finished`, how long (ms) `started` and `paused` last, how often (ms) an unchanged state is announced, TTL of the keys (ms).
    /// Answers 0 if nothing was announced, 1 if an unchanged state was announced again, 2 for a transition.
    let event: RedisScript

    /// Ends what is due on one shard.
    ///
    /// `KEYS`: states, deadlines. `ARGV`: how many at most, how long `paused` lasts (ms), what stands before the conversation in a channel's name.
    /// Answers, if nothing was due, the time until something will be (ms; -1: there is nothing); otherwise an array: number paused, number
    /// finished, the greatest lateness (ms).
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
