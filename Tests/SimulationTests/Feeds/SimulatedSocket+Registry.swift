// SPDX-License-Identifier: Apache-2.0
import StrataModel
import StrataWire

@testable import FanOut
@testable import Gateway
@testable import Sync

/// The calls of the real registry to a socket.
extension SimulatedSocket: RegisteredSocket {
    var isCreatingConversation: Bool { false }

    func deliver(_ delivery: Delivery, as rendering: Rendering, values: ReaderValues, stamp: Stamp) {
        let (id, position) = (world.log.index(of: delivery.change.conversationID), delivery.change.position)
        send(.change(id, position, SentPackets.counts(in: rendering, values)), stamp: stamp.time)
    }

    func send(_ rendering: Rendering, values: ReaderValues, stamp: Stamp) {
        for tail in rendering.tails {
            let body = SentPackets.body(of: tail, values)
            if let position = body?["user_position"]?.integerValue {
                send(own(body, at: Position(position)), stamp: stamp.time)
            } else if let position = body?["position"]?.integerValue,
                let counts = SentPackets.counts(in: rendering, values),
                let id = body?["object"]?["id"]?.stringValue.flatMap({ ConversationID(parsing: $0) })
            {
                world.counts["numbers after a repair", default: 0] += 1
                if world.scenario.sabotage == .noNumbersAfterRepair { continue }
                send(.numbers(world.log.index(of: id), at: Position(position), counts), stamp: stamp.time)
            } else {
                world.simulation.violated("a packet was sent that nobody knows")
            }
        }
    }

    private func own(_ body: JSONValue?, at position: Position) -> SimulatedPipe.Content {
        guard let id = body?["object"]?["id"]?.stringValue.flatMap({ ConversationID(parsing: $0) }) else {
            return .own(position)
        }
        let index = world.log.index(of: id)
        if body?["operation"]?.stringValue == "delete" {
            return body?["data"]?["from_position"]?.integerValue == nil ? .ownHidden(position, index) : .own(position)
        }
        guard case .conversationShown(.some) = world.log.own[user][Int(position.rawValue) - 1].content else {
            return .own(position)
        }
        let data = body?["data"]
        // An entry read from the log contains the conversation's state at the time of the read, not at the time of the
        // restore.
        let view = Position(data?["position"]?.integerValue ?? 1)
        let counts = LogService.Counts(
            unread: data?["unread_message_count"]?.integerValue, total: data?["total_message_count"]?.integerValue)
        guard world.scenario.hasCounts else { return .ownShown(position, index, view: view, nil) }
        return .ownShown(
            position, index, view: world.log.position(of: counts, in: index, since: view, for: user), counts)
    }

    func sendEphemeral(_ tail: PacketTail, presenceOf user: UserID?, stamp: Stamp) {
        if phase == .waiting { return }
        guard OutgoingBuffer.admitsEphemeral(isWritable: pipe.isWritable) else {
            world.counts["ephemerals dropped", default: 0] += 1
            return
        }
        send(.signal, stamp: stamp.time)
    }

    func membershipChanged(_ event: MembershipEvent) {
        switch event {
        case .left(let id, let record):
            let index = world.log.index(of: id)
            world.simulation.note(
                .init(what: "left: socket, conversation, position", a: number, b: index, c: record.position.rawValue))
            schedule.membership.left(id, record: record)
        case .canRejoin: perform(schedule.startLateJoins(at: moment) { registration.isIn($0) })
        case .returns(let id, let position):
            perform(schedule.join([id: position], at: moment) { registration.isIn($0) })
        case .added(let id, let position):
            let known = registration.position(in: id)
            perform(schedule.added(to: id, since: position, known: known, at: moment) { registration.isIn($0) })
        }
    }

    func end(_ reason: RegisteredSocketEnd) {
        world.counts["sent away", default: 0] += 1
        close()
    }

    func upkeep(turn: Int) {}
}
