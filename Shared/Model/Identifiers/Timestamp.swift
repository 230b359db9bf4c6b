// SPDX-License-Identifier: Apache-2.0

/// A point in time, in microseconds since 1970-01-01T00:00:00Z, the resolution of the database. The wire shows
/// milliseconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z, negative before, without leap seconds.
    public var microseconds: Int64
    /// Creates a timestamp from any number. The wire clamps it to the years 0 to 9999.
    public init(microseconds: Int64) { self.microseconds = microseconds }
    /// Compares microseconds. Times that are equal on the wire can still differ.
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// Returns the time moved by `duration`. Fractions of a microsecond are discarded.
    public func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(microseconds: microseconds &+ seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000)
    }
}
