// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

struct ConversationFeedTests {
    private func described(_ actions: [ConversationFeed.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .deliver(let changes): "deliver \(changes.map(\.position.rawValue))"
            case .deliverFromLog(let changes, _): "deliver from the log \(changes.map(\.position.rawValue))"
            case .openGap(let time): "open gap \(time)"
            case .closeGap: "close gap"
            case .read(let position): "read after \(position)"
            case .checkLater: "check later"
            case .checkArrival(let position, _, _): "check the arrival of \(position)"
            }
        }
    }

    @Test("a position expected from another log before the first read is missing after it")
    func expectedBeforeTheStart() {
        var feed = ConversationFeed()
        #expect(described([feed.expected(Position(6), since: Fixture.time(3))]) == ["check the arrival of 6"])
        #expect(feed.repairUnlessArrived(Position(6), since: Fixture.time(3)).isEmpty)
        #expect(described(feed.readElsewhere(to: Position(4))) == ["open gap \(Fixture.time(3))", "check later"])
        #expect(described(feed.repairIfBehind()) == ["read after \(Position(4))"])
    }

    @Test("a head seen before the first read is missing for a reader that stopped before it")
    func headsBeforeTheStart() {
        var feed = ConversationFeed()
        #expect(described([feed.headSeen(Position(13), since: Fixture.time(5))].compactMap(\.self)).isEmpty)
        #expect(described([feed.headSeen(Position(12), since: Fixture.time(7))].compactMap(\.self)).isEmpty)
        #expect(described(feed.readElsewhere(to: Position(10))) == ["open gap \(Fixture.time(5))", "check later"])
        #expect(described(feed.repairIfBehind()) == ["read after \(Position(10))"])
    }

    @Test("no position is missing for a reader that reached the head")
    func readFarEnough() {
        var feed = ConversationFeed()
        #expect(described([feed.headSeen(Position(13), since: Fixture.time(5))].compactMap(\.self)).isEmpty)
        #expect(feed.readElsewhere(to: Position(13)).isEmpty)
        #expect(described(feed.repairIfBehind()) == ["close gap"])
    }

    @Test("missing counts are read although no change is missing")
    func countsMissing() {
        var feed = ConversationFeed()
        _ = feed.readElsewhere(to: Position(4))
        #expect(described([feed.countsMissing()]) == ["check later"])
        #expect(described(feed.repairIfBehind()) == ["read after \(Position(4))"])
        let page = ChangePage(
            changes: [], head: Position(4),
            counts: [Fixture.ana: UserCounts(excluded: 1, hidden: 0, position: Position(4))])
        #expect(described(feed.repaired(page)) == ["close gap"])
        #expect(described(feed.repairIfBehind()) == ["close gap"])
    }
}
