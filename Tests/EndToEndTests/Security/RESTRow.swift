// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import ProtocolClient
import TestCluster
import Testing

/// One row of the matrix: a request on a route, and the expected outcome for each caller.
struct RESTRow: Sendable {
    /// The method and the path template under which the route is registered.
    let method: String
    let route: String
    /// The variant of the request, if a route has several rows.
    let variant: String
    /// The path, with placeholders in braces.
    let path: String
    let body: String?
    let headers: [String: String]
    /// The expected answer to each signed-in caller; for routes that need no session, to every caller.
    let outcomes: [Who: String]
    /// True if the request changes the scene. Callers who can do so get separate scenes.
    var isDestructive = false
    /// The reason why strangers may learn that the object exists; nil: they may not.
    var tellsExistence: String?

    var name: String { "\(method) \(route)" + (variant.isEmpty ? "" : ", \(variant)") }

    /// A row for a route that needs a session. `stranger` applies to both kinds of strangers, unless `otherApp` is
    /// given.
    init(
        _ method: String, _ route: String, _ path: String, _ variant: String = "", body: String? = nil,
        headers: [String: String] = [:],
        sender: String, participant: String, former: String, stranger: String, otherApp: String? = nil,
        destructive: Bool = false,
        tellsExistence: String? = nil
    ) {
        (self.method, self.route, self.path, self.variant, self.body, self.headers) = (
            method, route, path, variant, body, headers
        )
        outcomes = [
            .sender: sender, .participant: participant, .former: former, .never: stranger,
            .otherApp: otherApp ?? stranger,
        ]
        isDestructive = destructive
        self.tellsExistence = tellsExistence
    }

    /// A row for a route that needs no session.
    init(
        _ method: String, _ route: String, _ path: String, _ variant: String = "", body: String? = nil,
        headers: [String: String] = [:],
        everybody: String, except: [Who: String] = [:]
    ) {
        (self.method, self.route, self.path, self.variant, self.body, self.headers) = (
            method, route, path, variant, body, headers
        )
        outcomes = Dictionary(uniqueKeysWithValues: Who.allCases.map { ($0, except[$0] ?? everybody) })
    }

    /// Returns the expected outcome. A caller without a session is refused on every route that needs one.
    func expected(_ who: Who, _ access: RESTAccess) -> String? {
        outcomes[who] ?? (access == .signedIn && !who.isSignedIn ? who.refusal : nil)
    }

    func ask(_ cast: Cast, _ who: Who, _ names: Names) async throws -> RESTResponse {
        try await cast.cluster.client(who == .participant ? 1 : 0)
            .call(
                method, names.fill(path), data: body.map { Data(names.fill($0).utf8) }, token: cast.token(of: who),
                headers: headers,
                deadline: Waiting.deadline)
    }

    /// Returns the observed outcome of every cell of the row.
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

    /// Expects that a caller who may not know of an object gets the same answer as for an object that never existed.
    /// This applies to strangers, and to the former participant for later objects.
    private func compareWithUnknown(_ answer: RESTResponse, _ cast: Cast, _ who: Who, _ names: Names) async throws {
        let templates = path + (body ?? "")
        // Users of one app may know of each other.
        let isHidden = Names.namesObject(
            who == .never ? templates.replacingOccurrences(of: "{user}", with: "") : templates)
        // A created object has its own id.
        guard answer.status != 201, who.isStranger && isHidden || who == .former && templates.contains("{later") else {
            return
        }
        let unknownNames = names.unknown(laterOnly: who == .former)
        let unknown = try await ask(cast, who, unknownNames)
        #expect(
            AnswerPrint(answer, hiding: names["user"]) == AnswerPrint(unknown, hiding: unknownNames["user"]),
            "\(name): \(who.rawValue) can tell that it exists")
    }

    private static func outcome(_ answer: RESTResponse, _ scene: AuthorizationScene, _ cast: Cast) -> String {
        let text = String(decoding: answer.body, as: UTF8.self) + answer.headers.map(\.value).joined()
        var shown = scene.shown(in: text).rawValue
        if shown.isEmpty, text.contains(cast.announced) { shown = AuthorizationScene.Shown.earlier.rawValue }
        return "\(answer.status)" + (answer.errorID.map { " \($0)" } ?? "") + shown
    }
}

/// The parts of an answer that do not change over time.
struct AnswerPrint: Equatable, CustomStringConvertible {
    let status: Int
    let headers: [String]
    let body: String

    /// - Parameter user: A user name to replace in the body; nil: none.
    init(_ answer: RESTResponse, hiding user: String? = nil) {
        status = answer.status
        // The position in the caller's own log discloses nothing about others.
        headers = answer.headers.filter { !["date", "strata-user-position"].contains($0.name.lowercased()) }
            .map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        let text = String(decoding: answer.body, as: UTF8.self)
        body = user.map { text.replacingOccurrences(of: $0, with: "…") } ?? text
    }

    var description: String { "\(status) \(headers) \(body)" }
}
