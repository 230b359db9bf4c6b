// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import StrataModel

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
