// SPDX-License-Identifier: Apache-2.0

import KitClient
import LocalServers
import ProtocolClient
import TestCluster
import TestSupport

/// A device in a history: the process of a client, whose connections go through a proxy that cuts them.
final class KitHistoryDevice {
    let name: String
    let library: KitLibrary
    let proxy: CuttingProxy
    /// The messages of which the client reported that the server refused them.
    private(set) var refused: Set<String> = []
    private let app: TestApp
    private let directory: String
    private var isOnline = true
    private var process: KitProcess?
    private var processes = 0
    private var commands = 0

    /// Starts the client of a user, and signs the user in.
    /// - Parameter gateway: the number of the gateway.
    init(_ name: String, _ library: KitLibrary, of app: TestApp, via gateway: Int) async throws {
        (self.name, self.library, self.app) = (name, library, app)
        proxy = try await KitUser.proxy(of: app, via: gateway)
        directory = try TestDirectory.make("history")
        try await start()
        let nonce = try await app.system.client(gateway).nonce(deadline: Waiting.deadline)
        _ = try await execute(.signIn(token: try await app.identityToken(name, nonce: nonce)))
    }

    private func start() async throws {
        processes += 1
        let settings = KitClientSettings(
            app: app.id, server: "http://127.0.0.1:\(proxy.port)", folder: "\(directory)/store", connects: isOnline)
        let process = try await KitProcess.start(library, settings, place: "\(directory)/process-\(processes)")
        self.process = process
        while let next = await process.next(within: Waiting.limit) {
            switch next {
            case .report(.started): return
            case .report(let report): note(report)
            case .end: throw ended
            }
        }
        throw KitProblem("\(name): the process did not start")
    }

    private var ended: KitProblem {
        KitProblem("\(name): the process has ended: \(LogTail.last(12, of: "\(directory)/process-\(processes).log"))")
    }

    private func note(_ report: KitReport) {
        if case .failed(_, _, let messages, _) = report { refused.formUnion(messages) }
    }

    private func ask(_ action: KitCommand.Action) async throws -> KitReport {
        commands += 1
        let report = try await process?.execute(KitCommand(number: commands, action: action)) { note($0) }
        guard let report else { throw ended }
        return report
    }

    /// Executes an action.
    /// - Returns: the ids of the objects concerned.
    /// - Throws: an error if the library refuses, for example because the device does not know the conversation.
    func execute(_ action: KitCommand.Action) async throws -> [String] {
        switch try await ask(action) {
        case .accepted(_, let objects): return objects
        case let report: throw KitProblem("\(report)")
        }
    }

    /// Returns the number of pending changes, and the objects of the store.
    func state() async throws -> (pending: Int, objects: [JSONValue]) {
        guard case .state(_, let pending, let objects) = try await ask(.state) else {
            throw KitProblem("\(name): it did not tell its state")
        }
        return (pending, objects)
    }

    // MARK: Connections

    func toggle() async throws {
        _ = try await execute(isOnline ? .disconnect : .connect)
        isOnline.toggle()
    }

    func restart() async throws {
        await end()
        try await start()
    }

    private func end() async {
        process?.kill()
        while case .report(let report)? = await process?.next(within: Waiting.limit) { note(report) }
        process = nil
    }

    /// Gives the client working connections again.
    func comeBack() async throws {
        // Connections that have lost answers are unusable.
        proxy.cut()
        // The delay between two tries of strata.js grows to a minute. A page that is shown again ends it.
        if isOnline, library == .strataJS { try await toggle() }
        if !isOnline { try await toggle() }
    }

    func close() async {
        await end()
        await proxy.close()
    }
}
