// SPDX-License-Identifier: Apache-2.0

/// The wire's time format: parsed with any offset and precision, written in UTC with milliseconds and `Z`
/// (docs/conformance.md §1.7).
public enum ISO8601 {
    /// Parses `2018-05-04T09:30:00.125Z` or a date alone. The fraction can have any precision; digits beyond
    /// microseconds are discarded. The offset can be `+02:00`, `+0200`, `+02` or absent, which means UTC. Returns nil
    /// for anything else.
    public static func parse(_ text: some StringProtocol) -> Timestamp? {
        guard text.utf8.count <= 64 else { return nil }
        var scanner = Scanner(bytes: Array(text.utf8))
        guard let day = scanner.day() else { return nil }
        var seconds = day * 86400
        var microseconds: Int64 = 0
        if !scanner.isAtEnd {
            guard scanner.skip(any: "Tt ") else { return nil }
            guard let time = scanner.time(), let fraction = scanner.fraction(), let offset = scanner.offset() else {
                return nil
            }
            seconds += time - offset
            microseconds = fraction
        }
        guard scanner.isAtEnd else { return nil }
        return Timestamp(microseconds: seconds * 1_000_000 + microseconds)
    }

    /// Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar. Internally, years begin in
    /// March, so that the leap day is last.
    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146097 + dayOfEra - 719468
    }

    /// Returns the date that is `days` after 1970-01-01.
    package static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719468
        let era = (shifted >= 0 ? shifted : shifted - 146096) / 146097
        let dayOfEra = shifted - era * 146097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

extension ISO8601 {
    /// A scanner for the components of a time. Each function returns nil if its component is malformed.
    private struct Scanner {
        let bytes: [UInt8]
        var index = 0
        init(bytes: [UInt8]) { self.bytes = bytes }
        var isAtEnd: Bool { index == bytes.count }

        mutating func skip(any characters: StaticString) -> Bool {
            guard index < bytes.count else { return false }
            for place in 0..<characters.utf8CodeUnitCount where characters.utf8Start[place] == bytes[index] {
                index += 1
                return true
            }
            return false
        }

        mutating func digits(_ count: Int) -> Int64? {
            guard index + count <= bytes.count else { return nil }
            var value: Int64 = 0
            for byte in bytes[index..<index + count] {
                guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            index += count
            return value
        }

        mutating func day() -> Int64? {
            guard let year = digits(4), skip(any: "-"), let month = digits(2), skip(any: "-"), let day = digits(2)
            else { return nil }
            guard (1...12).contains(month), day >= 1 else { return nil }
            let result = ISO8601.days(year: year, month: month, day: day)
            // A day that exceeds its month converts to a date in the next month.
            guard day <= 28 || ISO8601.date(days: result) == (year, month, day) else { return nil }
            return result
        }

        mutating func time() -> Int64? {
            guard let hour = digits(2), skip(any: ":"), let minute = digits(2), hour < 24, minute < 60 else {
                return nil
            }
            guard skip(any: ":") else { return hour * 3600 + minute * 60 }
            guard let second = digits(2), second <= 60 else { return nil }
            return hour * 3600 + minute * 60 + second
        }

        mutating func fraction() -> Int64? {
            guard skip(any: ".,") else { return 0 }
            var (value, count): (Int64, Int) = (0, 0)
            while let digit = digits(1) {
                if count < 6 { value = value * 10 + digit }
                count += 1
            }
            guard count > 0 else { return nil }
            while count < 6 {
                value *= 10
                count += 1
            }
            return value
        }

        mutating func offset() -> Int64? {
            if isAtEnd || skip(any: "Zz") { return 0 }
            let isNegative: Bool
            if skip(any: "-") {
                isNegative = true
            } else {
                guard skip(any: "+") else { return nil }
                isNegative = false
            }
            guard let hours = digits(2), hours < 24 else { return nil }
            var seconds = hours * 3600
            if !isAtEnd {
                _ = skip(any: ":")
                guard let minutes = digits(2), minutes < 60 else { return nil }
                seconds += minutes * 60
            }
            return isNegative ? -seconds : seconds
        }
    }
}
