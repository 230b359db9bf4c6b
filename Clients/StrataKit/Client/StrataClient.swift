// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB
public import Logging
import ProtocolClient
public import StrataModel
import Synchronization

/// A client for the conversations of one app's user on this device. It has a local store, which can always be read, and
/// a connection that keeps the store synchronized with the server.
///
/// ```swift
/// let client = try StrataClient(appID: appID, options: .init(server: server))
/// try await client.connect()
/// let nonce = try await client.requestAuthenticationNonce()
/// try await client.authenticate(identityToken: token(for: nonce))
///
/// let chat = try await client.newConversation(with: ["bob"])
/// try await chat.send(client.newMessage(parts: [.text("Hi")]))
/// ```
///
/// A call that changes something returns as soon as the change is in the local store and in the outgoing queue. The
/// change is visible immediately. It is sent exactly once when there is a connection, even after a restart. If the
/// server refuses it later, the client reverts it and publishes ``ClientEvent/operationFailed(_:)``.
public actor StrataClient {
    /// The configuration of a client.
    public struct Options: Sendable {
        /// The server's URL, for example `https://chat.example.org`.
        public var server: URL
        /// The older messages that are fetched automatically.
        public var syncPolicy: SyncPolicy
        /// The directory for stores and sessions. Each app id has its own folder in it. The folder contains messages:
        /// keep it private. On Apple platforms session tokens are in the keychain; elsewhere they are in a file in the
        /// folder, which only its owner can read.
        public var directory: URL
        /// The client's logger. Log messages contain neither message text nor tokens.
        public var logger: Logger
        /// The content that is downloaded automatically, and the disk space for content.
        public var content: ContentOptions
        /// Trusted certificates in PEM, which replace those of the system. Used for servers with a self-signed
        /// certificate, as in development.
        public var trustedCertificates: String?
        /// Called before and after each SQL statement of the store, on the thread that executes it. Fault tests end the
        /// process there.
        package var storeBoundary: (@Sendable () -> Void)?

        /// Creates options; omitted arguments have their defaults.
        public init(
            server: URL, syncPolicy: SyncPolicy = .unreadOnly, directory: URL? = nil,
            logger: Logger = Logger(label: "strata"),
            content: ContentOptions = .init(), trustedCertificates: String? = nil
        ) {
            self.server = server
            self.syncPolicy = syncPolicy
            self.directory =
                directory ?? FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first?
                .appending(path: "Strata")
                ?? URL(filePath: "Strata")
            self.logger = logger
            self.content = content
            self.trustedCertificates = trustedCertificates
        }
    }

    /// The state of the connection.
    public enum ConnectionState: Sendable, Hashable { case disconnected, connecting, connected }

    /// The app's id.
    public nonisolated let appID: AppID
    /// The options that were passed to the initializer.
    public nonisolated let options: Options
    nonisolated let streams: EventStreams
    let folder: URL
    let server: ProtocolClient
    var sessionFile: SessionFile
    /// The engine of the current session; nil while no user has signed in.
    var engine: SyncEngine?
    var running: (engine: SyncEngine, task: Task<Void, Never>)?
    var wantsConnection = false
    /// The number of the latest sign-in attempt. The result of an earlier attempt is discarded.
    var attempt = 0
    private(set) var isClosed = false
    private let claim: StoreClaim

    /// Creates a client for an app, without connecting it. If a user was signed in before, the store can be read
    /// immediately.
    ///
    /// The initializer also completes a sign-out that a previous process did not finish: it removes the remaining data
    /// of that user.
    /// - Throws:
    ///   - ``StrataError/Code/invalidAppID``
    ///   - ``StrataError/Code/storeInUse``
    ///   - ``StrataError/Code/newerStore``; the store is kept
    ///   - ``StrataError/Code/devicePersistenceFailure``, also if the device is locked and sessions or tokens cannot be
    ///     read; retry after the device is unlocked
    ///   - ``StrataError/Code/invalidArgument`` for the server's URL
    public init(appID: String, options: Options) throws {
        guard let app = AppID(parsing: appID) else { throw StrataError(.invalidAppID, "\(appID) is not an app id.") }
        self.appID = app
        self.options = options
        folder = options.directory.appending(path: app.description)
        claim = try StoreClaim(folder)
        do {
            let trust: ServerTrust = options.trustedCertificates.map { .roots(pem: $0) } ?? .system
            server = try ProtocolClient(baseURL: options.server.absoluteString, trust: trust)
        } catch {
            throw StrataError(.invalidArgument, "server: \(error)", underlying: [error])
        }
        let streams = EventStreams(server: server, options: options, folder: folder)
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try DeviceProtection.apply(to: folder)
            sessionFile = try SessionFile(folder: folder)
            sessionFile.removeLeftovers()
            engine = try sessionFile.current.flatMap { try streams.makeEngine(of: $0) }
        } catch {
            // `ProtocolClient` must be shut down before it is released.
            Task { [server] in try? await server.shutdown() }
            throw error as? StrataError
                ?? StrataError(.devicePersistenceFailure, "\(folder.lastPathComponent): \(error)", underlying: [error])
        }
        self.streams = streams
        streams.reference.set(self)
    }

    deinit {
        running?.task.cancel()
        streams.finish()
        let server = server
        Task { try? await server.shutdown() }
    }

    // MARK: Streams

    /// The batches of changes of the local store after this call, in order. Each access creates a separate
    /// subscription; unread batches are buffered.
    public nonisolated var objectChanges: AsyncStream<[ObjectChange]> { streams.changes.subscribe() }
    /// The events of the client as a whole after this call. Each access creates a separate subscription.
    public nonisolated var events: AsyncStream<ClientEvent> { streams.events.subscribe() }
    /// The nonces of authentication challenges. The server sends one whenever the user must sign in again. Pass an
    /// identity token with the nonce to ``authenticate(identityToken:)``. Until then nothing is sent or received, and
    /// nothing is lost.
    public nonisolated var authenticationChallenges: AsyncStream<String> { streams.challenges.subscribe() }
    /// The typing signals of other participants after this call. Each access creates a separate subscription.
    public nonisolated var typingIndicators: AsyncStream<TypingIndicator> { streams.typing.subscribe() }

    // MARK: Connection

    /// The current state of the connection.
    public var connectionState: ConnectionState {
        get async { await engine?.connectionState ?? .disconnected }
    }

    /// Connects, and reconnects after each loss of connection until ``disconnect()``. Without a signed-in user, the
    /// client connects as soon as a user signs in.
    ///
    /// The call returns after the first attempt, whether it succeeded or failed; ``events`` report all later changes.
    /// - Throws: ``StrataError/Code/alreadyConnected``; ``StrataError/Code/unauthenticated`` if the user must sign in
    ///   again: call ``authenticate(identityToken:)``, then this method; `CancellationError`.
    public func connect() async throws {
        guard !wantsConnection else {
            throw StrataError(.alreadyConnected, "The client is connected, or is connecting.")
        }
        wantsConnection = true
        guard let engine else { return }
        let token = sessionFile.current?.token
        let attempt = await engine.expectAttempt()
        // Another session may have become the current one during the suspension.
        guard self.engine === engine else { return startEngine() }
        startEngine()
        var end: FirstAttempt?
        for await how in attempt { end = how }
        guard end == .signInNeeded || Task.isCancelled else { return }
        wantsConnection = false
        await stopEngine(engine)
        try Task.checkCancellation()
        if let token { try persisting { try sessionFile.challenge(engine.me, token: token) } }
        throw StrataError(.unauthenticated, "The server does not accept the session: \(engine.me) must sign in again.")
    }

    /// Disconnects. The local store can still be read and changed; queued changes are sent after the next
    /// ``connect()``.
    public func disconnect() async {
        wantsConnection = false
        await stopEngine(engine)
    }

    /// Disconnects and releases the store, so that another client can open it. A closed client can no longer be used.
    public func close() async {
        wantsConnection = false
        isClosed = true
        attempt += 1
        await stopEngine(releaseEngine())
        streams.finish()
        claim.release()
    }

    /// Starts the engine if there is one, the app requested a connection, and no engine is running.
    func startEngine() {
        guard wantsConnection, let engine, running == nil else { return }
        running = (engine, Task { await engine.run() })
    }

    /// Detaches the current session from the client. Its snapshots, query controllers and pending calls end.
    /// - Returns: the engine, which the caller must stop.
    func releaseEngine() -> SyncEngine? {
        defer { engine = nil }
        engine?.dependencies.link.cut()
        return engine
    }

    /// Disconnects an engine and waits for its end. Then starts the current engine if the app has requested a
    /// connection meanwhile.
    func stopEngine(_ engine: SyncEngine?) async {
        await engine?.disconnect()
        guard let running, running.engine === engine else { return }
        running.task.cancel()
        await running.task.value
        if self.running?.task == running.task { self.running = nil }
        // The app may have called `connect()` during the suspension.
        startEngine()
    }
}

/// An exclusive claim on a store folder. It prevents two clients of one process from using the same store.
final class StoreClaim: Sendable {
    private static let claimed = Mutex<Set<String>>([])
    private let path: String
    private let isReleased = Atomic<Bool>(false)

    init(_ folder: URL) throws {
        path = folder.standardizedFileURL.path(percentEncoded: false)
        guard Self.claimed.withLock({ $0.insert(path).inserted }) else {
            throw StrataError(.storeInUse, "Another client of this process uses the same store.")
        }
    }

    func release() {
        if !isReleased.exchange(true, ordering: .relaxed) { Self.claimed.withLock { _ = $0.remove(path) } }
    }

    deinit { release() }
}

/// File protection for the folder of an app's stores on Apple platforms. It does nothing on other platforms, which have
/// no such file attributes.
enum DeviceProtection {
    /// Excludes the folder from backups, and makes it unreadable until the device is first unlocked after a restart.
    static func apply(to folder: URL) throws {
        #if canImport(Darwin)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        var folder = folder
        try folder.setResourceValues(values)
        #if !os(macOS)
        try FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
            ofItemAtPath: folder.path(percentEncoded: false))
        #endif
        #endif
    }
}
