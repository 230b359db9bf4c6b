// SPDX-License-Identifier: Apache-2.0

import Logging
import NetKit
import Synchronization
import Testing

@Suite("availability")
struct AvailabilityTests {
    private final class Lines: LogHandler, Sendable {
        let all = Mutex<[String]>([])
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .trace }
            set {}
        }
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }
        func log(event: LogEvent) {
            all.withLock {
                $0.append("\(event.level) \(event.message)" + (event.metadata?["error.message"].map { " \($0)" } ?? ""))
            }
        }
        func take() -> [String] {
            all.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private final class Values: Sendable {
        let all = Mutex<[Bool]>([])
    }

    private struct Refused: Error {}

    private let lines = Lines()
    private let values = Values()

    private func flag() -> Availability {
        Availability(
            failureMessage: "gone", recoveryMessage: "back", logger: Logger(label: "test") { [lines] _ in lines }
        ) { [values] value in
            values.all.withLock { $0.append(value) }
        }
    }

    @Test("the log has one line when availability is lost and one when it returns")
    func transitions() {
        let flag = flag()
        #expect(!flag.isAvailable)
        flag.update(true)
        flag.update(true)
        #expect(flag.isAvailable)
        #expect(lines.take() == [], "that it works from the start is no news")
        flag.update(false)
        flag.failed(Refused())
        flag.update(false)
        #expect(lines.take() == ["error gone"])
        flag.update(true)
        #expect(lines.take() == ["notice back"])
        #expect(values.all.withLock { $0 } == [false, true, false, true])
    }

    @Test("a service that never worked is reported at the first failure, and not before")
    func never() {
        let flag = flag()
        flag.update(false)
        #expect(lines.take() == [])
        flag.failed(Refused())
        flag.failed(Refused())
        #expect(lines.take() == ["error gone Refused()"])
        flag.update(true)
        #expect(lines.take() == ["notice back"])
    }

    @Test("nothing is reported after closing")
    func closed() {
        let flag = flag()
        flag.update(true)
        flag.close()
        flag.update(true)
        flag.failed()
        flag.update(false)
        #expect(!flag.isAvailable)
        #expect(lines.take() == [])
        #expect(values.all.withLock { $0 } == [false, true, false])
    }
}
