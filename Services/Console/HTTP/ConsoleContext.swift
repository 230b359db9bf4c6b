// SPDX-License-Identifier: Apache-2.0
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import StrataModel

/// The context of one request, filled in by middlewares for later middlewares and routes.
struct ConsoleContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The peer's IP address; empty if the peer has none.
    let peer: String
    /// The client's IP address, from ``AddressMiddleware``: the peer's, or the one that trusted proxies name.
    var address: String
    /// The session, from ``SessionMiddleware``.
    var session: OperatorSession?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.channel.remoteAddress?.ipAddress ?? ""
        address = peer
    }
}

/// The context of a route that requires a session.
struct OperatorContext: ChildRequestContext {
    var coreContext: CoreRequestContextStorage
    let session: OperatorSession
    let address: String

    /// - Throws: an error if no earlier middleware set the session.
    init(context: ConsoleContext) throws {
        guard let session = context.session else { throw Refusal.signedOut }
        coreContext = context.coreContext
        self.session = session
        address = context.address
    }

    /// Returns the id in the path.
    /// - Throws: `not_found` for a text that is not a valid id.
    func id<ID: ObjectID>(_ name: String, _: ID.Type = ID.self, what: String) throws(Failure) -> ID {
        guard let text = parameters.get(name), let id = ID(parsing: text.removingPercentEncoding ?? text) else {
            throw .notFound(what)
        }
        return id
    }

    var app: AppID {
        get throws(Failure) { try id("app", what: "app") }
    }

    /// The id of the user in the path.
    var user: UserID {
        get throws(Failure) {
            guard let user = parameters.get("user")?.removingPercentEncoding.flatMap({ UserID($0) }) else {
                throw .notFound("user")
            }
            return user
        }
    }
}

/// The address of a request's client.
enum ClientAddress {
    /// Returns the address that the outermost trusted proxy saw. Each proxy appends the address of its peer, so it is
    /// at position `proxies` from the end. The client may have forged all earlier entries.
    /// - Parameters:
    ///   - forwarded: all values of `X-Forwarded-For`, in order.
    ///   - proxies: the number of trusted proxies.
    static func client(peer: String, forwarded: [String], proxies: Int) -> String {
        let hops = forwarded.flatMap { $0.split(separator: ",") }
        guard proxies > 0, let hop = hops.suffix(proxies).first else { return peer }
        let text = String(hop.filter { $0 != " " && $0 != "\t" })
        return (try? SocketAddress(ipAddress: text, port: 0))?.ipAddress ?? peer
    }
}
