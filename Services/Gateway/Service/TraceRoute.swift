// SPDX-License-Identifier: Apache-2.0
import FanOut
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceKit
import StrataModel
import StrataWire

/// `GET /trace?app=…&user=…&seconds=…` on the admin port: the packets of one user's sockets on this gateway as they go,
/// one JSON object on each line. The request carries a ``ServiceKit/TraceCode``.
struct TraceRoute: Sendable {
    let traces: TraceRegistry
    let clusterSecret: String

    /// The maximum duration of a trace, in seconds.
    private static let longest = 600

    func respond(to request: Request) -> Response {
        let trace: PacketTrace
        do {
            trace = try begin(request)
        } catch {
            return Self.refusal(error)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"],
            body: ResponseBody { [traces] writer in
                defer { traces.end(trace) }
                try await request.body.consumeWithInboundCloseHandler { _ in
                    while let entries = await trace.next() {
                        for entry in entries {
                            try await writer.write(entry.line)
                            trace.written(entry)
                        }
                    }
                } onInboundClosed: {
                    traces.end(trace)
                }
                try await writer.finish(nil)
            })
    }

    private func begin(_ request: Request) throws(Failure) -> PacketTrace {
        let query = request.uri.queryParameters
        let (app, user, seconds) = (
            String(query["app"] ?? ""), String(query["user"] ?? ""), String(query["seconds"] ?? "")
        )
        let code = TraceCode(app: app, user: user, seconds: seconds, clusterSecret: clusterSecret)
        guard code.isValid(request.headers[.authorization]) else {
            throw Failure(.authenticationRequired, "The header authorization is missing or wrong.")
        }
        guard let appID = UUID(uuidString: app) else { throw .invalid("app", reason: "is not a UUID") }
        guard let userID = UserID(user) else { throw .invalid("user", reason: "is not a user id") }
        guard let duration = Int64(seconds), (1...Int64(Self.longest)).contains(duration) else {
            throw .invalid("seconds", reason: "must be 1 to \(Self.longest)")
        }
        let key = UserKey(app: AppID(rawValue: appID), user: userID)
        guard let trace = traces.begin(key, for: .seconds(duration)) else {
            throw Failure(.serviceUnavailable, "This gateway runs \(TraceRegistry.maximum) traces, the maximum.")
        }
        return trace
    }

    private static func refusal(_ failure: Failure) -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("error")
        writer.beginObject()
        writer.key("code")
        writer.string(failure.code.id)
        writer.key("message")
        writer.string(failure.message)
        if case .property(let field) = failure.detail {
            writer.key("field")
            writer.string(field)
        }
        writer.endObject()
        writer.endObject()
        return Response(
            status: HTTPResponse.Status(code: failure.code.status),
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: writer.buffer))
    }
}
