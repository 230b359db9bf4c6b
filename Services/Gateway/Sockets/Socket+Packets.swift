// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Model
import NIOCore
import Wire

/// Writing packets: each gets its own head, with the connection's next counter and a time that never goes back and never lies
/// beyond a change that is still owed.
extension Socket {
    /// Appends the packets to what leaves at the end of this turn.
    func send(_ tails: [PacketTail], values: ReaderValues, stamp: Stamp) {
        guard isOpen, !isClosing, !tails.isEmpty else { return }
        let stamp = allowed(stamp)
        if outbox.readableBytes == 0 {
            outbox = hub.takeBuffer()
            hub.touched(self)
        }
        outbox.writePackets(tails, counter: sequence.counter, timestamp: stamp.text, values: values)
        sequence.sent(tails.count, stamp: stamp.time)
    }

    /// One packet without numbers.
    func send(_ tail: PacketTail, stamp: Stamp = Stamp(.now())) {
        send([tail], values: ReaderValues(reader: key.user, unread: 0, total: 0), stamp: stamp)
    }

    /// Something nobody misses: dropped for a socket that does not keep up, or that has not asked for anything yet.
    func sendEphemeral(_ tail: PacketTail, stamp: Stamp) {
        if case .waiting = phase { return }
        guard OutgoingQueue.admitsEphemeral(isWritable: isWritable) else {
            hub.services.metrics.ephemeralsDropped.increment()
            return
        }
        send(tail, stamp: stamp)
    }

    /// The latest time that may be shown now.
    private func allowed(_ stamp: Stamp) -> Stamp {
        let limit = sequence.allowed(stamp.time, ceiling: hub.ceiling)
        return limit == stamp.time ? stamp : Stamp(limit)
    }

    // MARK: Catch-ups

    /// Sends what was read from the logs, as far as the channel takes it. On the loop.
    /// - Returns: the index of the first item that was not sent.
    func sendReplay(_ items: [ReplayItem], from start: Int) -> Int {
        var index = start
        while index < items.count, isOpen, isWritable {
            send(items[index])
            index += 1
            if outbox.readableBytes > 64 * 1024 { flush() }
        }
        return isOpen ? index : items.count
    }

    private func send(_ item: ReplayItem) {
        let renderer = hub.services.renderer
        let time = item.createdAt ?? sequence.lastStamp
        sequence.floor = min(max(sequence.floor ?? time, time), membership.waitingSince ?? .distantFuture)
        let stamp = Stamp(time)
        switch item {
        case .change(let change):
            answer(from: change)
            let variant = Variant(of: change, for: key.user, version: version, includesNumbers: false)
            send(renderer.tails(for: change, variant: variant), values: ReaderValues(reader: key.user, unread: 0, total: 0), stamp: stamp)
        case .conversation(let view, let change):
            answer(from: change, showing: view)
            hub.meet(view.conversation.participants, self)
            send(renderer.created(view, for: key.user, version: version, at: change.position), stamp: stamp)
        case .conversationNow(let view, let position):
            hub.meet(view.conversation.participants, self)
            send(renderer.created(view, for: key.user, version: version, at: position), stamp: stamp)
        case .userChange(let change):
            send(
                renderer.tails(for: change, version: version), values: ReaderValues(reader: key.user, unread: 0, total: 0), stamp: stamp)
        }
    }

    /// The numbers a catch-up changed, told once, when it has ended.
    func sendSummary(_ summary: OwedLog.Summary) {
        let values = ReaderValues(reader: key.user, unread: summary.unread, total: summary.total)
        send([hub.services.renderer.numbersChanged(summary.id, at: summary.position)], values: values, stamp: Stamp(.now()))
    }
}
