// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import StrataModel
import StrataWire
import Sync

extension Socket: RegisteredSocket {
    func deliver(_ delivery: Delivery, as rendering: Rendering, values: ReaderValues, stamp: Stamp) {
        if let origin = delivery.change.origin, origin.connection == id { answer(from: delivery.change) }
        send(rendering, values: values, stamp: stamp)
    }

    func membershipChanged(_ event: MembershipEvent) {
        switch event {
        case .left(let id, let record): catchUps.schedule.membership.left(id, record: record)
        case .canRejoin: startLateJoins()
        case .returns(let id, let position): join([id: position])
        case .added(let id, let position): wasAdded(to: id, at: position)
        }
    }

    func end(_ reason: RegisteredSocketEnd) {
        switch reason {
        case .goingAway: close(.goingAway)
        case .sessionEnded: close(.sessionEnded)
        }
    }

    func upkeep(turn: Int) {
        let slot = Int(truncatingIfNeeded: id & 0xffff)
        if link.lastHeard + SocketLoop.silence < home.loop.now {
            releaseStatus()
            return close(.idle)
        }
        if (slot + turn) % SocketLoop.pingPeriod == 0 { ping() }
        if presence.isHeld, (slot + turn) % home.services.renewalPeriod.seconds == 0 { home.renewPresence(of: self) }
        if (slot + turn) % SocketLoop.sessionPeriod == 0 { home.checkSession(of: self) }
    }
}
