// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB
public import Logging
import ProtocolClient
public import StrataModel
import Synchronization

/// The conversations of one user of one app on this device: a local store that can always be read, and a connection that keeps it in step with the server.
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
/// A call that changes something returns when the change is in the local store and in the outgoing queue: it is shown at once, and sent when there is a
/// connection, also after a restart, and exactly once. What the server refuses later arrives as ``ClientEvent/operationFailed(_:)``, and is taken back.
public actor StrataClient {
    /// How a client behaves.
    public struct Options: Sendable {
        /// Where the server is, for example `https://chat.example.org`.
        public var server: URL
        /// Which older messages are fetched by themselves.
        public var syncPolicy: SyncPolicy
        /// Where stores and sessions are kept. Each app id has a folder of its own in it. The folder holds messages: keep it private. Session
        /// tokens are in the keychain on Apple platforms, and elsewhere in the folder, in a file that only its owner can read.
        public var directory: URL
        /// The client's log. It contains no text of messages and no tokens.
        public var logger: Logger
        /// Which content is downloaded by itself, and how much is kept.
        public var content: ContentOptions
        /// Certificates to trust in the place of the system's, in PEM; for servers with a certificate of their own, as in development.
        public var trustedCertificates: String?
        /// Called before and after each statement of the store, on the thread that executes it. Tests of faults end the process there.
        package var storeBoundary: (@Sendable () -> Void)?

        /// Options with these differences from the defaults.
        public init(
            server: URL, syncPolicy: SyncPolicy = .unreadOnly, directory: URL? = nil, logger: Logger = Logger(label: "strata"),
            content: ContentOptions = .init(), trustedCertificates: String? = nil
        ) {
            self.server = server
            self.syncPolicy = syncPolicy
            self.directory =
                directory ?? FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first?.appending(path: "Strata")
                ?? URL(filePath: "Strata")
            self.logger = logger
            self.content = content
            self.trustedCertificates = trustedCertificates
        }
    }

    /// Whether the client is connected.
    public enum ConnectionState: Sendable, Hashable { case disconnected, connecting, connected }

    /// The app.
    public nonisolated let appID: AppID
    /// The options that the client was initialized with.
    public nonisolated let options: Options
    nonisolated let outlets: Outlets
    let folder: URL
    let server: ProtocolClient
    var sessionFile: SessionFile
    /// The engine of the current session; nil while no user has signed in.
    var engine: SyncEngine?
    var running: (engine: SyncEngine, task: Task<Void, Never>)?
    /// Whether the app wants to be connected.
    var wantsConnection = false
    /// The number of the last call to authenticate. An earlier call that is answered later is ignored.
    var attempt = 0
    private(set) var isClosed = false
    private let claim: StoreClaim

    /// A client of one app. It is not connected yet; what is in the store can be read if a user was signed in before.
    ///
    /// The call finishes what signing out began before the process ended: what is left of that user is removed.
    /// - Throws: ``StrataError/Code/invalidAppID``; ``StrataError/Code/storeInUse``; ``StrataError/Code/newerStore``, and the store is kept;
    ///   ``StrataError/Code/devicePersistenceFailure``, also while the device is locked and sessions or tokens cannot be read: try again after the
    ///   device was unlocked; ``StrataError/Code/invalidArgument`` for the address of the server.
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
        let outlets = Outlets(server: server, options: options, folder: folder)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try DeviceProtection.apply(to: folder)
            sessionFile = try SessionFile(folder: folder)
            sessionFile.removeLeftovers()
            engine = try sessionFile.current.flatMap { try outlets.makeEngine(of: $0) }
        } catch {
            // It must be shut down before it is released.
            Task { [server] in try? await server.shutdown() }
            throw error as? StrataError
                ?? StrataError(.devicePersistenceFailure, "\(folder.lastPathComponent): \(error)", underlying: [error])
        }
        self.outlets = outlets
        outlets.reference.set(self)
    }

    deinit {
        running?.task.cancel()
        outlets.finish()
        let server = server
        Task { try? await server.shutdown() }
    }

    // MARK: Streams

    /// Each batch of changes of the local store from now on, in order. Every access makes a subscription of its own; what is not read is kept.
    public nonisolated var objectChanges: AsyncStream<[ObjectChange]> { outlets.changes.subscribe() }
    /// Events of the client as a whole, from now on. Every access makes a subscription of its own.
    public nonisolated var events: AsyncStream<ClientEvent> { outlets.events.subscribe() }
    /// A nonce each time the server wants the user to sign in again. Give an identity token with it to ``authenticate(identityToken:)``; until then nothing is
    /// sent or received, and nothing is lost.
    public nonisolated var authenticationChallenges: AsyncStream<String> { outlets.challenges.subscribe() }
    /// The typing of other participants, as it happens. Every access makes a subscription of its own.
    public nonisolated var typingIndicators: AsyncStream<TypingIndicator> { outlets.typing.subscribe() }

    // MARK: Connection

    /// Whether there is a connection at this moment.
    public var connectionState: ConnectionState {
        get async { await engine?.connectionState ?? .disconnected }
    }

    /// Connects, and stays connected until ``disconnect()``: a lost connection is made again. Without a signed-in user nothing is connected until there is one.
    ///
    /// The call returns when the first attempt is over, with or without success; ``events`` tell how it goes on.
    /// - Throws: ``StrataError/Code/alreadyConnected``; ``StrataError/Code/unauthenticated`` if the user must sign in again: call this again after
    ///   ``authenticate(identityToken:)``; `CancellationError`.
    public func connect() async throws {
        guard !wantsConnection else { throw StrataError(.alreadyConnected, "The client is connected, or is connecting.") }
        wantsConnection = true
        guard let engine else { return }
        let token = sessionFile.current?.token
        let attempt = await engine.expectAttempt()
        // Another session may have become the current one meanwhile.
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

    /// Ends the connection. The local store can still be read and changed; changes are sent after the next ``connect()``.
    public func disconnect() async {
        wantsConnection = false
        await stopEngine(engine)
    }

    /// Ends the connection and gives the store up, so that another client can be made for it. Nothing can be done with this client after that.
    public func close() async {
        wantsConnection = false
        isClosed = true
        attempt += 1
        await stopEngine(releaseEngine())
        outlets.finish()
        claim.release()
    }

    /// Runs the engine, if there is one and the app wants to be connected.
    func startEngine() {
        guard wantsConnection, let engine, running == nil else { return }
        running = (engine, Task { await engine.run() })
    }

    /// From now on no session is in use. Its snapshots, its query controllers and the calls that wait for its objects end.
    /// - Returns: the engine, which is still to be stopped.
    func releaseEngine() -> SyncEngine? {
        defer { engine = nil }
        engine?.dependencies.link.cut()
        return engine
    }

    func stopEngine(_ engine: SyncEngine?) async {
        await engine?.disconnect()
        guard let running, running.engine === engine else { return }
        running.task.cancel()
        await running.task.value
        if self.running?.task == running.task { self.running = nil }
        // The app may have asked for a connection meanwhile.
        startEngine()
    }
}

/// Keeps two clients of one process from using the same store.
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

    /// Lets another client use the store.
    func release() { if !isReleased.exchange(true, ordering: .relaxed) { Self.claimed.withLock { _ = $0.remove(path) } } }

    deinit { release() }
}
