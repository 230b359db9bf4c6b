// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import TestSupport

/// The faults of a ``VirtualNetwork``: delays, losses, partitions and resets. The type is independent of clocks and
/// interfaces.
struct FaultModel {
    enum Fate {
        case arrives(afterMilliseconds: Double)
        case lost
        /// The packet's sender is notified that the connection has ended.
        case reset(Reset)
    }

    /// A packet that notifies a host that a connection has ended.
    struct Reset {
        let target: UInt32
        let packet: [UInt8]
    }

    /// The place of a fault. With a port it applies only to connections from or to that port.
    struct Place: Hashable {
        let one: VirtualNetwork.Address
        /// The other address; nil: any.
        let other: VirtualNetwork.Address?
        let port: UInt16?

        func concerns(_ packet: Packet) -> Bool {
            let (source, target) = (packet.source, packet.target)
            guard source == one.bits || target == one.bits else { return false }
            if let other, source != other.bits && target != other.bits { return false }
            guard let port else { return true }
            return packet.flow.map { $0.sourcePort == port || $0.targetPort == port } ?? false
        }
    }

    /// The delay of every packet in milliseconds.
    private let latency: Double
    private var faults: [Place: VirtualNetwork.Fault] = [:]
    /// The next expected byte of each flow's source.
    private var expected: [Packet.Flow: UInt32] = [:]
    /// The connections that were reset. A peer that still sends on one of them is notified.
    private var doomed: Set<Packet.Flow> = []
    private var generator: SeededGenerator

    init(seed: UInt64, latency: Double = 0) {
        generator = SeededGenerator(seed: seed)
        self.latency = latency
    }

    mutating func set(_ fault: VirtualNetwork.Fault?, at place: Place) { faults[place] = fault }

    /// Resets every connection of `address`.
    /// - Returns: The reset packets for both ends of each connection.
    mutating func resetConnections(of address: VirtualNetwork.Address) -> [Reset] {
        let concerned = expected.filter { $0.key.source == address.bits || $0.key.target == address.bits }
        for flow in concerned.keys {
            doomed.insert(flow.connection)
            expected[flow] = nil
        }
        return concerned.map { Reset(target: $0.key.source, packet: Packet.reset(of: $0.key, expected: $0.value)) }
    }

    mutating func fate(of packet: Packet) -> Fate {
        if let flow = packet.flow {
            // A new connection may reuse the ports.
            if packet.isSYN { doomed.remove(flow.connection) }
            if doomed.contains(flow.connection) {
                return packet.expected.map {
                    .reset(Reset(target: flow.source, packet: Packet.reset(of: flow, expected: $0)))
                } ?? .lost
            }
            if packet.isReset {
                (expected[flow], expected[flow.reversed]) = (nil, nil)
            } else {
                expected[flow] = packet.expected ?? expected[flow]
            }
        }
        var delay = latency
        for (place, fault) in faults where place.concerns(packet) {
            if fault.isCut || (fault.loss > 0 && generator.chance(fault.loss)) { return .lost }
            delay += fault.delay.lowerBound
            let jitter = fault.delay.upperBound - fault.delay.lowerBound
            if jitter > 0 { delay += jitter * Double(generator.int(0...1000)) / 1000 }
        }
        return .arrives(afterMilliseconds: delay)
    }
}
