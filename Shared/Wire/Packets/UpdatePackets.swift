// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Collects the operations of an `update` into one packet, or, if they are too much for that, into several. None of them leaves a gap.
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

    /// Appends what `body` writes, one operation.
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

    /// The packets: at least one, which may hold nothing.
    consuming func finish() -> [PacketTail] {
        packet.writer.endArray()
        return tails + [packet.finish(.change)]
    }
}
