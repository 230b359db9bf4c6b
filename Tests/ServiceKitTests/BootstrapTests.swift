// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import ServiceLifecycle
import Testing

@testable import ServiceKit

@Suite(.timeLimit(.minutes(3)))
struct BootstrapTests {
    private struct Idle: Service {
        func run() async throws { try? await gracefulShutdown() }
    }

    /// A service that sends this process SIGTERM, as an operator does.
    private struct Signaller: Service {
        func run() async throws {
            kill(getpid(), SIGTERM)
            try? await gracefulShutdown()
        }
    }

    private struct Failing: Service {
        struct Broken: Error {}
        func run() async throws { throw Broken() }
    }

    private static func set(_ environment: [String: String]) {
        for (key, value) in environment { setenv(key, value, 1) }
    }

    private static let good = [
        "STRATA_CLUSTER_SECRET": String(repeating: "s", count: 32), "STRATA_ADMIN_PORT": "0",
        "STRATA_ADMIN_HOST": "127.0.0.1",
    ]

    @Test("a missing setting ends the process with 78 and one line")
    func missing() async throws {
        let result = await #expect(processExitsWith: .exitCode(78), observing: [\.standardErrorContent]) {
            unsetenv("STRATA_CLUSTER_SECRET")
            await ServiceBootstrap.run(name: "gateway") { _ in [Idle()] }
        }
        let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(
            lines.contains(
                "gateway: missing setting STRATA_CLUSTER_SECRET: expected a secret of at least 32 characters\n"))
    }

    @Test("a wrong setting of the service itself ends the process with 78 and one line")
    func ownSetting() async throws {
        let result = await #expect(processExitsWith: .exitCode(78), observing: [\.standardErrorContent]) {
            BootstrapTests.set(BootstrapTests.good)
            BootstrapTests.set(["STRATA_OWN": "many"])
            await ServiceBootstrap.run(name: "gateway") { environment in
                _ = try environment.settings.int("STRATA_OWN", in: 1...9)
                return [Idle()]
            }
        }
        let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(lines.contains("gateway: invalid setting STRATA_OWN: expected an integer from 1 to 9\n"))
    }

    @Test("SIGTERM ends the process in order, with a JSON log line")
    func terminate() async throws {
        let result = await #expect(processExitsWith: .exitCode(42), observing: [\.standardErrorContent]) {
            BootstrapTests.set(BootstrapTests.good)
            BootstrapTests.set(["STRATA_MISTYPED": "1", "STRATA_INSTANCE": "one"])
            await ServiceBootstrap.run(name: "gateway") { _ in [Idle(), Signaller()] }
            // Only an orderly return reaches this line.
            exit(42)
        }
        let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("{") }
        #expect(
            lines.contains {
                $0.contains(#""service":"gateway","instance":"one""#)
                    && $0.contains(#""message":"service is stopping""#)
            })
        #expect(lines.contains { $0.contains(#""message":"service stopped""#) })
        #expect(lines.contains { $0.contains("STRATA_MISTYPED") })
    }

    @Test("a service that fails ends the process with 1")
    func failure() async throws {
        let result = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
            BootstrapTests.set(BootstrapTests.good)
            await ServiceBootstrap.run(name: "gateway") { _ in [Idle(), Failing()] }
        }
        let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(lines.contains(#""level":"critical""#))
    }
}
