// SPDX-License-Identifier: Apache-2.0
import Foundation
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("synchronization with the server")
struct SyncMachineTests {
    private typealias Action = SyncMachine.Action

    private var machine = SyncMachine()
    private let now = ContinuousClock.now
    private let chat = ConversationID.test(1)
    private let fresh = SyncCursor()
    private let known = SyncCursor(timestamp: "t1", epoch: "first", userPosition: 4, generation: 1, listing: nil)
    private let listing = SyncCursor(timestamp: "t1", epoch: "first", userPosition: 0, generation: 1, listing: .init())

    private mutating func replay(
        _ isSuccess: Bool = true, isComplete: Bool = true, epoch: String? = "first",
        at time: ContinuousClock.Instant? = nil, random: Double = 0
    ) -> [Action] {
        machine.replayAnswered(
            isSuccess: isSuccess, isComplete: isComplete, epoch: epoch, timestamp: "t2", cursor: known, at: time ?? now,
            random: random)
    }

    /// Makes the machine live, with nothing to load.
    private mutating func goLive() {
        _ = machine.socketOpened(known, answered: [], history: [])
        _ = replay()
        _ = machine.nextActions(for: known, at: now)
    }

    @Test("the first synchronization loads a baseline and the lists, and reports its end once", .proves("SYNC-2"))
    mutating func firstLoad() {
        #expect(machine.socketOpened(fresh, answered: [], history: []) == [.publish(.began), .askToGoLive])
        #expect(!machine.isLive && !machine.keepsTime)
        #expect(machine.nextActions(for: fresh, at: now).isEmpty)
        let actions = machine.baselineAnswered(isSuccess: true, timestamp: "t1", cursor: fresh, at: now)
        #expect(actions == [.beginListing(epoch: nil, timestamp: "t1")])
        let loads: [SyncLoad] = [
            .conversations(next: nil), .identities(next: nil), .announcements(next: nil), .blocks(next: nil),
        ]
        #expect(machine.nextActions(for: listing, at: now) == loads.map { .load($0) })
        for load in loads { machine.loaded(load) }
        #expect(machine.nextActions(for: known, at: now) == [.publish(.finished)])
        #expect(machine.nextActions(for: known, at: now).isEmpty)
    }

    @Test("a refused baseline ends the connection")
    mutating func noBaseline() {
        _ = machine.socketOpened(fresh, answered: [], history: [])
        #expect(machine.baselineAnswered(isSuccess: false, timestamp: nil, cursor: fresh, at: now) == [.reconnect])
    }

