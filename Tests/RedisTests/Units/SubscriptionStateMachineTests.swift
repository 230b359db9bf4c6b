// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Redis

struct SubscriptionStateMachineTests {
    private func connected() -> SubscriptionStateMachine {
        var machine = SubscriptionStateMachine()
        #expect(machine.setRouting(.standalone) == [.open(0)])
        #expect(machine.linkOpened(0) == [])
        return machine
    }

    private func sent(_ machine: inout SubscriptionStateMachine, batch: Int = 100) -> [OutstandingCommands.Command] {
        machine.takeCommands(batch: batch).commands.map(\.command)
    }

    @Test(
        "a subscribed channel costs a slot of 20 bytes in the dictionary, which is at least three eighths full, beyond its name"
    )
    func memory() {
        let slot = MemoryLayout<String>.stride + MemoryLayout<SubscriptionStateMachine.Channel>.stride
        #expect(slot <= 20 && slot * 8 / 3 < 60)
    }

    @Test func subscribesOnceAndReportsTheConfirmation() {
        var machine = connected()
        #expect(machine.subscribe(["a", "b", "a"]) == [])
        #expect(machine.subscribe(["b"]) == [])
        #expect(sent(&machine) == [.subscribe(["a", "b"])])
        #expect(machine.subscribe(["a"]) == [])
        #expect(sent(&machine) == [])
        #expect(machine.subscribed("a", on: 0) == [.didConfirm("a")])
        #expect(machine.subscribed("b", on: 0) == [.didConfirm("b")])
        #expect(machine.subscribe(["a"]) == [])
        #expect(sent(&machine) == [])
    }

    @Test func wishesBeforeTheConnectionAskForOneAndAreSentWhenItOpens() {
        var machine = SubscriptionStateMachine()
        _ = machine.subscribe(["a"])
        #expect(machine.takeCommands(batch: 9).actions == [])
        #expect(machine.setRouting(.standalone) == [.open(0)])
        #expect(machine.takeCommands(batch: 9).actions == [.open(0)])
        #expect(machine.linkOpened(0) == [])
        #expect(sent(&machine) == [.subscribe(["a"])])
    }

    @Test func unsubscribesAndForgets() {
        var machine = connected()
        _ = machine.subscribe(["a"])
        _ = sent(&machine)
        _ = machine.subscribed("a", on: 0)
        _ = machine.unsubscribe(["a", "unknown"])
        #expect(sent(&machine) == [.unsubscribe(["a"])])
        #expect(machine.unsubscribed("a", on: 0) == [])
        #expect(machine.channels.isEmpty)
        #expect(!machine.links[0].outstanding.isEmpty, "the PING that follows is still to be answered")
        #expect(machine.pong(on: 0) == [])
        #expect(machine.links[0].outstanding.isEmpty)
    }

    @Test("a subscription withdrawn before it was sent leaves no trace")
    func withdrawnAtOnce() {
        var machine = connected()
        _ = machine.subscribe(["a"])
        _ = machine.unsubscribe(["a"])
        #expect(sent(&machine) == [])
        #expect(machine.channels.isEmpty)
    }

    @Test("a channel unsubscribed during its subscription ends after the answer")
    func unsubscribeWhilePending() {
        var machine = connected()
        _ = machine.subscribe(["a"])
        _ = sent(&machine)
        _ = machine.unsubscribe(["a"])
        #expect(sent(&machine) == [])
        #expect(machine.subscribed("a", on: 0) == [], "no caller wants to know")
        #expect(sent(&machine) == [.unsubscribe(["a"])])
        _ = machine.unsubscribed("a", on: 0)
        #expect(machine.channels.isEmpty)
    }

    @Test func wishesThatChangeBackAndForthSendNothing() {
        var machine = connected()
        _ = machine.subscribe(["a"])
        _ = sent(&machine)
        _ = machine.unsubscribe(["a"])
        _ = machine.subscribe(["a"])
        #expect(machine.subscribed("a", on: 0) == [.didConfirm("a")])
        _ = machine.unsubscribe(["a"])
        #expect(machine.subscribe(["a"]) == [.didConfirm("a")], "it never ceased to be subscribed")
        #expect(sent(&machine) == [])
        _ = machine.unsubscribe(["a"])
        #expect(sent(&machine) == [.unsubscribe(["a"])])
        _ = machine.subscribe(["a"])
        #expect(sent(&machine) == [])
        _ = machine.unsubscribed("a", on: 0)
        #expect(sent(&machine) == [.subscribe(["a"])])
        _ = machine.pong(on: 0)
        #expect(machine.subscribed("a", on: 0) == [.didConfirm("a")])
    }

