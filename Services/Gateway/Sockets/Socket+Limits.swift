// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import NIOCore
import StrataModel
import StrataWire

/// Sockets whose clients ask for more than their session may (docs/conformance.md §1.10).
extension Socket {
    /// Whether the frame that has come is within the session's limit.
    var isAdmitted: Bool { home.services.limiter.admit(session: frameLimit.key) == nil }

    /// A frame beyond the limit is not worked on; a request is told so. Who pays no heed to that, and goes on as fast as before, is cut off.
    /// - Parameter frame: nil for one that has no answer.
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
