// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel
import Synchronization

/// The client's event streams. It also creates sync engines that publish to these streams.
struct EventStreams: Sendable {
    let server: ProtocolClient
    let options: StrataClient.Options
    let folder: URL
    let changes = Broadcaster<[ObjectChange]>()
    let events = Broadcaster<ClientEvent>()
    let challenges = Broadcaster<String>()
    let typing = Broadcaster<TypingIndicator>()
    let reference = WeakReference<StrataClient>()

    /// Opens the store of a session.
    /// - Returns: the engine; nil for a session without a user.
    /// - Throws: ``StrataError/Code/newerStore``, ``StrataError/Code/devicePersistenceFailure``.
    func makeEngine(of session: SessionFile.Stored) throws -> SyncEngine? {
        guard let user = session.userID else { return nil }
        let content = folder.appending(path: session.store + "-content")
        do {
            try FileManager.default.createDirectory(at: content, withIntermediateDirectories: true)
            let pool = try StoreFile.open(folder.appending(path: session.store), atBoundary: options.storeBoundary)
            let link = SessionLink(reference)
            let dependencies = SyncEngine.Dependencies(
                server: server, options: options, link: link, logger: options.logger,
                publishChanges: { [changes] batch in
                    guard link.isOpen else { return }
                    link.changes.send(batch)
                    changes.send(batch)
                },
                publish: { [events] in events.send($0) },
                publishTyping: { [typing] in if link.isOpen { typing.send($0) } },
                signInNeeded: { token, need in Task { await link.client?.challenged(user, token: token, need: need) } })
            return try SyncEngine(
                database: pool, me: user, token: session.token, contentFolder: content, dependencies: dependencies)
        } catch let error as StrataError {
            throw error
        } catch let error as DatabaseError {
            throw StrataError(
                .devicePersistenceFailure, "The store could not be opened: \(error.resultCode) \(error.message ?? "")",
                underlying: [error])
        } catch {
            throw StrataError(.devicePersistenceFailure, "The store could not be opened: \(error)", underlying: [error])
        }
    }

    func finish() {
        changes.finish()
        events.finish()
        challenges.finish()
        typing.finish()
    }
}

/// A multicast stream. Every subscriber receives each value, in order. Values that a slow subscriber has not read yet
/// are buffered without a limit.
final class Broadcaster<Value: Sendable>: Sendable {
    private struct State {
        var nextID = 0
        var subscribers: [Int: AsyncStream<Value>.Continuation] = [:]
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Returns a stream of all values sent after this call. The stream ends when the broadcaster finishes or the
    /// subscribing task ends.
    func subscribe() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        let id = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.nextID += 1
            state.subscribers[state.nextID] = continuation
            return state.nextID
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.subscribers[id] = nil } }
        return stream
    }

    var count: Int { state.withLock { $0.subscribers.count } }

    func send(_ value: Value) {
        let subscribers = state.withLock { $0.subscribers.sorted { $0.key < $1.key }.map(\.value) }
        for subscriber in subscribers { subscriber.yield(value) }
    }

    func finish() {
        let subscribers = state.withLock { state in
            defer { state.subscribers = [:] }
            state.isFinished = true
            return Array(state.subscribers.values)
        }
        for subscriber in subscribers { subscriber.finish() }
    }
}
