// SPDX-License-Identifier: Apache-2.0

import Foundation
import KitClient
import LocalServers
import ProtocolClient
import SeededRandom
import StrataCommand
import TestCluster
import TestSupport

/// A device of a user: the folder of its store, and the process of its app, which may be killed at any moment and is
/// restarted.
actor KitDevice {
    /// The requests from outside, which the device handles between its own changes.
    private struct Orders {
        var isOver = false
        /// Work to do while the process is down.
        var whileDown: (@Sendable (KitDevice) async -> Void)?
        var actions: [KitCommand.Action] = []
        var isSignedIn = false
    }

    nonisolated let name: String
    nonisolated let library: KitLibrary
    nonisolated let user: TestUser
    nonisolated let folder: String
    nonisolated let proxy: CuttingProxy
    nonisolated let clock: MovableClock?
    /// True if the process ends itself at random boundaries of its store.
    private let dies: Bool
    private let plan: KitPlan
    private let place: String
    private let orders = ObservedState(Orders())
    private var generator: SeededGenerator
    private var process: KitProcess?
    private var processes = 0
    private var number = 0
    private(set) var story = KitStory()

    /// - Parameter disk: the disk of the store; nil: among the other test files.
    init(
        _ name: String, _ library: KitLibrary, _ user: TestUser, _ plan: KitPlan, seed: UInt64, dies: Bool,
        hasClock: Bool, disk: SmallDisk?
    ) async throws {
        (self.name, self.library, self.user, self.plan, self.dies) = (name, library, user, plan, dies)
        generator = SeededGenerator(seed: seed)
        let directory = try TestDirectory.make("kit-\(name)")
        folder = disk.map { "\($0.path)/\(name)" } ?? "\(directory)/store"
        place = "\(directory)/process"
        clock = hasClock ? try MovableClock() : nil
        proxy = try await CuttingProxy.start(to: user.app.system.urls.compactMap { URLComponents(string: $0)?.port })
    }

    // MARK: Control

    /// Makes changes until ``finish()``, and restarts the process whenever it has ended.
    func work() async throws {
        while !orders.change({ $0.isOver }), !Task.isCancelled {
            try await run { await self.makeChange() }
            await doWhatIsToBeDoneWhileDown()
        }
    }

    /// Ends ``work()`` after its current change.
    nonisolated func finish() { orders.change { $0.isOver = true } }

    nonisolated func isSignedIn() async -> Bool {
        await orders.first(within: Waiting.limit) { $0.isSignedIn ? true : nil } ?? false
    }

    /// Requests an additional change.
    nonisolated func order(_ action: KitCommand.Action) { orders.change { $0.actions.append(action) } }

    /// Kills the process, and runs `body` before the next one is started.
    func interrupt(_ body: @escaping @Sendable (KitDevice) async -> Void) {
        orders.change { $0.whileDown = body }
        process?.kill()
    }

    /// Marks the records that a damage of the store's file made unreadable.
    func noteDamage(lost: [String]) {
        for index in story.records.indices
        where story.records[index].marks.contains(where: { mark in lost.contains { $0.contains(mark) } }) {
            story.records[index].isUnreadable = true
        }
    }

    /// Waits until no change is pending and the store equals the server's state.
    /// - Returns: the remaining differences at the deadline.
    func settle(until deadline: ContinuousClock.Instant) async throws -> [String] {
        var differences = ["\(name) was not asked"]
        // A process that ends in the meantime is restarted: the last one may still have had a boundary.
        while .now < deadline, !differences.isEmpty {
            try await run(untilSettled: true) { [self] in
                differences = await compare()
                if !differences.isEmpty { try? await Task.sleep(for: .milliseconds(50)) }
                return !differences.isEmpty && .now < deadline
            }
        }
        story.rebuilt += rebuiltStores()
        await proxy.close()
        return differences.map { "\(name): \($0)" }
    }

    private func rebuiltStores() -> Int {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return names.count { $0.hasSuffix(".damaged") }
    }

    /// The end of the error output of the last process.
    var log: String { LogTail.last(12, of: "\(place)-\(processes).log") }

    // MARK: One process

    /// Starts a process, and uses it while `body` returns true and the process lives.
    private func run(untilSettled isLast: Bool = false, _ body: () async -> Bool) async throws {
        processes += 1
        // Choose boundaries of all magnitudes: the first ones are in the opening of the store. A change has fewer
        // system calls in strata.js than statements in StrataKit.
        let magnitudes = library == .strataKit ? 0.0...12 : 0...8
        let boundary = dies && !isLast ? Int(pow(2, Double.random(in: magnitudes, using: &generator))) : nil
        let settings = KitClientSettings(
            app: user.app.id, server: "http://127.0.0.1:\(proxy.port)", folder: folder, lastBoundary: boundary)
        let process = try await KitProcess.start(
            library, settings, place: "\(place)-\(processes)", wrapper: clock?.wrapper ?? [])
        self.process = process
        var isGoing = await hasStarted(process)
        while isGoing { isGoing = await body() }
        if process.wasKilled { story.kills += 1 }
        process.kill()
        await readTheRest(of: process)
        if process.hasCrashed { story.faults.append("\(name): a process crashed: \(log)") }
        self.process = nil
    }

    private func readTheRest(of process: KitProcess) async {
        while let next = await process.next(within: Waiting.limit) {
            guard case .report(let report) = next else { return }
            note(report)
        }
        story.faults.append("\(name): a killed process did not end")
    }

    private func hasStarted(_ process: KitProcess) async -> Bool {
        while let next = await process.next(within: Waiting.limit) {
            switch next {
            case .report(.started(let signedIn)):
                guard signedIn == nil else { return true }
                return await signIn()
            case .report(let report): note(report)
            case .end:
                // The start may fail, for example because the disk is full.
                try? await Task.sleep(for: .milliseconds(50))
                return false
            }
        }
        story.faults.append("\(name): a process did not start")
        return false
    }

    private func signIn() async -> Bool {
        guard let nonce = try? await user.client.nonce(deadline: Waiting.deadline),
            let token = try? await user.app.identityToken(user.user, nonce: nonce)
        else { return false }
        return await ask(.signIn(token: token)) != nil
    }

    private func doWhatIsToBeDoneWhileDown() async {
        guard let body = orders.change({ orders in orders.whileDown.take() }) else { return }
        await body(self)
    }

    // MARK: Commands

    /// Makes one change.
    /// - Returns: true if the process lives and should continue.
    private func makeChange() async -> Bool {
        orders.change { $0.isSignedIn = true }
        let ordered = orders.change { $0.actions.isEmpty ? nil : $0.actions.removeFirst() }
        let action = ordered ?? plan.action(of: name, number: number + 1, knowing: story.records, &generator)
        guard await ask(action) != nil else { return false }
        try? await Task.sleep(for: .milliseconds(generator.int(plan.pause)))
        return !orders.change { $0.isOver } && !Task.isCancelled
    }

    /// Sends a command and waits for its report.
    /// - Returns: the report; nil if the process has ended.
    private func ask(_ action: KitCommand.Action) async -> KitReport? {
        guard let process else { return nil }
        number += 1
        let asked = number
        let index = story.records.count
        story.records.append(KitRecord(device: name, user: user.user, number: asked, action: action))
        do {
            return try await process.execute(KitCommand(number: asked, action: action)) { report in
                switch report {
                case .begins(asked, let objects): story.records[index].objects = objects
                case .accepted(asked, let objects):
                    story.records[index].objects = objects
                    story.records[index].outcome = .accepted
                case .thrown(asked, _): story.records[index].outcome = .thrown
                default: note(report)
                }
            }
        } catch {
            story.faults.append("\(name): \(error)")
            return nil
        }
    }

    private func note(_ report: KitReport) {
        switch report {
        case .failed(let operation, let conversation, let messages, let error):
            story.failures.append(
                KitFailure(
                    device: name, operation: operation, conversation: conversation, messages: messages, error: error))
        case .notOpened(let error): story.notOpened.append("\(name): \(error)")
        case .storeFailed: story.storeFailures += 1
        default: break
        }
    }

    private func compare() async -> [String] {
        guard case .state(_, let pending, let objects)? = await ask(.state) else {
            return ["it did not tell its state"]
        }
        if pending > 0 { return ["\(pending) changes are pending"] }
        do { return try await KitComparison.differences(of: objects, from: user) } catch { return ["\(error)"] }
    }
}
