// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import FanOut
@testable import Gateway

struct MembershipTests {
    private let id = Fixture.conversation
    private let shown = Fixture.time(0)

    private func ready(_ membership: inout Membership, isIn: Bool = false) -> Position? {
        membership.takeReady { _ in isIn }[id]
    }

    @Test("an addition of a user is new only once")
    func once() {
        var membership = Membership()
        #expect(membership.added(to: id, at: Position(5), known: Position(7), shown: shown) == false)
        #expect(membership.added(to: id, at: Position(5), known: nil, shown: shown) == true)
        #expect(membership.awaits(id))
        #expect(ready(&membership) == .zero)
        #expect(membership.pending == [id])
        membership.left(id, record: LeaveRecord(position: Position(9), seenUpTo: .zero))
        #expect(membership.added(to: id, at: Position(5), known: nil, shown: shown) == false)
    }

    @Test("a duplicate notice does not remove a later one when the socket leaves")
    func twice() {
        var membership = Membership()
        _ = membership.added(to: id, at: Position(5), known: nil, shown: shown)
        _ = ready(&membership)
        // Repeat the addition while the catch-up runs.
        _ = membership.added(to: id, at: Position(5), known: nil, shown: shown)
        membership.attached(id, at: Position(6))
        #expect(ready(&membership) == nil)
        // The user was removed at 8 and added at 10, but the addition is received first.
        _ = membership.added(to: id, at: Position(10), known: Position(7), shown: shown)
        #expect(ready(&membership, isIn: true) == nil)
        membership.left(id, record: LeaveRecord(position: Position(8), seenUpTo: .zero))
        #expect(ready(&membership) == Position(8))
    }

    @Test("a joining catch-up starts where the user left, since they may have rejoined and left in between")
    func between() {
        var membership = Membership()
        membership.left(id, record: LeaveRecord(position: Position(8), seenUpTo: .zero))
        _ = membership.added(to: id, at: Position(20), known: nil, shown: shown)
        #expect(ready(&membership) == Position(8))
    }

    @Test("pending joins limit times to the one shown before; a replay resets this")
    func waiting() {
        var membership = Membership()
        membership.join(id, after: Position(3), shown: Fixture.time(1))
        _ = membership.added(to: id, at: Position(5), known: nil, shown: Fixture.time(2))
        #expect(membership.waitingSince == Fixture.time(1))
        #expect(ready(&membership) == Position(3))
        #expect(membership.waitingSince == nil)
        membership.putBack([id: Position(3)])
        #expect(ready(&membership) == Position(3))
        membership.join(id, after: Position(3), shown: Fixture.time(1))
        membership.reset()
        #expect(!membership.awaits(id))
        #expect(membership.waitingSince == nil)
    }
}
