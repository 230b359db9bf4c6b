// SPDX-License-Identifier: Apache-2.0

/// A point in time: microseconds since 1970-01-01T00:00:00Z, the resolution of the database. The wire shows milliseconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    public var microseconds: Int64
    public init(microseconds: Int64) { self.microseconds = microseconds }
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// This time moved by `duration`; fractions of a microsecond are dropped.
    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(microseconds: microseconds &+ seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000)
    }
}
