// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

@testable import DatabaseKit

@Suite struct AppPlacesTests {
    private let app = AppID.random()
    private let start = ContinuousClock.now

    private func time(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test("an unknown app is asked for, and a known one needs a valid list of departures")
    func leases() {
        var places = AppPlaces(count: 2)
        #expect(places.place(of: app, at: time(0)) == .needsState)
        places.found(app, in: 1)
        #expect(places.place(of: app, at: time(0)) == .needsDepartures(1))
        places.departuresRead(.init(), of: 0, askedAt: time(0))
        #expect(places.place(of: app, at: time(0)) == .needsDepartures(1))
        places.departuresRead(.init(), of: 1, askedAt: time(0))
        #expect(places.place(of: app, at: time(0.999)) == .lives(1))
        #expect(places.place(of: app, at: time(1)) == .needsDepartures(1))
    }

    @Test(
        "an app that is paused, has moved or is about to arrive is asked for again",
        arguments: ["paused", "moved", "arriving"])
    func departed(state: String) throws {
        var places = AppPlaces(count: 2)
        places.found(app, in: 0)
        places.departuresRead(
            .init(states: [app: try #require(AppPlaces.State(rawValue: state))]), of: 0, askedAt: time(0))
        #expect(places.place(of: app, at: time(0.5)) == .needsState)
        places.found(app, in: 1)
        places.departuresRead(.init(), of: 1, askedAt: time(0.5))
        #expect(places.place(of: app, at: time(0.6)) == .lives(1))
    }

    @Test("another app's departure changes nothing")
    func others() {
        var places = AppPlaces(count: 1)
        places.found(app, in: 0)
        places.departuresRead(.init(states: [.random(): .moved]), of: 0, askedAt: time(0))
        #expect(places.place(of: app, at: time(0.5)) == .lives(0))
    }

    @Test("the answer to an earlier question does not replace that to a later one")
    func order() {
        var places = AppPlaces(count: 1)
        places.found(app, in: 0)
        places.departuresRead(.init(states: [app: .paused]), of: 0, askedAt: time(0.2))
        places.departuresRead(.init(), of: 0, askedAt: time(0.1))
        #expect(places.place(of: app, at: time(0.3)) == .needsState)
    }

    @Test("of two databases that have an app, the one in which it arrived last serves it")
    func restored() {
        var places = AppPlaces(count: 3)
        places.found(app, in: 0)
        let arrivals = [(1, 5), (2, 9)]
        for (database, at) in arrivals {
            let departures = AppPlaces.Departures(arrivals: [app: Timestamp(microseconds: Int64(at))])
            places.departuresRead(departures, of: database, askedAt: time(0))
        }
        places.departuresRead(.init(), of: 0, askedAt: time(0))
        #expect(places.place(of: app, at: time(0.5)) == .lives(2))
    }
}
