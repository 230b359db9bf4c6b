// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// A number of idle connections, which reconnect when they are closed.
package actor Crowd {
    private let host: String
    private let port: Int
    private var members: [Task<Void, Never>] = []

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Opens `count` additional connections.
    package func open(_ count: Int) {
        for _ in 0..<count {
            members.append(
                Task { [host, port] in
                    // Retry while there is no server or no route to it.
                    while !Task.isCancelled {
                        if await !Self.holdConnection(host, port) { try? await Task.sleep(for: .milliseconds(100)) }
                    }
                })
        }
    }

    /// Opens a connection and waits until the peer closes it or the task is cancelled.
    /// - Returns: False if the connection could not be opened.
    private static func holdConnection(_ host: String, _ port: Int) async -> Bool {
        guard
            let channel = try? await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: host, port: port).get()
        else {
            return false
        }
        await withTaskCancellationHandler {
            try? await channel.closeFuture.get()
        } onCancel: {
            channel.close(promise: nil)
        }
        return true
    }

    /// Closes all connections, and returns when they are closed.
    package func closeAll() async {
        for member in members { member.cancel() }
        for member in members { await member.value }
        members = []
    }
}
