// SPDX-License-Identifier: Apache-2.0

/// The planned events in order of time. Events with equal times are in planning order.
struct EventHeap {
    struct Event {
        let time: Int64
        let number: Int
        let label: Simulation.Label
        let body: () -> Void
        func precedes(_ other: Event) -> Bool { time != other.time ? time < other.time : number < other.number }
    }

    private var events: [Event] = []
    var nextTime: Int64? { events.first?.time }

    mutating func insert(_ event: Event) {
        events.append(event)
        var place = events.count - 1
        while place > 0, event.precedes(events[(place - 1) / 2]) {
            events.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() -> Event? {
        guard let first = events.first, let last = events.popLast() else { return nil }
        guard !events.isEmpty else { return first }
        events[0] = last
        var place = 0
        while true {
            var least = place
            for child in (2 * place + 1)...(2 * place + 2)
            where child < events.count && events[child].precedes(events[least]) { least = child }
            guard least != place else { return first }
            events.swapAt(place, least)
            place = least
        }
    }
}
