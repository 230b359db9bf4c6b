// SPDX-License-Identifier: Apache-2.0

/// A point in time in PostgreSQL's resolution: microseconds since the Unix epoch, UTC.
///
/// `Int64.max` and `Int64.min` represent PostgreSQL's `infinity` and `-infinity`.
public struct PostgresTimestamp: Sendable, Hashable, Comparable, Decodable {
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    public var microseconds: Int64

    /// Creates a timestamp from microseconds since the Unix epoch.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Returns true if `left` is earlier.
    public static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The microseconds from the Unix epoch to 2000-01-01, PostgreSQL's epoch.
    private static let postgresEpoch: Int64 = 946_684_800_000_000

    /// The timestamp in the server's binary format.
    var binary: Int64 {
        if microseconds == .max { return .max }
        let (value, overflow) = microseconds.subtractingReportingOverflow(Self.postgresEpoch)
        return overflow ? .min : value
    }

    init(binary: Int64) {
        if binary == .min {
            self.init(microseconds: .min)
            return
        }
        let (value, overflow) = binary.addingReportingOverflow(Self.postgresEpoch)
        self.init(microseconds: overflow ? .max : value)
    }
}
