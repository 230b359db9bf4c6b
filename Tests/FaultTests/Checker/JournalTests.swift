// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import ProtocolClient
@testable import Soak

/// Tests of the record that explains a failed run.
@Suite("journal")
struct JournalTests {
    @Test("journal lines have a time, and a full file replaces the previous one, so that two remain")
    func bounded() throws {
        let directory = try TestDirectory.make("journal")
        let journal = try Journal(directory: directory, name: "clients", limit: 100)
        for number in 1...6 {
            journal.write("line \(number) \(String(repeating: "x", count: 90))")
            journal.flush()
        }
        journal.write("line 7")
        journal.flush()
        func lines(_ name: String) throws -> [String] {
            try String(contentsOfFile: "\(directory)/\(name).log", encoding: .utf8).split(separator: "\n")
                .map { String($0.dropFirst(13).prefix(6)) }
        }
        #expect(try lines("clients") == ["line 7"])
        #expect(try lines("clients.old") == ["line 6"])
        #expect(Journal.time(86_400 + 3 * 3600 + 2 * 60 + 1.25) == "03:02:01.250")
    }

    @Test("a packet's line has its counter, position, time and change, without message contents")
    func packets() throws {
        let json = try JSONValue(
            parsing: """
                {"type":"change","counter":7,"timestamp":"2026-01-01T00:00:00.000Z","body":{"operation":"create","object":{"type":"Message","id":"m"},
                "position":1097,"data":{"conversation":{"id":"c"},"parts":[{"body":"secret"}]}}}
                """)
        let now = ContinuousClock.now
        let packet = ReceivedPacket(index: 7, receivedAt: now, json: json)
        #expect(
            packet.journalLine(at: now + .milliseconds(12))
                == "packet 7 counter 7 2026-01-01T00:00:00.000Z noted after 12 ms: change create Message m in c position 1097"
        )
        let refused = try JSONValue(
            parsing: """
                {"type":"response","counter":8,"body":{"request_id":"r1","method":"Event.replay","success":false,"data":{"id":"service_unavailable"}}}
                """)
        let line = ReceivedPacket(index: 8, receivedAt: now, json: refused).journalLine(at: now)
        #expect(line.hasSuffix("Event.replay r1 success false service_unavailable"))
    }
}
