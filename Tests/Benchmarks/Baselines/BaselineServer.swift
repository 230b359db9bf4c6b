// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalServers
import NIOCore
import NIOPosix

/// A server without storage to compare with, in a process of its own.
final class BaselineServer: LoadedServer {
    /// The kinds of baselines.
    enum Kind: String, Sendable {
        /// Tests/Broadcaster: a single thread in C that broadcasts the frames of a room.
        case broadcaster
        /// ``BareWebSocketServer``: what NIO needs for a WebSocket.
        case webSocket = "bare NIO WebSocket"
    }

    let kind: Kind
    let addresses: [LoadAddress]
    private let process: ChildProcess

    private init(_ kind: Kind, port: Int, _ process: ChildProcess) {
        self.kind = kind
        addresses = [.local(port)]
        self.process = process
    }

    /// Starts the server and waits until it accepts connections.
    static func start(_ kind: Kind) async throws -> BaselineServer {
        let port = try LoopbackPort.free()
        guard let own = Bundle.main.executableURL else { throw BenchProblem("the program's own path is unknown") }
        let launch: Launch
        switch kind {
        case .broadcaster:
            let path = own.deletingLastPathComponent().appendingPathComponent("Broadcaster")
                .path(percentEncoded: false)
            launch = Launch(path, arguments: ["\(port)"], deathSignal: .kill)
        case .webSocket:
            launch = Launch(
                own.path(percentEncoded: false), arguments: [BareWebSocketServer.argument, "\(port)"],
                deathSignal: .kill)
        }
        let server = BaselineServer(kind, port: port, try await ChildProcess.start(launch))
        guard await server.process.accepts(port: port, within: .seconds(5)) else {
            await server.stop()
            throw BenchProblem("the \(kind.rawValue) does not accept connections")
        }
        return server
    }

    func stop() async { await process.stop(SIGKILL) }

    func makeRooms(_ plan: RoomPlan) async throws -> [String] {
        (0..<plan.rooms).map { "r\(plan.firstUser)-\($0)" }
    }

    func path(ofUser user: Int, room: String, includesSender: Bool) -> String {
        "/\(includesSender ? "all" : "others")/\(room)"
    }

    func token(_ user: Int) -> String { "" }

    func account() -> ProcessAccount? { ProcessAccount(roots: [kind.rawValue: [Int(process.pid)]]) }

    /// The resident memory in bytes.
    var memory: Int { ProcessMemory.resident(of: Int(process.pid)) }
}

extension ChildProcess {
    /// Waits until the process accepts connections.
    /// - Returns: False after the time limit, or if the process has ended.
    func accepts(port: Int, within limit: Duration) async -> Bool {
        let end = ContinuousClock.now + limit
        while isRunning, ContinuousClock.now < end {
            if let channel = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            {
                try? await channel.close()
                return true
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }
}

/// The memory of a process, from `/proc`.
enum ProcessMemory {
    /// Returns the resident memory in bytes; 0 if the process has ended.
    static func resident(of pid: Int) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return (line?.split(separator: " ").dropLast().last).flatMap { Int($0) }.map { $0 * 1024 } ?? 0
    }
}
