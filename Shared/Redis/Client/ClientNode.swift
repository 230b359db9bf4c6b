// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore

/// A command with its routing state. It is a value, so that a command sent again starts from its previous state.
struct Dispatch {
    let command: Command
    var redirects: UInt8 = 0
    /// True to precede the command with ASKING.
    var isAsking = false
    /// True to send the source of the script instead of its digest.
    var sendsSource = false

    func encode(into buffer: inout ByteBuffer) {
        if isAsking { CommandEncoder.encode(["ASKING"], into: &buffer) }
        if sendsSource, let script = command.script {
            CommandEncoder.encode(["EVAL", .string(script.source)] + command.arguments.dropFirst(2), into: &buffer)
        } else {
            CommandEncoder.encode(command.arguments, into: &buffer)
        }
    }
}

/// A server and the pipeline to it: the commands without a response, in order.
final class ClientNode: ConnectionKeeperDelegate {
    private enum Expected {
        /// The response to a command of the client itself.
        case discarded
        case command(Dispatch)
    }

    private let keeper: ConnectionKeeper<ClientNode>
    private weak var core: ClientCore?
    private var expected = CircularBuffer<Expected>(initialCapacity: 64)
    /// The commands that wait for the first connection.
    private var backlog: [Dispatch] = []
    private var outgoing = ByteBuffer()
    /// True if the server no longer belongs to the cluster. The node then ends with its last response.
    private(set) var isRetired = false
    private var lastFailure: RedisError?

    init(
        endpoints: [RedisEndpoint], configuration: RedisConfiguration, eventLoop: any EventLoop, logger: Logger,
        core: ClientCore
    ) {
        keeper = ConnectionKeeper(
            endpoints: endpoints, configuration: configuration, eventLoop: eventLoop, logger: logger)
        self.core = core
    }

    var endpoint: RedisEndpoint { keeper.endpoint }
    var isReady: Bool { keeper.isReady }
    var isAway: Bool { keeper.isAway }
    var isIdle: Bool { expected.isEmpty && backlog.isEmpty }

    func connect() { keeper.demand(by: self) }

    /// Accepts a command, which is sent by the next `flush()`.
    func send(_ dispatch: Dispatch) {
        switch keeper.state {
        case .ready:
            dispatch.encode(into: &outgoing)
            if dispatch.isAsking { expected.append(.discarded) }
            expected.append(.command(dispatch))
        case .idle, .connectingFirst:
            backlog.append(dispatch)
            connect()
        case .reconnecting, .waiting, .closed:
            core?.finish(dispatch.command, with: .failure(lastFailure ?? .connectionUnavailable))
        }
    }

    /// Sends all commands accepted since the last call, in one write.
    func flush() {
        guard outgoing.readableBytes > 0, let connection = keeper.connection else { return }
        let buffer = outgoing
        outgoing = ByteBuffer()
        outgoing.reserveCapacity(min(buffer.readableBytes, 64 << 10))
        connection.write(buffer)
    }

    func retire() {
        isRetired = true
        closeIfDone()
    }

    /// Closes the connection. Commands without a response fail.
    func close(_ error: RedisError) {
        keeper.close()
        failExpected(error)
        failBacklog(.closed)
    }

    /// Calls `body` with each command that has no response.
    func forEachCommand(_ body: (Command) -> Void) {
        for entry in expected { if case .command(let dispatch) = entry { body(dispatch.command) } }
        for dispatch in backlog { body(dispatch.command) }
    }

    private func closeIfDone() {
        guard isRetired, isIdle else { return }
        keeper.close()
        core?.retired(self)
    }

    private func failExpected(_ error: RedisError) {
        outgoing.clear()
        while let entry = expected.popFirst() {
            if case .command(let dispatch) = entry { core?.finish(dispatch.command, with: .failure(error)) }
        }
    }

    private func failBacklog(_ error: RedisError) {
        let waiting = backlog
        backlog.removeAll()
        for dispatch in waiting { core?.finish(dispatch.command, with: .failure(error)) }
    }

    // MARK: ConnectionRole

    var isAwaitingReply: Bool { !expected.isEmpty }

    func encodePing(into buffer: inout ByteBuffer) {
        CommandEncoder.encode(["PING"], into: &buffer)
        expected.append(.discarded)
    }

    func replyReceived(_ reply: inout ReplyBuilder) throws(RedisError) {
        let value = reply.takeValue()
        guard let entry = expected.popFirst() else {
            throw RedisError(.protocolViolation, "a reply without a command")
        }
        if case .command(let dispatch) = entry { core?.answered(dispatch, with: value, by: self) }
    }

    func receivedAll() {
        core?.turnEnded()
        closeIfDone()
    }

    // MARK: ConnectionKeeperDelegate

    func connectionReady() {
        lastFailure = nil
        let waiting = backlog
        backlog.removeAll()
        for dispatch in waiting {
            if dispatch.command.isFinished {
                core?.finish(dispatch.command, with: .failure(.deadlineExceeded))
            } else {
                send(dispatch)
            }
        }
        core?.nodeReady()
    }

    func connectionLost(_ error: RedisError) {
        lastFailure = error.whileUnavailable
        failExpected(error.code == .protocolViolation ? error : .fateUnknown)
        core?.nodeFailed(error, wasConnected: true)
    }

    func attemptFailed(_ error: RedisError) {
        lastFailure = error.whileUnavailable
        failBacklog(error.whileUnavailable)
        core?.nodeFailed(error, wasConnected: false)
    }
}