    @Test func aLossIsReportedOnceAndMadeGoodWhenAllIsConfirmedAgain() {
        var machine = connected()
        _ = machine.subscribe(["a", "b", "c", "d"])
        _ = sent(&machine)
        for name in ["a", "b", "c"] { _ = machine.subscribed(name, on: 0) }
        _ = machine.unsubscribe(["c"])
        #expect(machine.linkLost(0) == [.didLoseConnection])
        #expect(machine.linkLost(0) == [])
        #expect(machine.channels["c"] == nil, "the server forgot it, and so do we")
        #expect(machine.takeCommands(batch: 9).actions == [.open(0)])
        _ = machine.subscribe(["e"])
        #expect(machine.linkOpened(0) == [])
        let commands = sent(&machine)
        guard case .subscribe(let names) = commands.first, commands.count == 1 else { return #expect(Bool(false)) }
        #expect(Set(names) == ["a", "b", "d", "e"])
        for name in names.dropLast() { #expect(machine.subscribed(name, on: 0) == [.didConfirm(name)]) }
        #expect(machine.isLost)
        let last = names[names.count - 1]
        #expect(machine.subscribed(last, on: 0) == [.didConfirm(last), .didRecover])
        #expect(!machine.isLost)
    }

    @Test func aLossIsMadeGoodWhenTheLastMissingChannelIsUnsubscribed() {
        var machine = connected()
        _ = machine.subscribe(["a", "b"])
        _ = machine.linkLost(0)
        _ = machine.linkOpened(0)
        _ = sent(&machine)
        _ = machine.subscribed("a", on: 0)
        _ = machine.subscribed("b", on: 0)
        #expect(!machine.isLost)
        _ = machine.linkLost(0)
        _ = machine.linkOpened(0)
        _ = machine.unsubscribe(["a"])
        #expect(machine.isLost)
        #expect(machine.unsubscribe(["b"]) == [.didRecover])
    }

    @Test func withoutChannelsTheConnectionIsEnough() {
        var machine = connected()
        #expect(machine.linkLost(0) == [.didLoseConnection])
        #expect(machine.linkOpened(0) == [.didRecover])
    }

    @Test("new subscriptions during a restoration do not delay the recovery")
    func newWishesDoNotDelayRecovery() {
        var machine = connected()
        _ = machine.subscribe(["a"])
        _ = machine.linkLost(0)
        _ = machine.linkOpened(0)
        _ = sent(&machine)
        _ = machine.subscribe(["b"])
        #expect(machine.subscribed("a", on: 0) == [.didConfirm("a"), .didRecover])
    }

    @Test func commandsAreBoundedInNumberAndBytes() {
        var machine = connected()
        _ = machine.subscribe((0..<25).map { "channel\($0)" })
        let counts = sent(&machine, batch: 10)
            .map { command in
                if case .subscribe(let names) = command { names.count } else { 0 }
            }
        #expect(counts == [10, 10, 5])
        let long = String(repeating: "x", count: 40_000)
        _ = machine.subscribe((0..<3).map { "\($0)\(long)" })
        #expect(sent(&machine, batch: 10).count == 3)
    }

    @Test func repliesWithoutACommandDropTheConnection() {
        var machine = connected()
        #expect(machine.subscribed("a", on: 0) == [.drop(0)])
        #expect(machine.pong(on: 0) == [.drop(0)])
        #expect(machine.refused(RedisServerError(text: "ERR"), on: 0) == [.drop(0)])
        #expect(machine.unsubscribed("a", on: 0) == [], "this one a server may say unasked")
        _ = machine.subscribe(["a", "b"])
        _ = sent(&machine)
        #expect(machine.subscribed("b", on: 0) == [.drop(0)], "answers come in order")
    }

    @Test func pingIsAnsweredInItsTurn() {
        var machine = connected()
        _ = machine.subscribe(["a"])
        _ = sent(&machine)
        machine.pingSent(on: 0)
        #expect(machine.pong(on: 0) == [.drop(0)])
        #expect(machine.subscribed("a", on: 0) == [.didConfirm("a")])
        #expect(machine.pong(on: 0) == [])
        #expect(machine.links[0].outstanding.isEmpty)
    }

    @Test func refusedSubscriptionsAreTriedAgainLater() {
        var machine = connected()
        let error = RedisServerError(text: "NOPERM no")
        _ = machine.subscribe(["a", "b"])
        _ = sent(&machine)
        _ = machine.unsubscribe(["b"])
        #expect(machine.refused(error, on: 0) == [.refreshTopology, .retryLater(error)])
        #expect(sent(&machine) == [], "not at once")
        #expect(machine.channels.keys.sorted() == ["a"])
        machine.retry()
        #expect(sent(&machine) == [.subscribe(["a"])])
    }

    @Test func waitsEndWhenAllChannelsAreConfirmedAtOnce() {
        var machine = connected()
        #expect(machine.wait(1, for: ["a"]) == [.waiterFailed(1)])
        _ = machine.subscribe(["a", "b", "c"])
        #expect(machine.wait(2, for: ["a", "b", "a"]) == [])
        #expect(machine.wait(3, for: ["c"]) == [])
        _ = sent(&machine)
        #expect(machine.subscribed("a", on: 0) == [.didConfirm("a")])
        _ = machine.linkLost(0)
        _ = machine.linkOpened(0)
        guard case .subscribe(let names) = sent(&machine).first else { return #expect(Bool(false)) }
        var satisfied: Set<String> = []
        for name in names {
            let actions = machine.subscribed(name, on: 0)
            satisfied.insert(name)
            #expect(actions.contains(.waiterSatisfied(2)) == (satisfied.isSuperset(of: ["a", "b"]) && name != "c"))
            #expect(actions.contains(.waiterSatisfied(3)) == (name == "c"))
        }
        #expect(machine.wait(4, for: ["a", "b"]) == [.waiterSatisfied(4)])
        #expect(machine.wait(5, for: []) == [.waiterSatisfied(5)])
    }

    @Test func waitsForAChannelFailWhenItIsUnsubscribed() {
        var machine = connected()
        _ = machine.subscribe(["a", "b"])
        _ = machine.wait(1, for: ["a", "b"])
        _ = machine.wait(2, for: ["b"])
        machine.stopWaiting(2)
        #expect(machine.unsubscribe(["b"]) == [.waiterFailed(1)])
        _ = sent(&machine)
        #expect(machine.subscribed("a", on: 0) == [.didConfirm("a")])
    }
}
