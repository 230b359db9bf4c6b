// SPDX-License-Identifier: Apache-2.0

/// The identifier of a request in a pool. It is never reused.
struct RequestID: Hashable, Sendable {
    let slot: Int
    let generation: UInt32
}

/// The requests of a pool in slots. Each slot can be in one doubly linked list, so that removal takes constant time.
struct RequestTable<Payload: Sendable, Waiter: Sendable>: Sendable {
    enum Phase: Equatable, Sendable {
        case free
        /// Reserved, but not yet submitted.
        case reserved(cancelled: Bool)
        /// Waiting for any worker.
        case queued
        /// Waiting for the worker that rolled back its group and runs the members individually.
        case held(worker: Int)
        /// Sent. Only its worker can answer it.
        case sent(worker: Int, cancelled: Bool)
    }

    struct Slot: Sendable {
        var generation: UInt32 = 0
        var phase = Phase.free
        var payload: Payload?
        var waiter: Waiter?
        var deadline = ContinuousClock.now
        var bytes = 0
        var lockKey: UInt64?
        var user: UInt64?
        var attempts = 0
        fileprivate(set) var previous = -1
        fileprivate(set) var next = -1
    }

    struct List: Sendable {
        fileprivate(set) var head = -1
        fileprivate(set) var tail = -1
        fileprivate(set) var count = 0
        var isEmpty: Bool { count == 0 }
    }

    private(set) var slots: [Slot] = []
    private var free: [Int] = []

    subscript(slot: Int) -> Slot {
        get { slots[slot] }
        _modify { yield &slots[slot] }
    }

    mutating func reserve() -> RequestID {
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = slots.count
            slots.append(Slot())
        }
        slots[slot].phase = .reserved(cancelled: false)
        return RequestID(slot: slot, generation: slots[slot].generation)
    }

    /// Returns the slot of a request that has not been answered yet.
    func slot(of id: RequestID) -> Int? {
        slots.indices.contains(id.slot) && slots[id.slot].generation == id.generation ? id.slot : nil
    }

    func id(of slot: Int) -> RequestID { RequestID(slot: slot, generation: slots[slot].generation) }

    /// Empties a slot that is in no list, and returns its contents.
    mutating func release(_ slot: Int) -> (payload: Payload?, waiter: Waiter?) {
        let contents = (slots[slot].payload, slots[slot].waiter)
        slots[slot].payload = nil
        slots[slot].waiter = nil
        slots[slot].lockKey = nil
        slots[slot].phase = .free
        slots[slot].generation &+= 1
        free.append(slot)
        return contents
    }

    mutating func append(_ slot: Int, to list: inout List) {
        slots[slot].previous = list.tail
        slots[slot].next = -1
        if list.tail >= 0 { slots[list.tail].next = slot } else { list.head = slot }
        list.tail = slot
        list.count += 1
    }

    mutating func prepend(_ slot: Int, to list: inout List) {
        slots[slot].previous = -1
        slots[slot].next = list.head
        if list.head >= 0 { slots[list.head].previous = slot } else { list.tail = slot }
        list.head = slot
        list.count += 1
    }

    mutating func remove(_ slot: Int, from list: inout List) {
        let (previous, next) = (slots[slot].previous, slots[slot].next)
        if previous >= 0 { slots[previous].next = next } else { list.head = next }
        if next >= 0 { slots[next].previous = previous } else { list.tail = previous }
        list.count -= 1
    }
}
