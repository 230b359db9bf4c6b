// SPDX-License-Identifier: Apache-2.0
import Foundation
import FuzzValues
import GRDB
import Logging
import NIOCore
import NIOPosix
import NIOWebSocket
import SeededRandom
import StrataModel
import Synchronization

@testable import ProtocolClient
@testable import StrataKit

/// Sends ``HostileTraffic`` to an engine while its user continues to make changes. At times it reopens the store, as
/// after a killed process.
final class HostileServer {
    /// Failures of the store, and damage to it. Lost connections are not defects.
    private(set) var defects: [String] = []
    private(set) var fed = 0

    private let file: URL
    private let content: URL
    private var traffic: HostileTraffic
    private let client: ProtocolClient
    private let peer: SilentPeer
    private let link = SessionLink(WeakReference())
    private var engine: SyncEngine?
    private var pool: DatabasePool?
    private var socket: ProtocolSocket?
    private let failures = FailureList()

    init(seed: UInt64, folder: URL) async throws {
        traffic = HostileTraffic(seed: seed)
        file = folder.appending(path: "store.sqlite")
        content = folder.appending(path: "content")
        try FileManager.default.createDirectory(at: content, withIntermediateDirectories: true)
        client = try ProtocolClient(baseURL: "https://chat.example.org")
        peer = try await SilentPeer()
        try await open()
    }

    func close() async throws {
        await socket?.abort()
        try pool?.close()
        try await peer.close()
        try await client.shutdown()
    }

    // MARK: The device

    private func open() async throws {
        let pool = try StoreFile.open(file)
        self.pool = pool
        let failures = failures
        let options = StrataClient.Options(
            server: URL(filePath: "/"), syncPolicy: traffic.values.generator.pick(Self.policies), logger: Self.logger)
        let dependencies = SyncEngine.Dependencies(
            server: client, options: options, link: link, logger: options.logger, publishChanges: { _ in },
            publish: { event in if case .storeFailed(let error) = event { failures.add("the store failed: \(error)") }
            }, publishTyping: { _ in },
            signInNeeded: { _, _ in })
        let engine = try SyncEngine(
            database: pool, me: WireJSON.ana, token: "token", contentFolder: content, dependencies: dependencies)
        self.engine = engine
        try await connect(engine)
    }

    private static let policies: [SyncPolicy] = [.completeHistory, .unreadOnly, .partialHistory(count: 3)]
    private static let logger = Logger(label: "hostile") { _ in SwiftLogNoOpLogHandler() }

    private func connect(_ engine: SyncEngine) async throws {
        var options = ProtocolSocket.Options()
        options.readAhead = 2_000
        await socket?.abort()
        let new = ProtocolSocket(channel: try await peer.connect(), options: options)
        socket = new
        await engine.attach(new)
    }

    /// Simulates the end of the process and a restart with the content of the file.
    private func restart() async throws {
        guard let engine, let pool else { return }
        let waiting = await engine.pendingChangeCount
        let problems = try await pool.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
        if problems != ["ok"] { defects.append("after \(fed) inputs the file is damaged: \(problems)") }
        self.engine = nil
        try pool.close()
        try await open()
        if FileManager.default.fileExists(atPath: file.path + ".damaged") {
            defects.append("after \(fed) inputs the store was rebuilt")
        }
        guard let now = await self.engine?.pendingChangeCount, now == waiting else {
            return defects.append(
                "after \(fed) inputs \(waiting) changes were to be sent, and others after opening the store again")
        }
    }

    // MARK: Feeding

    func feed(_ count: Int) async throws {
        while fed < count, let engine {
            let isLive = await engine.isLive
            if await engine.socket == nil || !isLive && traffic.values.generator.chance(5) { try await connect(engine) }
            switch traffic.values.generator.int(0...999) {
            case ..<4: try await restart()
            case ..<20: try await read()
            case ..<120: try await act(engine)
            case ..<700: try await packets(to: engine, isLive: isLive)
            case ..<900: await answerLoad(of: engine)
            default: await answerChange(of: engine)
            }
            fed += 1
            defects += failures.take().map { "input \(fed): \($0)" }
        }
        try await restart()
    }

