// SPDX-License-Identifier: Apache-2.0
import Foundation
import NIOCore

/// Attacks on the memory of a gateway through sockets of one address.
extension HostileAttack {
    /// The address of the attackers of another app. The victim has a different one.
    static let address = "127.0.0.2"
    /// The number of sockets of each user.
    private static let crowdedSockets = 16, fragmentSockets = 275
    private static let framesAtOnce = 3
    private static let frameBytes = 1_000_000
    /// The payload of a fragment in bytes. With its buffer it stays below the 16 KB that a connection may hold while
    /// the input budget is nearly exhausted.
    private static let fragmentBytes = 15_000
    private static let crowdedPeriod = Duration.seconds(2)
    /// The longest wait for an answer.
    private static let patience = Duration.seconds(10)

    // MARK: Crowded frames

    /// Sends crowded frames on each of a user's sockets, every two seconds, or later if the answers to the previous
    /// ones are pending.
    func crowd(as user: Int) async -> (Int, Int) {
        let frames = (0..<Self.framesAtOnce).map { crowdedFrame($0, conversations[user]) }
        return await withTaskGroup(of: (Int, Int).self) { tasks in
            for _ in 0..<Self.crowdedSockets { tasks.addTask { await crowd(frames, as: user) } }
            return await tasks.reduce(into: (0, 0)) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }

    private func crowd(_ frames: [ByteBuffer], as user: Int) async -> (Int, Int) {
        var (sent, succeeded) = (0, 0)
        var open: LoadSocket?
        while !Task.isCancelled {
            let next = ContinuousClock.now + Self.crowdedPeriod
            if open?.isClosed ?? true {
                open = try? await socket(of: user)
                // The answer to the request that opens the socket must not be counted.
                if let socket = open { _ = await answers(1, from: socket) }
            }
            if let socket = open {
                let before = await counts(socket)
                for frame in frames { socket.send(frame: frame) }
                sent += frames.count
                let after = await answers(before.answered + frames.count, from: socket)
                succeeded += (after.answered - after.refused) - (before.answered - before.refused)
            }
            try? await Task.sleep(until: next, clock: .continuous)
        }
        open?.close()
        return (sent, succeeded)
    }

    /// Waits until this number of requests has been answered, the socket has closed, or the timeout has passed.
    private func answers(_ goal: Int, from socket: LoadSocket) async -> (answered: Int, refused: Int) {
        let end = ContinuousClock.now + Self.patience
        var now = await counts(socket)
        while now.answered < goal, !socket.isClosed, .now < end, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(50))
            now = await counts(socket)
        }
        return now
    }

    private func counts(_ socket: LoadSocket) async -> (answered: Int, refused: Int) {
        (try? await socket.read { ($0.answers, $0.refused) }) ?? (0, 0)
    }

    /// Returns a request to send a message, with an additional member that nothing reads. It contains objects, which
    /// take far more memory than their text.
    private func crowdedFrame(_ number: Int, _ conversation: String) -> ByteBuffer {
        let head = """
            {"type":"request","body":{"request_id":"crowd\(number)","method":"Message.create","object_id":"layer:///conversations/\(conversation)",\
            "data":{"parts":[{"mime_type":"text/plain","body":"x"}],"crowd":[
            """
        let (item, end) = ("{\"\":0},", "{\"\":0}]}}}")
        let text =
            head
            + String(repeating: item, count: (Self.frameBytes - head.utf8.count - end.utf8.count) / item.utf8.count)
            + end
        return LoadSocket.frame(opcode: .text, Array(text.utf8))
    }

    private func socket(of user: Int) async throws -> LoadSocket {
        try await LoadSocket.open(port: system.gatewayPort, token: system.token(user), from: Self.address, on: group)
    }

    // MARK: Fragments

    /// Opens sockets, sends fragments of an endless message on each, and replaces closed sockets.
    /// - Returns: The number of messages begun, and of those still held when the attack ended.
    func fragment(as user: Int) async -> (Int, Int) {
        let first = LoadSocket.frame(opcode: .text, isLast: false, Array(repeating: 0x20, count: Self.fragmentBytes))
        let next = LoadSocket.frame(
            opcode: .continuation, isLast: false, Array(repeating: 0x20, count: Self.fragmentBytes))
        return await withTaskGroup(of: (Int, Int).self) { tasks in
            for number in 0..<Self.fragmentSockets {
                tasks.addTask {
                    // Half of the sockets stay below the limit for short input; the others send as much as they can.
                    await hold(
                        first, next, times: number.isMultiple(of: 2) ? 0 : Self.frameBytes / Self.fragmentBytes - 4,
                        as: user)
                }
            }
            return await tasks.reduce(into: (0, 0)) { $0 = ($0.0 + $1.0, $0.1 + $1.1) }
        }
    }

    private func hold(_ first: ByteBuffer, _ next: ByteBuffer, times: Int, as user: Int) async -> (Int, Int) {
        var begun = 0
        while !Task.isCancelled {
            guard let socket = try? await socket(of: user) else {
                try? await Task.sleep(for: .seconds(2))
                continue
            }
            begun += 1
            socket.send(frame: first)
            for _ in 0..<times {
                while !socket.isWritable, !socket.isClosed, !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(10))
                }
                guard !socket.isClosed, !Task.isCancelled else { break }
                socket.send(frame: next)
            }
            while !socket.isClosed, !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
            if Task.isCancelled {
                let isHeld = !socket.isClosed
                socket.close()
                return (begun, isHeld ? 1 : 0)
            }
            try? await Task.sleep(for: .seconds(2))
        }
        return (begun, 0)
    }
}
