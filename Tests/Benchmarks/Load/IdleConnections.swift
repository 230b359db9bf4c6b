// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// Live connections on which the generator does nothing.
actor IdleConnections {
    private let server: any LoadedServer
    private let firstUser: Int
    private let loops: LoadLoops
    private let first: String
    private var sockets: [LoadSocket] = []

    /// The number of connections that are opened at the same time.
    private static let opening = 50

    /// - Parameters:
    ///   - firstUser: The number of the user of the first connection. Each connection is another user's.
    ///   - first: The first text frame of each connection, which the server answers.
    init(
        _ server: any LoadedServer, firstUser: Int = 0, first: String = LoadSocket.counterRequest, _ loops: LoadLoops
    ) {
        self.server = server
        self.firstUser = firstUser
        self.first = first
        self.loops = loops
    }

    /// The number of connections that the server has not closed.
    var open: Int { sockets.count { !$0.isClosed } }

    /// Opens or closes connections.
    /// - Parameter count: The number afterwards.
    func adjust(to count: Int) async throws {
        while sockets.count > count { sockets.removeLast().close() }
        while sockets.count < count {
            let numbers = sockets.count..<min(sockets.count + Self.opening, count)
            sockets += try await withThrowingTaskGroup(of: LoadSocket.self) { tasks in
                var opened: [LoadSocket] = []
                for number in numbers {
                    tasks.addTask { [server, firstUser, first, loops] in
                        // A room for each, so that the broadcaster sends nothing to others.
                        let user = firstUser + number
                        let path = server.path(ofUser: user, room: "i\(user)", includesSender: true)
                        let socket = try await LoadSocket.open(
                            server.addresses[number % server.addresses.count], path: path, saying: first,
                            on: loops.group)
                        try await socket.awaitLive()
                        return socket
                    }
                }
                for try await socket in tasks { opened.append(socket) }
                return opened
            }
        }
    }
}
