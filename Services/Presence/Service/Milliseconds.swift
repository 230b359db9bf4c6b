// SPDX-License-Identifier: Apache-2.0

import Redis

extension Duration {
    /// Whole milliseconds, as scripts count.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}

extension RedisArgument {
    /// A period in milliseconds.
    static func milliseconds(_ duration: Duration) -> RedisArgument { .integer(duration.milliseconds) }
}
