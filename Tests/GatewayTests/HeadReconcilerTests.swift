// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import FanOut
@testable import Gateway

struct HeadReconcilerTests {
    private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    @Test("the first socket finds the time unknown, and changes found missing happened since the previous comparison")
    func comparison() {
        var reconciler = HeadReconciler(timing: FanOutTiming())
        #expect(reconciler.firstSocketOpened(at: at(0)) == true)
        #expect(reconciler.firstSocketOpened(at: at(1)) == false)
        #expect(reconciler.begin(at: at(15)) == true)
        #expect(reconciler.begin(at: at(15)) == false)
        #expect(
            reconciler.answered(asOf: Fixture.time(15), at: at(16))
                == HeadReconciler.Finding(missingSince: Fixture.time(-10), missedBefore: nil))
        #expect(reconciler.begin(at: at(30)) == true)
        let finding = reconciler.answered(asOf: Fixture.time(30), at: at(30))
        #expect(finding == HeadReconciler.Finding(missingSince: Fixture.time(15), missedBefore: nil))
    }

    @Test("after a silence longer than the service's memory, existing sockets may miss more than heads show")
    func memory() {
        var reconciler = HeadReconciler(timing: FanOutTiming())
        _ = reconciler.firstSocketOpened(at: at(0))
        _ = reconciler.begin(at: at(10))
        #expect(reconciler.answered(asOf: Fixture.time(10), at: at(10)).missedBefore == nil)
        _ = reconciler.begin(at: at(100))
        reconciler.failed()
        _ = reconciler.begin(at: at(121))
        #expect(reconciler.answered(asOf: Fixture.time(121), at: at(121)).missedBefore == at(11))
        // Without open sockets, nothing can be missed.
        reconciler.lastSocketClosed()
        _ = reconciler.firstSocketOpened(at: at(900))
        _ = reconciler.begin(at: at(910))
        #expect(reconciler.answered(asOf: Fixture.time(910), at: at(910)).missedBefore == nil)
        // The first comparison covers only the last 25 s.
        reconciler.lastSocketClosed()
        _ = reconciler.firstSocketOpened(at: at(1000))
        _ = reconciler.begin(at: at(1030))
        #expect(reconciler.answered(asOf: Fixture.time(1030), at: at(1030)).missedBefore == at(1005))
    }

    @Test("a clock set forward hides earlier changes, so existing sockets may miss more than heads show")
    func leap() {
        var reconciler = HeadReconciler(timing: FanOutTiming())
        _ = reconciler.firstSocketOpened(at: at(0))
        for (second, shown, isMissed) in [(10, 10, false), (20, 79, false), (30, 150, true), (40, 160, false)]
            as [(Int64, Int64, Bool)]
        {
            _ = reconciler.begin(at: at(second))
            #expect(
                reconciler.answered(asOf: Fixture.time(shown), at: at(second)).missedBefore
                    == (isMissed ? at(second) : nil), "\(second)")
        }
    }
}
