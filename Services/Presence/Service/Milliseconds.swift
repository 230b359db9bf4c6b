// SPDX-License-Identifier: Apache-2.0

import Redis

extension Duration {
    /// The duration in whole milliseconds, the unit of the scripts.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

extension RedisArgument {
    static func milliseconds(_ duration: Duration) -> RedisArgument { .integer(duration.milliseconds) }
}
