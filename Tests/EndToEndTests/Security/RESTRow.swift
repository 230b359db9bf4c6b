// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import ProtocolClient
import TestCluster
import Testing

/// One row of the matrix: a request for one of the routes, and what it brings each caller.
struct RESTRow: Sendable {
    /// As it was registered.
    let method: String
    let route: String
    /// What is tried, where a route has several rows.
    let what: String
    /// With names in braces.
    let path: String
    let body: String?
    let headers: [String: String]
    /// What each signed-in caller is answered; for routes that need no session, every caller.
    let outcomes: [Who: String]
    /// The answer depends on what was done before: those who can change something get scenes of their own.
    var isDestructive = false
    /// Why strangers are told that something of this name exists; nil: they are not.
    var tellsExistence: String?

    var name: String { "\(method) \(route)" + (what.isEmpty ? "" : ", \(what)") }

    /// A row of a route that needs a session; what strangers get counts for both of them, unless the other app is named.
    init(
        _ method: String, _ route: String, _ path: String, _ what: String = "", body: String? = nil, headers: [String: String] = [:],
        sender: String, participant: String, former: String, stranger: String, otherApp: String? = nil, destructive: Bool = false,
        tellsExistence: String? = nil
    ) {
        (self.method, self.route, self.path, self.what, self.body, self.headers) = (method, route, path, what, body, headers)
        outcomes = [.sender: sender, .participant: participant, .former: former, .never: stranger, .otherApp: otherApp ?? stranger]
        isDestructive = destructive
        self.tellsExistence = tellsExistence
    }

    /// A row of a route that does not ask who it is.
    init(
        _ method: String, _ route: String, _ path: String, _ what: String = "", body: String? = nil, headers: [String: String] = [:],
        everybody: String, except: [Who: String] = [:]
    ) {
        (self.method, self.route, self.path, self.what, self.body, self.headers) = (method, route, path, what, body, headers)
        outcomes = Dictionary(uniqueKeysWithValues: Who.allCases.map { ($0, except[$0] ?? everybody) })
    }

    /// The rule: without a session a client gets nothing from a route that needs one.
    func expected(_ who: Who, _ access: RESTAccess) -> String? {
        outcomes[who] ?? (access == .signedIn && !who.isSignedIn ? who.refusal : nil)
    }

    func ask(_ cast: Cast, _ who: Who, _ names: Names) async throws -> RESTAnswer {
        try await cast.cluster.client(who == .participant ? 1 : 0)
            .call(
                method, names.fill(path), data: body.map { Data(names.fill($0).utf8) }, token: cast.token(of: who), headers: headers,
                deadline: Waiting.deadline)
    }

    /// All cells of the row.
    /// - Returns: what was observed.
    func run(_ cast: Cast) async throws -> [Who: String] {
        var observed: [Who: String] = [:]
        let shared = try await cast.scene()
        for who in Who.allCases.reversed() {
            let ownScene = isDestructive && who.isSignedIn && !who.isStranger
            let scene = ownScene ? try await cast.scene() : shared
            let names = cast.names(scene, for: who)
            let answer = try await ask(cast, who, names)
            observed[who] = Self.outcome(answer, cast.scene(scene, for: who), cast)
            if who.isSignedIn, tellsExistence == nil { try await compareWithUnknown(answer, cast, who, names) }
        }
        return observed
    }

    /// What strangers are answered, and the former participant about what came later, is what they are answered about something that never was.
    private func compareWithUnknown(_ answer: RESTAnswer, _ cast: Cast, _ who: Who, _ names: Names) async throws {
        let templates = path + (body ?? "")
        // Users of one app may know each other.
        let isHidden = Names.namesObject(who == .never ? templates.replacingOccurrences(of: "{user}", with: "") : templates)
        // What was created has an id of its own.
        guard answer.status != 201, who.isStranger && isHidden || who == .former && templates.contains("{later") else { return }
        let unknownNames = names.unknown(laterOnly: who == .former)
        let unknown = try await ask(cast, who, unknownNames)
        #expect(
            AnswerPrint(answer, hiding: names["user"]) == AnswerPrint(unknown, hiding: unknownNames["user"]),
            "\(name): \(who.rawValue) can tell that it exists")
    }

    private static func outcome(_ answer: RESTAnswer, _ scene: AuthorizationScene, _ cast: Cast) -> String {
        let text = String(decoding: answer.body, as: UTF8.self) + answer.headers.map(\.value).joined()
        var shown = scene.shown(in: text).rawValue
        if shown.isEmpty, text.contains(cast.announced) { shown = AuthorizationScene.Shown.earlier.rawValue }
        return "\(answer.status)" + (answer.errorID.map { " \($0)" } ?? "") + shown
    }
}

/// All of an answer that does not change from one moment to the next.
struct AnswerPrint: Equatable, CustomStringConvertible {
    let status: Int
    let headers: [String]
    let body: String

    /// - Parameter user: whose name is left out; nil: no name is.
    init(_ answer: RESTAnswer, hiding user: String? = nil) {
        status = answer.status
        // Where the caller's own log has come to says nothing of others.
        headers = answer.headers.filter { !["date", "strata-user-position"].contains($0.name.lowercased()) }
            .map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        let text = String(decoding: answer.body, as: UTF8.self)
        body = user.map { text.replacingOccurrences(of: $0, with: "…") } ?? text
    }

    var description: String { "\(status) \(headers) \(body)" }
}
