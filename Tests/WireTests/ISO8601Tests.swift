// SPDX-License-Identifier: Apache-2.0
import Foundation
import SeededRandom
import StrataModel
import StrataWire
import Testing

struct ISO8601Tests {
    @Test(
        "times are parsed with any offset and precision",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.000001Z", 1), ("1970-01-01", 0),
            ("1970-01-02T00:00:00", 86_400_000_000),
            ("2018-05-04T09:30:00.125Z", 1_525_426_200_125_000), ("2018-05-04T09:30:00,125Z", 1_525_426_200_125_000),
            ("2018-05-04T11:30:00.125+02:00", 1_525_426_200_125_000),
            ("2018-05-04T11:30:00.125+0200", 1_525_426_200_125_000),
            ("2018-05-04T11:30:00.125+02", 1_525_426_200_125_000),
            ("2018-05-04t04:00:00.1250000999-05:30", 1_525_426_200_125_000),
            ("2018-05-04 09:30z", 1_525_426_200_000_000), ("2018-05-04T09:30:60Z", 1_525_426_260_000_000),
            ("1969-12-31T23:59:59.5Z", -500_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000), ("0000-01-01T00:00:00Z", -62_167_219_200_000_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999_000),
        ] as [(String, Int)])
    func parses(text: String, microseconds: Int) {
        #expect(ISO8601.parse(text)?.microseconds == Int64(microseconds))
    }

    @Test(
        "invalid times are refused",
        arguments: [
            "", "x", "2018", "2018-05", "2018-5-4", "2018-13-01", "2018-00-01", "2018-02-29", "1900-02-29",
            "2018-04-31", "2018-05-00", "2018-05-04T",
            "2018-05-04T24:00:00Z", "2018-05-04T09:60:00Z", "2018-05-04T09:30:61Z", "2018-05-04T09:30:00.Z",
            "2018-05-04T09:30:00+2",
            "2018-05-04T09:30:00+02:",
            "2018-05-04T09:30:00+24:00", "2018-05-04T09:30:00Zx", "2018-05-04T09:30:00Z ", " 2018-05-04", "+2018-05-04",
            "20180504T093000Z",
            "2018-05-04T09",
            "２０18-05-04", "2018-05-04T09:30:00." + String(repeating: "1", count: 64),
        ])
    func refuses(text: String) {
        #expect(ISO8601.parse(text) == nil)
    }

    @Test("times are written in UTC, truncated to milliseconds")
    func writes() {
        #expect(ISO8601.string(created) == "2018-05-04T09:30:00.125Z")
        #expect(ISO8601.string(Timestamp(microseconds: 0)) == "1970-01-01T00:00:00.000Z")
        #expect(ISO8601.string(Timestamp(microseconds: -1)) == "1969-12-31T23:59:59.999Z")
        #expect(ISO8601.string(Timestamp(microseconds: .min)) == "0000-01-01T00:00:00.000Z")
        #expect(ISO8601.string(Timestamp(microseconds: .max)) == "9999-12-31T23:59:59.999Z")
        #expect(TimestampText(created) == TimestampText(Timestamp(microseconds: created.microseconds / 1000 * 1000)))
        #expect(TimestampText(created) != TimestampText(Timestamp(microseconds: created.microseconds + 1000)))
    }

    @Test("times of all centuries agree with the library's formatter, and survive a round trip")
    func againstFoundation() {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime]
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<3000 {
            let seconds = Int64.random(in: -12_000_000_000..<60_000_000_000, using: &generator)
            let milliseconds = Int64.random(in: 0..<1000, using: &generator)
            let time = Timestamp(microseconds: seconds * 1_000_000 + milliseconds * 1000)
            let text = ISO8601.string(time)
            #expect(text.prefix(19) == formatter.string(from: Date(timeIntervalSince1970: Double(seconds))).prefix(19))
            #expect(ISO8601.parse(text) == time)
        }
    }
}
