// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LocalServers
import Testing

@testable import StrataCommand

@Suite("the home of a system")
struct HomeTests {
    private let state = RunningState(
        pid: 7, startedAt: Date(timeIntervalSince1970: 1_700_000_000), publicURL: "https://localhost:8443",
        httpURLs: ["http://localhost:8080"], httpsURLs: ["https://localhost:8443"],
        databaseURL: "postgresql://strata:secret@127.0.0.1:1/strata",
        redisURL: "redis://127.0.0.1:2", certificate: "/c.pem",
        processes: [
            .init(
                name: "gateway-1", service: "gateway", pid: 8, restarts: 2, adminPort: 3, httpPort: 8080,
                httpsPort: 8443)
        ])

    @Test("the home is .strata or STRATA_HOME, also relative to the working directory")
    func place() {
        #expect(StrataHome(environment: [:], current: "/srv/app").path == "/srv/app/.strata")
        #expect(StrataHome(environment: ["STRATA_HOME": "data/"], current: "/srv/app").path == "/srv/app/data")
        #expect(
            StrataHome(environment: ["STRATA_HOME": "/var/lib/strata"], current: "/srv/app").path == "/var/lib/strata")
        #expect(StrataHome(environment: ["STRATA_HOME": ""], current: "/srv/app").path == "/srv/app/.strata")
    }

    @Test("a home has one system at a time, and a second process learns the first one's id")
    func lock() async throws {
        try await withTemporaryDirectory { directory in
            let home = StrataHome(environment: ["STRATA_HOME": directory + "/home"])
            try home.make()
            #expect(!HomeLock.isHeld(home))
            do {
                let lock = try HomeLock(home)
                #expect(HomeLock.isHeld(home))
                let failure = #expect(throws: CommandFailure.self) { try HomeLock(home) }
                #expect(failure?.message.contains("Process \(getpid())") == true)
                #expect(failure?.status == .temporary)
                withExtendedLifetime(lock) {}
            }
            #expect(!HomeLock.isHeld(home))
        }
    }

    @Test("checking for a running system never prevents one from starting")
    func asking() async throws {
        try await withTemporaryDirectory { directory in
            let home = StrataHome(environment: ["STRATA_HOME": directory + "/home"])
            try home.make()
            let asking = Task.detached {
                while !Task.isCancelled { _ = HomeLock.isHeld(home) }
            }
            defer { asking.cancel() }
            for _ in 1...200 { _ = try HomeLock(home) }
        }
    }

    @Test("a lock file of a killed process does not block a start")
    func staleLock() async throws {
        try await withTemporaryDirectory { directory in
            let home = StrataHome(environment: ["STRATA_HOME": directory + "/home"])
            try home.make()
            try "1\n".write(toFile: home.lock, atomically: false, encoding: .utf8)
            #expect(!HomeLock.isHeld(home))
            let lock = try HomeLock(home)
            #expect(try String(contentsOfFile: home.lock, encoding: .utf8) == "\(getpid())\n")
            withExtendedLifetime(lock) {}
        }
    }

    @Test("the home keeps its secrets for its owner only, and replaces no unreadable file")
    func secrets() async throws {
        try await withTemporaryDirectory { directory in
            let home = StrataHome(environment: ["STRATA_HOME": directory + "/home"])
            try home.make()
            let first = try Secrets.ensure(in: home)
            #expect(try Secrets.ensure(in: home) == first)
            let all = [first.cluster, first.postgres, first.webhooksSecret] + first.rolePasswords.values
            #expect(all.count == 7 && Set(all).count == 7)
            // The secrets missing in a home of an older release are generated once.
            let older = [
                "cluster": first.cluster, "postgres": first.postgres, "conversations": first.conversations,
                "metadata": first.metadata,
                "webhooks": first.webhooks,
            ]
            try JSONEncoder().encode(older).write(to: URL(filePath: home.secrets))
            let added = try Secrets.ensure(in: home)
            #expect(
                added.cluster == first.cluster && added.webhooks == first.webhooks
                    && added.webhooksSecret != first.webhooksSecret && added.console != first.console)
            #expect(try Secrets.ensure(in: home) == added)
            #expect(try FileManager.default.attributesOfItem(atPath: home.secrets)[.posixPermissions] as? Int == 0o600)
            try "{".write(toFile: home.secrets, atomically: false, encoding: .utf8)
            #expect(throws: CommandFailure.self) { try Secrets.ensure(in: home) }
            #expect(try String(contentsOfFile: home.secrets, encoding: .utf8) == "{")
        }
    }

    @Test("the state is read back unchanged, and ignored without a running system")
    func state() async throws {
        try await withTemporaryDirectory { directory in
            let home = StrataHome(environment: ["STRATA_HOME": directory + "/home"])
            try home.make()
            try state.write(to: home.state)
            #expect(try RunningState.read(home.state) == state)
            #expect(state.instances(of: "gateway").map(\.pid) == [8])
            #expect(try FileManager.default.attributesOfItem(atPath: home.state)[.posixPermissions] as? Int == 0o600)
            let failure = await #expect(throws: CommandFailure.self) { try await RunningState.ofRunning(in: home) }
            #expect(failure?.message.contains("strata dev") == true)
            let lock = try HomeLock(home)
            #expect(try await RunningState.ofRunning(in: home) == state)
            withExtendedLifetime(lock) {}
        }
    }

    @Test("a command waits for a starting system with a notice, but not indefinitely, and not after its failure")
    func comingUp() async throws {
        try await withTemporaryDirectory { directory in
            let home = StrataHome(environment: ["STRATA_HOME": directory + "/home"])
            try home.make()
            var lock: HomeLock? = try HomeLock(home)

            let failure = await #expect(throws: CommandFailure.self) {
                try await RunningState.ofRunning(
                    in: home, patience: .zero, console: Console(out: { _ in }, error: { _ in }))
            }
            #expect(failure?.status == .temporary)

            func waiting() async -> Task<RunningState, any Error> {
                let (words, said) = AsyncStream<String>.makeStream()
                let console = Console(out: { Issue.record("a result: \($0)") }, error: { said.yield($0) })
                let task = Task { try await RunningState.ofRunning(in: home, console: console) }
                var iterator = words.makeAsyncIterator()
                #expect(await iterator.next()?.contains("waiting") == true)
                return task
            }
            let patient = await waiting()
            try state.write(to: home.state)
            #expect(try await patient.value == state)

            unlink(home.state)
            let disappointed = await waiting()
            withExtendedLifetime(lock) {}
            lock = nil
            let none = await #expect(throws: CommandFailure.self) { try await disappointed.value }
            #expect(none?.status == .unavailable)
        }
    }
}
