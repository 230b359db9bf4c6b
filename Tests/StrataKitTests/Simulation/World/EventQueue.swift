// SPDX-License-Identifier: Apache-2.0

/// The future events by time. Events with equal times are in insertion order.
struct EventQueue {
    private struct Event {
        var time: Int64
        var number: Int
        var work: () -> Void

        func comes(before other: Event) -> Bool { (time, number) < (other.time, other.number) }
    }

    private var heap: [Event] = []
    private var lastNumber = 0

    var isEmpty: Bool { heap.isEmpty }
    var nextTime: Int64? { heap.first?.time }

    mutating func add(at time: Int64, _ work: @escaping () -> Void) {
        lastNumber += 1
        heap.append(Event(time: time, number: lastNumber, work: work))
        var place = heap.count - 1
        while place > 0, heap[place].comes(before: heap[(place - 1) / 2]) {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func takeFirst() -> (time: Int64, work: () -> Void)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.time, first.work)
    }

    private mutating func sink() {
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < heap.count && heap[child].comes(before: heap[least]) { least = child }
            guard least != place else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
