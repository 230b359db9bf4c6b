// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProtocolClient
import Synchronization

/// The environment of one rule: the system, the rule's own users, and a list of failures.
final class Fixture: Sendable {
    let system: TestedSystem
    let version: ProtocolVersion
    /// A unique suffix for this rule's user names, so that rules do not affect each other.
    let mark = String(UUID().uuidString.prefix(8).lowercased())
    private let found = Mutex(Outcome())
    private let sockets = Mutex<[(socket: ProtocolSocket, isChecked: Bool)]>([])

    init(system: TestedSystem, version: ProtocolVersion) {
        self.system = system
        self.version = version
    }

    /// The maximum wait for an expected event. It is not a promise of speed, because the machine may be busy.
    static let patience = Duration.seconds(30)
    static var deadline: ContinuousClock.Instant { .now + patience }

    var app: TestedApp { system.app }
    /// A client of the first gateway, in the rule's version.
    var client: ProtocolClient { system.client(0, version) }

    // MARK: Checks

    var outcome: Outcome { found.withLock { $0 } }
    var isKept: Bool { outcome.isKept }

    func fail(_ what: String, line: UInt = #line) { found.withLock { $0.failures.append("\(what) (line \(line))") } }
    func fail(_ error: any Error) { found.withLock { $0.failures.append("\(error)") } }
    /// Marks the rule as not testable on this system.
    func skip(_ why: String) { found.withLock { $0.skipped = why } }

    func check(_ isSo: Bool, _ what: @autoclosure () -> String, line: UInt = #line) {
        if !isSo { fail(what(), line: line) }
    }

    func equal<Value: Equatable>(_ actual: Value, _ expected: Value, _ what: String = "", line: UInt = #line) {
        if actual != expected { fail("\(what.isEmpty ? "" : what + ": ")\(actual) is not \(expected)", line: line) }
    }

    func need<Value>(_ value: Value?, _ what: String, line: UInt = #line) throws -> Value {
        guard let value else { throw HarnessError("there is no \(what) (line \(line))") }
        return value
    }

    // MARK: Users

    /// Signs in a user of this rule. The id contains a dot, because patches must escape it.
    /// - Parameters:
    ///   - name: The user's name. Repeating it opens another session of the same user.
    ///   - gateway: The index of the user's gateway.
    func user(
        _ name: String, gateway: Int = 0, version: ProtocolVersion? = nil, app: TestedApp? = nil
    ) async throws -> User {
        try await user(id: "\(name).\(mark)", name: name.capitalized, gateway: gateway, version: version, app: app)
    }

    func user(
        id: String, name: String?, gateway: Int = 0, version: ProtocolVersion? = nil, app: TestedApp? = nil
    ) async throws -> User {
        let version = version ?? self.version
        let app = app ?? self.app
        let client = system.client(gateway, version)
        let nonce = try await client.nonce(deadline: Self.deadline)
        let token = try app.tokens.token(header: app.header, claims: app.claims(id, nonce: nonce, name: name))
        let session = try await client.signIn(appID: app.id, identityToken: token, deadline: Self.deadline)
        return User(fixture: self, userID: id, session: session, gateway: gateway, version: version)
    }

    /// Signs in several users, alternating between the gateways.
    func users(_ names: String...) async throws -> [User] {
        var result: [User] = []
        for (index, name) in names.enumerated() { result.append(try await user(name, gateway: index)) }
        return result
    }

    /// Returns the id of a user who has never signed in.
    func stranger(_ name: String = "nobody") -> String { "\(name).\(mark)" }

    // MARK: Sockets

    /// Registers a socket. At the end of the rule it is closed, and its packets are checked against the rules for
    /// counters and timestamps.
    func keep(_ socket: ProtocolSocket, isChecked: Bool = true) { sockets.withLock { $0.append((socket, isChecked)) } }

    func end() async {
        for (socket, isChecked) in sockets.withLock({ $0 }) {
            if isChecked { for violation in socket.violations { fail("on a socket: \(violation)", line: 0) } }
            await socket.abort()
        }
    }
}

enum Layer {
    static func uuid() -> String { UUID().uuidString.lowercased() }
    static func newConversation() -> String { "layer:///conversations/\(uuid())" }
    static func newMessage() -> String { "layer:///messages/\(uuid())" }
    /// Returns an id's path: `/messages/…` for `layer:///messages/…`.
    static func path(_ id: String) -> String { String(id.dropFirst("layer://".count)) }
    static func identity(_ userID: String) -> String { "layer:///identities/\(userID)" }
    static func last(_ id: String) -> String { String(id.split(separator: "/").last ?? "") }
    static func date(_ text: String?) -> Date? {
        text.flatMap { try? Date($0, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
    }
    /// Returns true for a timestamp in the required format: UTC, with milliseconds and `Z`.
    static func isTimestamp(_ text: String?) -> Bool {
        text?.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z/) != nil
    }
}
