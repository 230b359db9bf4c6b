// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import NIOCore
import StrataModel
import StrataWire

/// The handling of frames over the session's rate limit (docs/conformance.md §1.10).
extension Socket {
    /// Counts a received frame. True if it is within the session's rate limit.
    var isAdmitted: Bool { home.services.limiter.admit(session: frameLimit.key) == nil }

    /// Refuses a frame over the rate limit and answers its request with an error. A client that continues at the same
    /// rate is disconnected.
    /// - Parameter frame: the frame. nil if it needs no answer.
    func refuseFrame(_ frame: ByteBuffer?) {
        guard let limit = home.services.limiter.limits.session else { return }
        if frameLimit.refuse(limit, at: .now) { return close(.protocolAbuse) }
        guard let frame else { return }
        let packet: ClientPacket
        do {
            packet = try ClientPacket(parsing: frame)
        } catch {
            home.services.metrics.malformedFrames.increment()
            return close(.unreadable(error))
        }
        switch packet {
        case .typing(_, _, let id): if let id { refuseRequest(ClientPacket.Request(id: id, method: "")) }
        case .refused(let id, let method, _): refuseRequest(ClientPacket.Request(id: id, method: method))
        case .dropped: break
        case .request(let request): refuseRequest(request)
        }
    }

    private func refuseRequest(_ packet: ClientPacket.Request) {
        let request = requests.numbered(packet)
        requests.refused(request)
        respond(to: request, .failure(.rateLimited))
    }
}