    @Test(
        "reconnecting replays from the last time and ends changes that were answered earlier",
        .proves("SYNC-2", "SYNC-73", "OFF-8"))
    mutating func comingBack() {
        let answered: Set = [UUID()]
        #expect(
            machine.socketOpened(known, answered: answered, history: []) == [
                .publish(.began), .askForReplay(from: "t1"),
            ])
        #expect(!machine.keepsTime)
        #expect(replay() == [.keepTime("t2"), .finish(answered)])
        #expect(machine.isLive && machine.keepsTime)
        #expect(machine.nextActions(for: known, at: now) == [.publish(.finished)])
    }

    @Test("a failed replay is repeated with the same time, after less than 30 seconds", arguments: [0, 0.999])
    mutating func failedReplay(_ random: Double) throws {
        _ = machine.socketOpened(known, answered: [], history: [])
        var time = now
        for _ in 1...8 {
            #expect(replay(false, at: time, random: random).isEmpty)
            let deadline = try #require(machine.deadline)
            #expect(deadline > time && deadline < time + 30)
            #expect(machine.timerDue(at: time).isEmpty)
            time = deadline
            #expect(machine.timerDue(at: time) == [.askForReplay(from: "t1")])
            #expect(machine.timerDue(at: time).isEmpty)
        }
        #expect(replay(at: time).first == .keepTime("t2"))
    }

    @Test(
        "a log that begins too late, and a new epoch, require a full reload", .proves("SYNC-73"),
        arguments: [(false, "first"), (true, "second"), (false, "second")])
    mutating func everything(_ isComplete: Bool, _ epoch: String) {
        _ = machine.socketOpened(known, answered: [UUID()], history: [])
        #expect(replay(isComplete: isComplete, epoch: epoch) == [.beginListing(epoch: epoch, timestamp: "t2")])
        #expect(machine.isLive)
    }

    @Test("a replay without an epoch, or with the first one, is no new epoch")
    mutating func noEpoch() {
        _ = machine.socketOpened(known, answered: [], history: [])
        #expect(replay(epoch: nil) == [.keepTime("t2"), .finish([])])
    }

    @Test("a new epoch in a loaded object restarts the synchronization and discards running loads")
    mutating func epochInObject() {
        goLive()
        _ = machine.stored(SyncFindings(unknownConversations: [chat]), cursor: known, at: now)
        var findings = SyncFindings()
        findings.epochHasChanged = true
        #expect(machine.stored(findings, cursor: known, at: now) == [.beginListing(epoch: nil, timestamp: "t1")])
        #expect(machine.packets(since: .conversation(chat)) == nil)
    }

    @Test("an interrupted listing continues after a replay", .proves("SYNC-73"))
    mutating func resumedListing() {
        var cursor = listing
        cursor.listing?.nextConversations = "/conversations?page=3"
        cursor.listing?.hasIdentities = true
        _ = machine.socketOpened(cursor, answered: [], history: [])
        #expect(machine.nextActions(for: cursor, at: now).isEmpty)
        _ = replay()
        #expect(
            machine.nextActions(for: cursor, at: now) == [
                .load(.conversations(next: "/conversations?page=3")), .load(.announcements(next: nil)),
                .load(.blocks(next: nil)),
            ])
    }

    @Test("loads wait for the replay after a loss, and only wanted ones continue", .proves("SYNC-64"))
    mutating func lost() {
        goLive()
        _ = machine.stored(SyncFindings(unknownConversations: [chat]), cursor: known, at: now)
        machine.lost()
        #expect(!machine.isLive && machine.packets(since: .conversation(chat)) == nil)
        #expect(machine.nextActions(for: known, at: now).isEmpty)
        #expect(
            machine.socketOpened(known, answered: [], history: [.test(2), .test(1)]) == [.askForReplay(from: "t1")])
        _ = replay()
        #expect(machine.nextActions(for: known, at: now) == [.load(.history(.test(2))), .load(.history(.test(1)))])
    }

    @Test("a load while live is reported as a separate synchronization")
    mutating func laterLoad() {
        goLive()
        let actions = machine.stored(SyncFindings(unknownConversations: [chat]), cursor: known, at: now)
        #expect(actions == [.publish(.began), .load(.conversation(chat))])
        machine.loaded(.conversation(chat))
        #expect(machine.nextActions(for: known, at: now) == [.publish(.finished)])
    }

    @Test("packets during a load are applied again after it, in order")
    mutating func packets() {
        goLive()
        machine.remember([1])
        _ = machine.stored(SyncFindings(unknownConversations: [chat]), cursor: known, at: now)
        machine.remember([2])
        machine.remember([3])
        #expect(machine.packets(since: .conversation(chat)) == [2, 3])
        machine.loaded(.conversation(chat))
        #expect(machine.packets(since: .conversation(chat)) == nil)
    }

    @Test("an object that the server does not show is deleted and blocks nothing", .proves("SYNC-64"))
    mutating func refused() {
        goLive()
        var findings = SyncFindings(unknownConversations: [chat])
        findings.historyWanted = [.test(2)]
        _ = machine.stored(findings, cursor: known, at: now)
        let refusal = RequestFailure.permanent(StrataError(.unknown, "404"), nil)
        #expect(machine.loadFailed(.conversation(chat), failure: refusal, at: now, random: 0) == [.forget(chat)])
        #expect(
            machine.loadFailed(.history(.test(2)), failure: refusal, at: now, random: 0) == [.abandonHistory(.test(2))])
        #expect(machine.loadFailed(.history(.test(2)), failure: refusal, at: now, random: 0).isEmpty)
        #expect(machine.nextActions(for: known, at: now) == [.publish(.finished)])
    }

    @Test("a list that cannot be continued starts again; one that fails at its first page is retried later")
    mutating func refusedList() {
        var cursor = listing
        cursor.listing?.nextConversations = "/conversations?page=3"
        _ = machine.socketOpened(cursor, answered: [], history: [])
        _ = replay()
        _ = machine.nextActions(for: cursor, at: now)
        let refusal = RequestFailure.permanent(StrataError(.unknown, "404"), nil)
        let page = SyncLoad.conversations(next: "/conversations?page=3")
        #expect(machine.loadFailed(page, failure: refusal, at: now, random: 0) == [.restartList(page)])
        #expect(machine.loadFailed(.identities(next: nil), failure: refusal, at: now, random: 0).isEmpty)
        #expect(machine.nextActions(for: listing, at: now) == [.load(.conversations(next: nil))])
        #expect(machine.deadline != nil)
    }

    @Test("a load that failed temporarily is retried, and the end is reported afterwards", .proves("SYNC-64"))
    mutating func failedLoad() throws {
        goLive()
        var findings = SyncFindings()
        findings.historyWanted = [chat, .test(2)]
        _ = machine.stored(findings, cursor: known, at: now)
        #expect(
            machine.loadFailed(
                .history(chat), failure: .transient(.network("lost"), retryAfter: nil), at: now, random: 0
            )
            .isEmpty)
        machine.loaded(.history(.test(2)))
        #expect(machine.nextActions(for: known, at: now).isEmpty)
        let deadline = try #require(machine.deadline)
        #expect(machine.nextActions(for: known, at: deadline) == [.load(.history(chat))])
        #expect(machine.deadline == nil)
        #expect(machine.nextActions(for: known, at: deadline).isEmpty)
        machine.loaded(.history(chat))
        #expect(machine.nextActions(for: known, at: deadline) == [.publish(.finished)])
    }
}
