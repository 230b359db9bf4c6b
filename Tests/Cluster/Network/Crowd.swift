// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix

/// Connections that are opened, say nothing, and are opened again when they are closed.
package actor Crowd {
    private let host: String
    private let port: Int
    private var members: [Task<Void, Never>] = []

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// So many more come.
    package func come(_ count: Int) {
        for _ in 0..<count {
            members.append(
                Task { [host, port] in
                    // While there is no server, or no way to it, they try again now and then.
                    while !Task.isCancelled { if await !Self.stay(host, port) { try? await Task.sleep(for: .milliseconds(100)) } }
                })
        }
    }

    /// Until it is closed, from there or by the end of this task.
    /// - Returns: false if it could not be opened.
    private static func stay(_ host: String, _ port: Int) async -> Bool {
        guard let channel = try? await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connect(host: host, port: port).get() else {
            return false
        }
        await withTaskCancellationHandler {
            try? await channel.closeFuture.get()
        } onCancel: {
            channel.close(promise: nil)
        }
        return true
    }

    /// All go, and have gone when this returns.
    package func go() async {
        for member in members { member.cancel() }
        for member in members { await member.value }
        members = []
    }
}
