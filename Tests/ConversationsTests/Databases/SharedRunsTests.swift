// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Synchronization
import TestTiers
import Testing

@testable import DatabaseKit

@Suite struct SharedRunsTests {
    private static let callers = 20

    private final class Load: Sendable {
        private let state = Mutex<(running: Int, most: Int, begun: Int)>((0, 0, 0))
        private let callers = Mutex(0)

        var most: Int { state.withLock { $0.most } }
        var begun: Int { state.withLock { $0.begun } }

        func callerCame() { callers.withLock { $0 += 1 } }

        func run() async -> Result<Int, Failure> {
            state.withLock {
                $0.running += 1
                $0.begun += 1
                $0.most = max($0.most, $0.running)
            }
            _ = try? await eventually("all callers have come") {
                self.callers.withLock { $0 } == SharedRunsTests.callers
            }
            state.withLock { $0.running -= 1 }
            return .success(7)
        }
    }

    @Test("concurrent callers with the same key share a run")
    func sharing() async throws {
        let (runs, load) = (SharedRuns<Int, Int>(limit: 1), Load())
        let shared = try await withThrowingTaskGroup(of: Bool.self, returning: Int.self) { group in
            for _ in 0..<Self.callers {
                group.addTask {
                    load.callerCame()
                    let (output, isShared) = try await runs.value(for: 1) { await load.run() }
                    #expect(output == 7)
                    return isShared
                }
            }
            var shared = 0
            for try await isShared in group where isShared { shared += 1 }
            return shared
        }
        #expect(load.most == 1)
        #expect(shared > 0 && shared + load.begun == Self.callers)
        #expect(runs.count == 0)
        // A caller after the end begins another run.
        #expect(try await runs.value(for: 1) { await load.run() }.isShared == false)
    }

    @Test("a run beyond the limit fails at once, and one after the end of another succeeds")
    func limit() async throws {
        let runs = SharedRuns<Int, Int>(limit: 2)
        let gate = Task { try? await Task.sleep(for: .seconds(600)) }
        let tasks = (0..<2)
            .map { key in
                Task {
                    try await runs.value(for: key) {
                        _ = await gate.value
                        return .success(key)
                    }
                    .output
                }
            }
        try await eventually("two runs are in progress") { runs.count == 2 }
        await #expect(throws: Failure.unavailable) { _ = try await runs.value(for: 2) { .success(2) } }
        gate.cancel()
        for (key, task) in tasks.enumerated() { #expect(try await task.value == key) }
        #expect(try await runs.value(for: 2) { .success(2) }.output == 2)
    }
}
