// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import FanOut
import NIOCore
import StrataModel
import StrataWire
import Sync

/// Output of packets. Each gets a head with the connection's next counter and a time. The time never decreases and is
/// never later than a change that the client still lacks.
extension Socket {
    /// Appends packets to those sent at the end of this turn.
    func send(_ rendering: Rendering, values: ReaderValues, stamp: Stamp) {
        guard isOpen, !isClosing, !rendering.tails.isEmpty else { return }
        let registry = registry
        if outbox.needsBuffer(for: rendering) { outbox.provide(registry.takeBuffer()) }
        var limit = registry.ceiling
        if let owed = registration.firstDeferredChangeTime { limit = min(limit ?? owed, owed) }
        if outbox.append(rendering, values: values, stamp: stamp, limit: limit, isTimeKnown: registry.clock != nil) {
            registry.scheduleFlush(of: self)
        }
        trace(rendering, values: values)
    }

    /// Sends packets that are rendered for this socket only.
    func sendTails(_ tails: [PacketTail], values: ReaderValues, stamp: Stamp) {
        send(Rendering(tails, in: home.services.answers), values: values, stamp: stamp)
    }

    /// Sends packets without counts.
    func sendRendering(_ rendering: Rendering, stamp: Stamp? = nil) {
        send(rendering, values: ReaderValues(reader: key.user, unread: 0, total: 0), stamp: stamp ?? registry.stamp())
    }

    /// Sends one packet without counts.
    func sendTail(_ tail: PacketTail, stamp: Stamp? = nil) {
        sendTails([tail], values: ReaderValues(reader: key.user, unread: 0, total: 0), stamp: stamp ?? registry.stamp())
    }

    /// Sends a packet, or drops it if the socket has a backlog or its client has made no request yet.
    func sendDroppable(_ tail: PacketTail, stamp: Stamp) {
        if case .waiting = phase { return }
        guard OutgoingBuffer.admitsEphemeral(isWritable: isWritable) else {
            home.services.metrics.ephemeralsDropped.increment()
            return
        }
        sendTail(tail, stamp: stamp)
    }

    // MARK: Catch-ups

    /// The number of bytes that a catch-up sends in one turn, before the loop handles other events.
    private static let replayTurnBytes = 256 << 10

    /// Sends items read from the logs, as far as the channel accepts them and up to the limit for one turn. Call it on
    /// the loop.
    /// - Parameter stampLimit: the latest time that the packets may carry. nil: no limit.
    /// - Returns: the index of the first unsent item. Await ``drained()`` before the next call.
    func sendReplay(_ items: [ReplayItem], from start: Int, stampLimit: Timestamp? = nil) -> Int {
        var (index, count) = (start, 0)
        while index < items.count, isOpen, isWritable, count < Self.replayTurnBytes {
            let before = outbox.turnBytes
            guard sendReplayItem(items[index], at: index, stampLimit: stampLimit) else { break }
            count += outbox.turnBytes - before
            index += 1
            if outbox.turnBytes > 64 * 1024 { flush() }
        }
        return isOpen ? index : items.count
    }

    /// - Returns: false if the item must first be rendered outside the loop.
    private func sendReplayItem(_ item: ReplayItem, at index: Int, stampLimit: Timestamp?) -> Bool {
        let ready: Rendering?
        if item.isLong {
            guard let ahead = catchUps.ahead, ahead.isOf(index: index, attempt: catchUps.schedule.attempt),
                let rendering = ahead.rendering
            else {
                catchUps.ahead = RenderingAhead(attempt: catchUps.schedule.attempt, index: index, item: item)
                return false
            }
            ready = rendering
            catchUps.ahead = nil
        } else {
            ready = nil
        }
        let time = item.createdAt ?? outbox.lastStamp
        outbox.replayReached(time, limit: [membership.waitingSince, stampLimit].compactMap(\.self).min())
        switch item {
        case .change(let change): answer(from: change)
        case .conversation(let view, let change):
            answer(from: change, showing: view)
            registry.watchPresence(of: view.conversation.participants, by: self)
        case .conversationNow(let view, _): registry.watchPresence(of: view.conversation.participants, by: self)
        case .userChange: break
        }
        sendRendering(ready ?? rendered(item), stamp: Stamp(time))
        return true
    }

    private func rendered(_ item: ReplayItem) -> Rendering {
        let renderer = home.services.renderer
        let tails =
            switch item {
            case .change(let change):
                // If the change added the user to a conversation unknown to the client, the conversation is sent
                // instead.
                renderer.tails(
                    for: change,
                    variant: Variant(
                        of: change, for: key.user, version: version, includesCounts: false, knowsConversation: true))
            case .conversation(let view, let change):
                renderer.conversationCreated(view, for: key.user, version: version, at: change.position)
            case .conversationNow(let view, let position):
                renderer.conversationCreated(view, for: key.user, version: version, at: position)
            case .userChange(let change): renderer.tails(for: change, version: version)
            }
        return Rendering(tails, in: home.services.answers)
    }

    /// Renders the item that ``sendReplay(_:from:stampLimit:)`` found too long. It waits for room in the answer
    /// budget, because it answers no request.
    @concurrent
    func renderAhead() async throws {
        guard let asked = try await registry.loop.submit({ self.catchUps.ahead }).get(), asked.rendering == nil else {
            return
        }
        while home.services.answers.isExceeded(by: 0) {
            try await Task.sleep(for: .milliseconds(.random(in: 50...150)))
        }
        let rendering = rendered(asked.item)
        try await registry.loop
            .submit {
                if self.catchUps.ahead?.isOf(index: asked.index, attempt: asked.attempt) == true {
                    self.catchUps.ahead?.rendering = rendering
                }
            }
            .get()
    }

    /// Sends the counts changed by a catch-up, once at its end.
    func sendSummary(_ summary: ReplayPlan.Summary) {
        let values = ReaderValues(reader: key.user, unread: summary.unread, total: summary.total)
        sendTails(
            [home.services.renderer.countsChanged(summary.id, at: summary.position)], values: values,
            stamp: registry.stamp())
    }
}

/// An item of a catch-up that is rendered outside the loop.
struct RenderingAhead: Sendable {
    let attempt: Int
    /// The index among the items that the catch-up is sending.
    let index: Int
    let item: ReplayItem
    var rendering: Rendering?

    func isOf(index: Int, attempt: Int) -> Bool { self.index == index && self.attempt == attempt }
}

extension ReplayItem {
    /// True if rendering the item would block the loop for long.
    fileprivate var isLong: Bool {
        switch self {
        case .change: false
        case .conversation(let view, _), .conversationNow(let view, _): view.isLong
        case .userChange(let change):
            switch change.content {
            case .conversationShown(let view?): view.isLong
            default: false
            }
        }
    }
}

extension ConversationView {
    /// The maximum size of metadata that is rendered on the loop, in bytes.
    private static let shortBytes = 32 << 10

    /// True if rendering the metadata takes long.
    var isLong: Bool {
        var room = Self.shortBytes
        return conversation.metadata.map { !$0.fits(&room) } ?? false
    }
}

extension MetadataTree {
    /// Returns true if keys and values take at most `room` bytes. It stops at that limit.
    fileprivate func fits(_ room: inout Int) -> Bool {
        for (key, value) in children {
            room -= key.utf8.count + 8
            switch value {
            case .text(let text): room -= text.utf8.count
            case .tree(let tree): if !tree.fits(&room) { return false }
            }
            if room < 0 { return false }
        }
        return true
    }
}
