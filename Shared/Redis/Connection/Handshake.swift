// SPDX-License-Identifier: Apache-2.0

/// The commands at the beginning of each connection. AUTH must succeed; a refused client name is harmless.
struct Handshake {
    enum Step: Equatable {
        case authenticate
        case setName
        case ping
    }

    enum Action {
        case doNothing
        case becomeReady
        case fail(RedisError)
    }

    private var awaited: [Step] = []
    let commands: [[RedisArgument]]

    /// Creates a handshake. Its PING checks that the server is ready: a server that is still loading its data answers
    /// with an error.
    init(_ configuration: RedisConfiguration) {
        var commands: [[RedisArgument]] = []
        if let password = configuration.password {
            commands.append(["AUTH"] + (configuration.username.map { [.string($0)] } ?? []) + [.string(password)])
            awaited.append(.authenticate)
        }
        if let name = configuration.clientName {
            commands.append(["CLIENT", "SETNAME", .string(name)])
            awaited.append(.setName)
        }
        commands.append(["PING"])
        awaited.append(.ping)
        self.commands = commands
    }

    mutating func replyReceived(_ reply: RedisValue) -> Action {
        guard let step = awaited.first else {
            return .fail(RedisError(.protocolViolation, "a reply without a command"))
        }
        awaited.removeFirst()
        if case .error(let error) = reply, step != .setName {
            let what = step == .authenticate ? "authentication was refused" : "the server does not serve"
            return .fail(RedisError(.connectionUnavailable, what, serverError: error))
        }
        return awaited.isEmpty ? .becomeReady : .doNothing
    }
}
