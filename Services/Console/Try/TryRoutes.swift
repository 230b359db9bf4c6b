// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import StrataModel

/// Calls of the Client API that an operator makes with the session token of a user. The token is neither stored nor
/// recorded.
struct TryRoutes: ConsoleFeature {
    let client: InternalClient
    let gatewayURL: String
    let sockets: SocketTrial

    private struct Call: Decodable {
        let method: String
        let path: String
        let headers: [String: String]?
        let body: String?
        let session: String?
    }

    private struct Answer: Encodable {
        let status: Int
        let headers: [String: String]
        let body: String
        let milliseconds: Int
    }

    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    private static let allowed = Set(InternalClient.passedOn.map { $0.lowercased() })

    func add(to routes: ConsoleRoutes) {
        routes.change(.post, "/api/try") { request, _ in
            let call = try await request.json(Call.self)
            let path = try GatewayPath(call.path)
            guard Self.methods.contains(call.method) else { throw Failure.invalid("method", reason: "is unknown") }
            let headers = try Self.headers(call)
            return AuditedChange(
                action: "client_api", target: Self.hidingSecrets(in: path.path), detail: ["method": call.method]
            ) {
                try await send(call, to: path, headers: headers)
            }
        }
        routes.change(.post, "/api/try/socket") { request, _ in
            let trial = try await request.json(SocketTrial.Request.self)
            try trial.check()
            return AuditedChange(action: "client_socket", detail: ["frames": "\(trial.frames.count)"]) {
                .json(text: try await sockets.run(trial))
            }
        }
    }

    /// Returns a path without the tokens that `/sessions/:token`, `/content/uploads/:token` and
    /// `/content/downloads/:token` have.
    static func hidingSecrets(in path: String) -> String {
        var before: Substring = ""
        return path.split(separator: "/", omittingEmptySubsequences: false)
            .map { segment in
                defer { before = segment }
                return ["sessions", "uploads", "downloads"].contains(before) ? "…" : segment
            }
            .joined(separator: "/")
    }

    private static func headers(_ call: Call) throws(Failure) -> HTTPHeaders {
        var headers: HTTPHeaders = [:]
        for (name, value) in (call.headers ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard allowed.contains(name.lowercased()) else {
                throw .invalid("headers.\(name)", reason: "is not passed on to gateways")
            }
            guard HTTPField.isValidValue(value) else {
                throw .invalid("headers.\(name)", reason: "must not contain control characters")
            }
            headers.add(name: name, value: value)
        }
        if let session = call.session, !session.isEmpty {
            headers.add(name: "Authorization", value: "Layer session-token=\"\(try SessionText.checked(session))\"")
        }
        return headers
    }

    private func send(_ call: Call, to path: GatewayPath, headers: HTTPHeaders) async throws(Failure) -> Response {
        let start = ContinuousClock.now
        let answer = try await client.fetch(
            gatewayURL + "\(path)", method: call.method, headers: headers,
            body: call.body.map { ByteBuffer(string: $0) },
            timeout: .seconds(20))
        let lines = answer.headers.map { ($0.name.lowercased(), $0.value) }
        return .json(
            Answer(
                status: answer.status, headers: Dictionary(lines) { "\($0), \($1)" }, body: String(buffer: answer.body),
                milliseconds: Int((ContinuousClock.now - start) / .milliseconds(1))))
    }
}

/// The text of a session token, which becomes a part of a header or of a query.
enum SessionText {
    /// - Throws: `invalid_property` for characters that no session token has.
    static func checked(_ text: String) throws(Failure) -> String {
        let isToken = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~".utf8.contains(byte)
            }
        }
        guard isToken, (1...512).contains(text.utf8.count) else {
            throw .invalid("session", reason: "is not a session token")
        }
        return text
    }
}