    private func packets(to engine: SyncEngine, isLive: Bool) async throws {
        guard let socket = await engine.socket else { return }
        if !isLive, traffic.values.generator.chance(50) {
            for packet in traffic.liveness() { socket.socket.textReceived(packet.text) }
        }
        let requests = await engine.requests.unanswered.map { SyncEngine.requestID($0) }.sorted()
        for _ in 0..<traffic.values.generator.int(1...3) {
            let text = traffic.packet(requests: requests).text
            if traffic.values.generator.chance(90) {
                socket.socket.textReceived(text)
            } else {
                socket.socket.textReceived(String(decoding: traffic.values.mutated(Array(text.utf8)), as: UTF8.self))
            }
        }
        await engine.packetsReceived(try await socket.socket.takePackets(atMost: 512), on: socket.number)
    }

    private func answerLoad(of engine: SyncEngine) async {
        let loads = await engine.machine.loads.loadsInProgress.sorted { "\($0)" < "\($1)" }
        guard !loads.isEmpty else { return }
        let load = traffic.values.generator.pick(loads)
        let page = LoadPage(
            path: "/x",
            below: traffic.values.generator.chance(50) ? Int64(traffic.values.generator.int(0...400_000)) : nil)
        await engine.loadAnswered(
            load, page: page, answer: traffic.answer(to: load), askedOn: await engine.socket?.number, token: "token")
    }

    private func answerChange(of engine: SyncEngine) async {
        guard let id = await engine.requests.unanswered.sorted(by: { $0.uuidString < $1.uuidString }).first else {
            return
        }
        await engine.answered(id, with: ServerAnswer(traffic.answer(to: nil)), to: "token")
    }

    // MARK: The user

    /// Makes a change, as an app does. Refusals are expected.
    private func act(_ engine: SyncEngine) async throws {
        let (id, message, user) = (traffic.conversation(), traffic.message(), traffic.user())
        let (number, new) = (
            traffic.values.generator.int(0...9), MessageID(rawValue: traffic.values.generator.newUUID())
        )
        do {
            try await engine.change { store in
                switch number {
                case 0: _ = try store.markRead(try store.unreadMessages(in: id), in: id)
                case 1: try store.patchMetadata([.init(path: "a.b", values: ["a.b": "x"])], in: id)
                case 2: try store.deleteMessage(message, mode: .myDevices)
                case 3: try store.deleteConversation(id, mode: .myDevices)
                case 4: try store.changeParticipants([.init(user: user, isAdded: true)], in: id)
                case 5: try store.setHistoryGoal(of: id) { _, _, _ in .everything }
                case 6: try store.follow([user])
                case 7: try store.setBlocked(true, [user])
                case 8:
                    let others = Set([user, WireJSON.ana, WireJSON.ben]).sorted()
                    let draft = try store.createDraft(StoreFixture.newConversation(others, isDistinct: true))
                    try store.sendMessage(StoreFixture.newMessage(new), in: draft)
                default: try store.sendMessage(StoreFixture.newMessage(new), in: id)
                }
            }
        } catch let error as StrataError where error.code != .devicePersistenceFailure {
            return
        }
    }

    private func read() async throws {
        try await engine?
            .read { store in
                _ = try store.execute(Query<StrataKit.Conversation>()).map(\.metadata.flattened)
                _ = try store.execute(Query<StrataKit.Message>()).map { ($0.sentAt, $0.parts.map(\.text)) }
                _ = try store.execute(Query<StrataKit.Identity>())
                _ = try store.execute(Query<StrataKit.Announcement>())
                _ = DiskPlan(files: try store.contentFiles().map(\.file), capacity: 1)
                _ = try store.neverDownloaded(upTo: .max, limit: 60) { _ in true }
            }
    }
}

extension SyncEngine {
    /// Attaches a socket to an engine that is not running. Jobs that the engine starts, such as REST requests, are not
    /// executed.
    fileprivate func attach(_ socket: ProtocolSocket) {
        dropSocket()
        connection.signedIn("token")
        _ = connection.handle(.stop, at: .now, random: 0)
        _ = connection.handle(.start, at: .now, random: 0)
        _ = connection.willOpen()
        guard case .opening(let number, _, _) = connection.state else { return }
        socketOpened(number: number, socket: socket)
    }
}

private final class FailureList: Sendable {
    private let list = Mutex<[String]>([])
    func add(_ failure: String) { list.withLock { $0.append(failure) } }
    func take() -> [String] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}

/// A peer that sends nothing and discards all frames.
private final class SilentPeer: Sendable {
    private let server: any Channel

    init() async throws {
        server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
    }

    func connect() async throws -> any Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(FrameSink()) }
            }
            .connect(host: "127.0.0.1", port: server.localAddress?.port ?? 0)
            .get()
    }

    func close() async throws { try await server.close() }
}

private final class FrameSink: ChannelOutboundHandler {
    typealias OutboundIn = WebSocketFrame
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) { promise?.succeed() }
}
