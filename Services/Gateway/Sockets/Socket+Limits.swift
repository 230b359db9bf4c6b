// SPDX-License-Identifier: Apache-2.0
import CoreMetrics
import Model
import NIOCore
import Wire

/// Sockets whose clients ask for more than their session may (spec 1.10).
extension Socket {
    /// Whether the frame that has come is within the session's limit.
    var isAdmitted: Bool { hub.services.limiter.admit(session: rateKey) == nil }

    /// A frame beyond the limit is not worked on; a request is told so. Who pays no heed to that, and goes on as fast as before, is cut off.
    /// - Parameter frame: nil for one that has no answer.
    func refuse(_ frame: ByteBuffer?) {
        guard let limit = hub.services.limiter.limits.session else { return }
        let now = ContinuousClock.now
        var left = patience ?? TokenBucket(limit, at: now)
        let isAbuse = left.take(limit, at: now) != nil
        patience = left
        if isAbuse { return close(.protocolAbuse) }
        guard let frame else { return }
        let packet: ClientPacket
        do {
            packet = try ClientPacket(parsing: frame)
        } catch {
            hub.services.metrics.malformedFrames.increment()
            return close(.unreadable(error))
        }
        switch packet {
        case .typing(_, _, let id): if let id { refuse(ClientPacket.Request(id: id, method: "")) }
        case .refused(let id, let method, _): refuse(ClientPacket.Request(id: id, method: method))
        case .dropped: break
        case .request(let request): refuse(request)
        }
    }

    private func refuse(_ request: ClientPacket.Request) { respond(to: SocketRequest(number: 0, packet: request), .failure(.rateLimited)) }
}
