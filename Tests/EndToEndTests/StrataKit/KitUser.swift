// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import StrataKit
import TestCluster
import TestSupport
import TestTiers
import Testing

struct KitUser: Sendable {
    let name: String
    let client: StrataClient

    /// Returns a client with its own store, not connected and without a user.
    static func client(
        of app: TestApp, _ name: String, policy: SyncPolicy = .unreadOnly, via gateway: Int = 0, folder: URL? = nil,
        content: ContentOptions = .init(), proxy: CuttingProxy? = nil
    ) throws -> StrataClient {
        let folder = try folder ?? Self.folder(name)
        let address = proxy.map { "http://127.0.0.1:\($0.port)" } ?? app.system.client(gateway, .v3).baseURL
        guard let server = URL(string: address) else { throw KitProblem("\(address) is no URL") }
        return try StrataClient(
            appID: app.id, options: .init(server: server, syncPolicy: policy, directory: folder, content: content))
    }

    static func folder(_ name: String) throws -> URL { URL(filePath: try TestDirectory.make("kit-\(name)")) }

    /// Signs a user in on a new device and connects.
    static func signIn(
        _ name: String, to app: TestApp, policy: SyncPolicy = .unreadOnly, via gateway: Int = 0, folder: URL? = nil,
        connects: Bool = true,
        content: ContentOptions = .init(), proxy: CuttingProxy? = nil
    ) async throws -> KitUser {
        let client = try client(
            of: app, name, policy: policy, via: gateway, folder: folder, content: content, proxy: proxy)
        let user = KitUser(name: name, client: client)
        let events = user.client.events
        if connects { try await user.client.connect() }
        let nonce = try await user.client.requestAuthenticationNonce()
        try await user.client.authenticate(identityToken: try await app.identityToken(name, nonce: nonce))
        if connects { try await Self.finished(events) }
        return user
    }

    /// Waits until synchronization is complete.
    static func finished(_ events: AsyncStream<ClientEvent>) async throws {
        try await within("the synchronization finishes") {
            for await event in events { if case .synchronizationFinished = event { return } }
            throw KitProblem("the client has ended")
        }
    }

    /// Connects and waits until missed changes are fetched.
    func connect() async throws {
        let events = client.events
        try await client.connect()
        try await Self.finished(events)
    }

    var id: UserID { UserID(trusted: name) }

    /// Waits until a condition on the store is true, checking it after each batch of changes.
    func until(_ what: String, _ condition: @escaping @Sendable (StrataClient) async throws -> Bool) async throws {
        let changes = client.objectChanges
        if try await condition(client) { return }
        try await within("\(name): \(what)") { [client] in
            for await _ in changes { if try await condition(client) { return } }
            throw KitProblem("the client has ended")
        }
    }

    /// Waits until the device holds no content. A file is removed after the change that makes it unnecessary, and the
    /// removal has no event.
    func diskIsEmpty() async throws {
        try await within("\(name): the content leaves the disk") { [client] in
            // Ends when the time limit cancels it.
            while await client.currentDiskUtilization > 0 { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    /// Returns the texts of a conversation on this device, in order.
    func texts(in conversation: ConversationID) async throws -> [String] {
        try await client.messages(in: conversation).map { $0.parts.first?.text ?? "" }
    }

    func sees(_ texts: [String], in conversation: ConversationID) async throws {
        try await until("sees \(texts)") { client in
            try await client.messages(in: conversation).map { $0.parts.first?.text ?? "" } == texts
        }
    }

    func isIdle() async throws {
        try await eventually("\(name) has nothing to send") { await client.pendingChangeCount == 0 }
    }
}

func within(_ what: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(until: Waiting.deadline, clock: .continuous)
            throw KitProblem("\(what) did not happen in time")
        }
        defer { group.cancelAll() }
        try await group.next()
    }
}

struct KitProblem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
