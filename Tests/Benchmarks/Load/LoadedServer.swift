// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataCommand

/// A server under load: a Strata (``LoadTarget``), or a baseline (``BaselineServer``, ``XMPPServer``).
protocol LoadedServer: Sendable {
    /// The addresses of its gateways, at least one.
    var addresses: [LoadAddress] { get }

    /// Creates the conversations of a plan.
    /// - Returns: Their ids.
    func makeRooms(_ plan: RoomPlan) async throws -> [String]

    /// The path of a socket's handshake.
    func path(ofUser user: Int, room: String, includesSender: Bool) -> String

    /// The WebSocket subprotocol.
    var protocolName: String { get }

    /// Prepares an open socket for the load.
    func enter(_ socket: LoadSocket, ofUser user: Int, room: String) async throws

    /// The session token of a user; empty: the server has no sessions.
    func token(_ user: Int) -> String

    /// The use of the server's processes so far; nil: they are on another machine.
    func account() -> ProcessAccount?
}

extension LoadedServer {
    var protocolName: String { LoadSocket.layer }

    func enter(_ socket: LoadSocket, ofUser user: Int, room: String) async throws {}
}

/// The use of processes by service.
struct ProcessAccount: Sendable {
    /// The use of one service's processes, with their threads and children.
    struct Use: Sendable {
        /// CPU time in seconds.
        var processorTime: Double
        var switches: ContextSwitches
    }

    var services: [String: Use]

    /// The CPU time of all processes in seconds.
    var processorTime: Double { services.values.reduce(0) { $0 + $1.processorTime } }
    /// The context switches of all processes.
    var switches: ContextSwitches {
        services.values.reduce(into: ContextSwitches()) {
            $0.voluntary += $1.switches.voluntary
            $0.involuntary += $1.switches.involuntary
        }
    }

    /// Reads the use of processes from `/proc`.
    /// - Parameter roots: The processes by service.
    init(roots: [String: Set<Int>]) {
        let table = ProcessTable()
        services = roots.mapValues {
            Use(processorTime: table.processorTime(of: $0), switches: table.contextSwitches(of: $0))
        }
    }

    private init(services: [String: Use]) { self.services = services }

    static func - (left: Self, right: Self) -> Self {
        Self(
            services: left.services.merging(right.services) { left, right in
                Use(processorTime: left.processorTime - right.processorTime, switches: left.switches - right.switches)
            })
    }

    /// Returns the cost by service.
    /// - Parameters:
    ///   - units: The number of units; CPU time is for 1,000 of them.
    ///   - operations: The number of operations; switches are for one of them.
    func costs(units: Int, operations: Int) -> [ServiceCost] {
        services.map { service, use in
            ServiceCost(
                service: service, processorTime: use.processorTime / Double(max(1, units)) * 1e6,
                voluntary: Double(use.switches.voluntary) / Double(max(1, operations)),
                involuntary: Double(use.switches.involuntary) / Double(max(1, operations)))
        }
    }
}

extension BenchSystem {
    /// The use of all processes so far, by service.
    func account() -> ProcessAccount {
        ProcessAccount(
            roots: Dictionary(grouping: state.processes, by: \.service)
                .mapValues { Set($0.map { Int($0.pid) }) })
    }
}
