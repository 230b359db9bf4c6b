// SPDX-License-Identifier: Apache-2.0

/// A point in time: microseconds since 1970-01-01T00:00:00Z, the resolution of the database. The wire shows milliseconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Negative before 1970; leap seconds are not counted.
    public var microseconds: Int64
    /// Takes any number; the wire shows the years 0 to 9999 and cuts off at either end.
    public init(microseconds: Int64) { self.microseconds = microseconds }
    /// To the microsecond: of two times that look equal on the wire one may still be earlier.
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// This time moved by `duration`; fractions of a microsecond are dropped.
    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(microseconds: microseconds &+ seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000)
    }
}
