// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import TestTiers
import Testing

@testable import StrataCommand

@Suite("a supervisor")
struct SupervisorTests {
    private let backOff = SupervisionStateMachine.BackOff(
        first: .milliseconds(10), longest: .milliseconds(40), resetAfter: .seconds(60))

    private func supervisor(
        _ script: String, _ events: AsyncStream<Supervisor.Event>.Continuation, patience: Duration = .seconds(20)
    ) -> Supervisor {
        Supervisor(name: "fake-1", backOff: backOff, patience: patience) {
            try await ChildProcess.start(
                Launch(try Programs.find("sh"), arguments: ["-c", script], deathSignal: .kill))
        } report: {
            events.yield($0)
        }
    }

    @Test("a supervisor restarts a killed child, and stops it permanently on request")
    func restarts() async throws {
        let (stream, events) = AsyncStream.makeStream(of: Supervisor.Event.self)
        let supervisor = supervisor("exec sleep 600", events)
        await supervisor.begin()
        var pids: [Int32] = []
        var deaths: [Int32?] = []
        for await event in stream {
            switch event {
            case .started(let pid, let restarts):
                #expect(restarts == pids.count)
                pids.append(pid)
                if pids.count == 3 { events.finish() } else { kill(pid, SIGKILL) }
            case .died(let exit, _): deaths.append(exit.signal)
            case .startFailed(let reason, _): Issue.record("\(reason)")
            }
        }
        #expect(deaths == [SIGKILL, SIGKILL])
        #expect(Set(pids).count == 3)
        #expect(await supervisor.pid == pids.last)
        await supervisor.stop()
        #expect(await supervisor.pid == nil)
        #expect(await supervisor.restarts == 2)
    }

    @Test("a supervisor kills a child that does not end on request")
    func stubborn() async throws {
        try await withTemporaryDirectory { directory in
            let mark = directory + "/ready"
            let (_, events) = AsyncStream.makeStream(of: Supervisor.Event.self)
            let supervisor = supervisor(
                "trap '' TERM; touch \(mark); while :; do sleep 0.05; done", events, patience: .milliseconds(100))
            await supervisor.begin()
            try await eventually { FileManager.default.fileExists(atPath: mark) }
            await supervisor.stop()
            #expect(await supervisor.pid == nil)
        }
    }

    @Test("a supervisor retries a child that cannot start, and can be stopped meanwhile")
    func cannotStart() async throws {
        let (stream, events) = AsyncStream.makeStream(of: Supervisor.Event.self)
        let supervisor = Supervisor(name: "fake-1", backOff: backOff) {
            try await ChildProcess.start(Launch("/no/such/service"))
        } report: {
            events.yield($0)
        }
        await supervisor.begin()
        var failures = 0
        for await event in stream {
            guard case .startFailed(let reason, _) = event else { continue }
            #expect(reason.contains("/no/such/service"))
            failures += 1
            if failures == 3 { break }
        }
        await supervisor.stop()
    }
}
