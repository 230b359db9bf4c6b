// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// A collector for the operations of an `update`, which it splits into several packets if necessary. The packets have
/// no gaps.
struct UpdatePackets: ~Copyable {
    private let renderer: Renderer
    private let target: PacketBuilder.Target
    private let place: PacketBuilder.Place
    private var packet: PacketBuilder
    private var isEmpty = true
    private var tails: [PacketTail] = []

    init(renderer: Renderer, for target: PacketBuilder.Target, at place: PacketBuilder.Place) {
        self.renderer = renderer
        self.target = target
        self.place = place
        packet = PacketBuilder(renderer)
        packet.beginChange("update", of: target, at: place)
        packet.writer.beginArray()
    }

    mutating func addOperation(_ body: (inout PacketBuilder) -> Void) {
        let end = packet.writer.count
        body(&packet)
        if !isEmpty, packet.writer.count > renderer.packetBytes {
            let operation = packet.cut(after: end)
            endPacket()
            packet.element(operation)
        }
        isEmpty = false
    }

    private mutating func endPacket() {
        packet.writer.endArray()
        tails.append(packet.finish(.change))
        packet = PacketBuilder(renderer)
        packet.beginChange("update", of: target, at: place)
        packet.writer.beginArray()
    }

    /// Returns the packets: at least one, possibly without operations.
    consuming func finish() -> [PacketTail] {
        packet.writer.endArray()
        return tails + [packet.finish(.change)]
    }
}
