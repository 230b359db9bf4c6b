// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing

@testable import Gateway

struct HeadsWatchTests {
    private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    @Test("no packet is stamped much later than the last comparison")
    func limit() {
        var watch = HeadsWatch(timing: FanOutTiming())
        #expect(watch.woke(at: at(0), wallClock: Fixture.time(0)) == Fixture.time(20))
        #expect(watch.woke(at: at(1), wallClock: Fixture.time(1)) == nil)
        #expect(watch.begin(at: at(15)) == true)
        #expect(watch.begin(at: at(15)) == false)
        #expect(
            watch.answered(asOf: Fixture.time(15), at: at(16))
                == HeadsWatch.Finding(missingSince: Fixture.time(-10), stampLimit: Fixture.time(40), missedBefore: nil))
        #expect(watch.begin(at: at(30)) == true)
        let finding = watch.answered(asOf: Fixture.time(30), at: at(30))
        #expect(finding == HeadsWatch.Finding(missingSince: Fixture.time(15), stampLimit: Fixture.time(55), missedBefore: nil))
    }

    @Test("after a longer time without an answer than the service remembers those who were there before may miss more than it tells")
    func memory() {
        var watch = HeadsWatch(timing: FanOutTiming())
        _ = watch.woke(at: at(0), wallClock: Fixture.time(0))
        _ = watch.begin(at: at(10))
        #expect(watch.answered(asOf: Fixture.time(10), at: at(10)).missedBefore == nil)
        _ = watch.begin(at: at(100))
        watch.failed()
        _ = watch.begin(at: at(121))
        #expect(watch.answered(asOf: Fixture.time(121), at: at(121)).missedBefore == at(11))
        // Nobody was there: nobody can have missed anything.
        watch.slept()
        _ = watch.woke(at: at(900), wallClock: Fixture.time(900))
        _ = watch.begin(at: at(910))
        #expect(watch.answered(asOf: Fixture.time(910), at: at(910)).missedBefore == nil)
        // Nor is the first question answered for longer than that.
        watch.slept()
        _ = watch.woke(at: at(1000), wallClock: Fixture.time(1000))
        _ = watch.begin(at: at(1030))
        #expect(watch.answered(asOf: Fixture.time(1030), at: at(1030)).missedBefore == at(1005))
    }
}
