// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Log timestamps in UTC with milliseconds. Foundation's formatters cost more than the rest of a log line.
enum Timestamp {
    /// Returns the current time as `2026-01-31T23:59:59.123Z`.
    static func now() -> String {
        let milliseconds = Int((Date().timeIntervalSince1970 * 1000).rounded(.down))
        let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
        return text(seconds: seconds, milliseconds: milliseconds - seconds * 1000)
    }

    static func text(seconds: Int, milliseconds: Int) -> String {
        let day = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
        let second = seconds - day * 86_400
        let (year, month, dayOfMonth) = date(day)
        var digits: [UInt8] = []
        digits.reserveCapacity(24)
        append(year, width: 4, endingWith: "-", to: &digits)
        append(month, width: 2, endingWith: "-", to: &digits)
        append(dayOfMonth, width: 2, endingWith: "T", to: &digits)
        append(second / 3600, width: 2, endingWith: ":", to: &digits)
        append(second / 60 % 60, width: 2, endingWith: ":", to: &digits)
        append(second % 60, width: 2, endingWith: ".", to: &digits)
        append(milliseconds, width: 3, endingWith: "Z", to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    /// Returns the Gregorian date of a day counted from 1970-01-01.
    ///
    /// In this calculation years begin in March, so that the leap day is the last day of a year. The calendar repeats
    /// every 400 years, which are 146,097 days.
    private static func date(_ day: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func append(_ number: Int, width: Int, endingWith end: Unicode.Scalar, to digits: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            digits.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
            divisor /= 10
        }
        digits.append(UInt8(ascii: end))
    }
}
