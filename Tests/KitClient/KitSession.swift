// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import StrataKit
import Synchronization

/// An app with one store. It executes commands and reports StrataKit's results.
package struct KitSession: Sendable {
    private let client: StrataClient
    private let actions: KitActions
    private let connects: Bool

    /// Opens the store, connects, and executes the commands from standard input until it ends.
    package static func start(_ settings: KitClientSettings) async throws {
        try await KitSession(settings).run(KitLines.commands())
    }

    /// Reports that the store could not be opened.
    package static func say(_ error: any Error) { KitLines.write(.notOpened(error: "\(error)")) }

    private init(_ settings: KitClientSettings) throws {
        guard let server = URL(string: settings.server) else {
            throw KitSessionError("server: \(settings.server) is no URL")
        }
        var options = StrataClient.Options(
            server: server, syncPolicy: .completeHistory,
            directory: URL(filePath: settings.folder, directoryHint: .isDirectory))
        if let last = settings.lastBoundary {
            let countdown = Countdown(last)
            options.storeBoundary = { countdown.pass() }
        }
        client = try StrataClient(appID: settings.app, options: options)
        actions = KitActions(client, folder: settings.folder)
        connects = settings.connects
    }

    private func run(_ commands: AsyncStream<KitCommand>) async throws {
        let events = client.events
        let user = await client.authenticatedUser?.userID?.rawValue
        KitLines.write(.started(user: user))
        if user != nil { try await report(client.unconfirmedFailures()) }
        if connects { try await client.connect() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await event in events { await report(event) } }
            for await command in commands { await carryOut(command) }
            group.cancelAll()
        }
    }

    /// Reports and then confirms failures. If the process ends in between, they are reported again.
    private func report(_ failures: [OperationFailure]) async throws {
        for failure in failures {
            KitLines.write(
                .failed(
                    operation: failure.operation, conversation: failure.conversation?.layerID,
                    messages: failure.messages.map(\.layerID),
                    error: failure.error.description))
        }
        try await client.confirmFailures(failures)
    }

    private func report(_ event: ClientEvent) async {
        switch event {
        // A failure that cannot be confirmed, because the disk is full, is reported again.
        case .operationFailed(let failure): try? await report([failure])
        case .storeFailed(let error): KitLines.write(.storeFailed(error: error.description))
        default: break
        }
    }

    private func carryOut(_ command: KitCommand) async {
        let number = command.number
        do {
            if case .state = command.action {
                // Read the pending changes first: a change that is no longer pending is in the objects.
                let pending = await client.pendingChangeCount
                return KitLines.write(
                    .state(number: number, pending: pending, objects: try await KitComparison.objects(of: client)))
            }
            let objects = try await actions.execute(command.action) {
                KitLines.write(.begins(number: number, objects: $0))
            }
            KitLines.write(.accepted(number: number, objects: objects))
        } catch {
            KitLines.write(.thrown(number: number, error: "\(error)"))
        }
    }
}

/// A failure to execute a command for reasons other than an error of StrataKit.
struct KitSessionError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Ends the process at the last of a given number of boundaries.
private final class Countdown: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) { left = Atomic(count) }

    func pass() { if left.subtract(1, ordering: .relaxed).newValue == 0 { kill(getpid(), SIGKILL) } }
}

/// A limit for the size of files that this process writes. It simulates a full disk.
enum FileSizeLimit {
    static func set(room: Int?, beyond folder: String) throws {
        let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { throw KitSessionError("getrlimit failed: \(errno)") }
        limit.rlim_cur = room.map { rlim_t(largestFile(below: folder) + $0) } ?? limit.rlim_max
        guard setrlimit(resource, &limit) == 0 else { throw KitSessionError("setrlimit failed: \(errno)") }
    }

    private static func largestFile(below folder: String) -> Int {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return
            names.map { name in
                ((try? FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)"))?[.size] as? NSNumber)?
                    .intValue ?? 0
            }
            .max() ?? 0
    }
}
