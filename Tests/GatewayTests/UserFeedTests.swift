// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

struct UserFeedTests {
    private func entry(_ position: Int64) -> UserChange {
        UserChange(
            appID: Fixture.app, user: Fixture.ana, position: Position(position), createdAt: Fixture.time(position),
            content: .obsolete)
    }

    private func text(_ actions: [UserFeed.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .deliver(let change): "deliver \(change.position)"
            case .openGap: "open gap"
            case .closeGap: "close gap"
            case .read(let position): "read after \(position)"
            case .checkLater: "check later"
            }
        }
    }

    @Test("in-order entries are delivered, repeated ones are not")
    func order() {
        var feed = UserFeed()
        #expect(text(feed.changePublished(entry(1))) == [])
        #expect(text(feed.readElsewhere(to: Position(4))) == [])
        #expect(feed.last == Position(4))
        #expect(text(feed.changePublished(entry(5))) == ["deliver 5"])
        #expect(text(feed.changePublished(entry(5))) == [])
        #expect(text(feed.readElsewhere(to: Position(9))) == [])
        #expect(feed.last == Position(5))
    }

    @Test("an entry that arrives before the sequence starts is read at the start, if it is later")
    func early() {
        var feed = UserFeed()
        #expect(text(feed.changePublished(entry(6))) == [])
        #expect(text(feed.changePublished(entry(5))) == [])
        #expect(text(feed.readElsewhere(to: Position(4))) == ["open gap", "read after 4"])
        #expect(text(feed.repaired([entry(5), entry(6)])) == ["deliver 5", "deliver 6", "close gap"])
        var other = UserFeed()
        #expect(text(other.headSeen(Position(5), since: Fixture.time(0))) == [])
        #expect(text(other.readElsewhere(to: Position(5))) == [])
        #expect(text(other.headSeen(Position(5), since: Fixture.time(0))) == [])
    }

    @Test("a log is read until all known missing entries have arrived, over any number of pages")
    func pages() {
        var feed = UserFeed()
        _ = feed.readElsewhere(to: .zero)
        #expect(text(feed.changePublished(entry(5))) == ["open gap", "read after 0"])
        #expect(text(feed.headSeen(Position(6), since: Fixture.time(0))) == ["open gap"])
        #expect(text(feed.repaired([entry(1), entry(2)])) == ["deliver 1", "deliver 2", "read after 2"])
        #expect(text(feed.repairFailed()) == ["check later"])
        #expect(text(feed.repairIfBehind()) == ["read after 2"])
        #expect(
            text(feed.repaired([entry(3), entry(4), entry(5), entry(6)])) == [
                "deliver 3", "deliver 4", "deliver 5", "deliver 6", "close gap",
            ])
    }

    @Test("reading a log that was restored to an older state ends")
    func putBack() {
        var feed = UserFeed()
        _ = feed.readElsewhere(to: .zero)
        #expect(text(feed.headSeen(Position(3), since: Fixture.time(0))) == ["open gap", "read after 0"])
        #expect(text(feed.repaired([])) == ["close gap"])
    }
}
