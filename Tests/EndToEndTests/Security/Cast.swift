// SPDX-License-Identifier: Apache-2.0

import Foundation
import LocalServers
import ProtocolClient
import StrataCommand
import TestCluster
import TestTiers
import Testing

/// The callers of the authorization matrix. All are signed in once, and then suspended, signed out or expired as their
/// column requires.
struct Cast: Sendable {
    let cluster: Cluster
    let app: TestApp
    private let people: [Who: TestUser]
    /// Tokens of second sessions, which may be ended.
    private let spares: [Who: String]
    /// A conversation of each caller without other participants.
    private let own: [Who: Conversation]
    /// The scene in the suspended app, whose user is a participant in it.
    private let abroad: AuthorizationScene
    let announcements: [String]
    /// A text that no announcement of any other user may contain.
    let announced: String
    /// Sockets that were opened while the sessions were valid.
    let earlySockets: [Who: ProtocolSocket]

    static func make(on cluster: Cluster) async throws -> Cast {
        let (app, other, suspended) = (try await cluster.app(), try await cluster.app(), try await cluster.app())
        var people: [Who: TestUser] = [:]
        var spares: [Who: String] = [:]
        var own: [Who: Conversation] = [:]
        var earlySockets: [Who: ProtocolSocket] = [:]
        for who in Who.named {
            let home = who == .otherApp ? other : who == .suspendedApp ? suspended : app
            let user = try await home.signIn(who.user, via: 0)
            people[who] = user
            spares[who] = try await home.signIn(who.user, via: 0).token
            guard who.isSignedIn || who == .suspendedApp else { continue }
            own[who] = try await user.converse(with: [], distinct: false)
        }
        for who in Who.named {
            let user = try await (who == .otherApp ? other : who == .suspendedApp ? suspended : app)
                .signIn(who.user, via: 1)
            earlySockets[who] = try await user.open(via: 1)
            if who == .ended { _ = try await user.client.signOut(token: user.token, deadline: Waiting.deadline) }
        }
        let announced = "announced-\(UUID().uuidString.lowercased())"
        var announcements: [String] = []
        for _ in 0..<2 {
            announcements.append(try await announce(announced, in: app, on: cluster, to: [.sender, .participant]))
        }
        let zed = people[.suspendedApp]
        let abroad = try await AuthorizationScene.make(in: suspended, sender: zed, participants: [])
        let cast = Cast(
            cluster: cluster, app: app, people: people, spares: spares, own: own, abroad: abroad,
            announcements: announcements, announced: announced,
            earlySockets: earlySockets)
        for who in [Who.sender, .participant] {
            _ = try await earlySockets[who]?
                .ask("Presence.update", nil, [["operation": "set", "property": "status", "value": "busy"]])
        }
        try await cast.spoilSessions(suspended)
        return cast
    }

    private func spoilSessions(_ suspended: TestApp) async throws {
        try await cluster.sql(
            "UPDATE conversations.session SET expires_at = now() - interval '1 second' WHERE app_id = '\(app.app.id)' AND user_id = '\(Who.expired.user)'"
        )
        try await cluster.sql(
            "UPDATE conversations.identity SET suspended = true WHERE app_id = '\(app.app.id)' AND user_id = '\(Who.suspendedUser.user)'"
        )
        for token in [people[.ended]?.token, spares[.ended]].compactMap({ $0 }) {
            _ = try await cluster.client().signOut(token: token, deadline: Waiting.deadline)
        }
        try await cluster.strata("app", "suspend", "--database", cluster.databaseURL, suspended.id)
        // A gateway caches a session for some seconds.
        for gateway in cluster.urls.indices {
            for who in [Who.expired, .ended, .suspendedUser, .suspendedApp] {
                try await eventually("\(who.rawValue): the session is good for ever") {
                    try await cluster.client(gateway)
                        .call("GET", "/channels", token: token(of: who), deadline: Waiting.deadline).status
                        == (who == .suspendedUser ? 403 : 401)
                }
            }
        }
    }

    static func announce(_ text: String, in app: TestApp, on cluster: Cluster, to users: [Who]) async throws -> String {
        let output = try await cluster.announce(text, in: app, to: users.map(\.user))
        let id = try JSONValue(parsing: output)["id"].string ?? ""
        return String(id.split(separator: "/").last ?? "")
    }

    /// Returns the user of a column; nil if it has none.
    subscript(_ who: Who) -> TestUser? { people[who] }

    func ownConversation(of who: Who) -> Conversation? { own[who] }

    func token(of who: Who) -> String? {
        who == .invented ? String(repeating: "A", count: 43) : people[who]?.token
    }

    /// Creates a separate scene, for cells that need one.
    func scene() async throws -> AuthorizationScene {
        let others = [Who.participant, .former, .expired, .ended, .suspendedUser].compactMap { people[$0] }
        return try await AuthorizationScene.make(in: app, sender: people[.sender], participants: others)
    }

    /// Returns the scene whose objects a caller's cell uses.
    func scene(_ scene: AuthorizationScene, for who: Who) -> AuthorizationScene {
        who == .suspendedApp ? abroad : scene
    }

    /// Returns the values of a row's placeholders in a caller's cell.
    func names(_ scene: AuthorizationScene, for who: Who) -> Names {
        var names = self.scene(scene, for: who).names
        names["announcement"] = announcements[0]
        names["otherAnnouncement"] = announcements[1]
        names["own"] = (own[who] ?? own[.sender])?.id.split(separator: "/").last.map { String($0) }
        names["spare"] = spares[.sender]
        names["mine"] = spares[who] ?? "none"
        names["new"] = UUID().uuidString.lowercased()
        return names
    }
}

extension Cluster {
    /// Runs SQL as the database's owner, to produce states that otherwise only time or an operator causes.
    /// - Returns: The output, unaligned and without headers.
    @discardableResult
    func sql(_ text: String) async throws -> String {
        let exit = try await ChildProcess.run(
            Launch(
                try Programs.findPostgres("psql"),
                arguments: ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, databaseURL]))
        guard exit.isSuccess else { throw CommandFailed(output: exit.output) }
        return exit.output
    }

    @discardableResult
    func strata(_ words: String...) async throws -> String { try await strata(words) }

    func announce(_ text: String, in app: TestApp, to users: [String]) async throws -> String {
        try await strata(
            ["announce", "--app", app.id, "--url", urls[0], "--database", databaseURL, "--json"]
                + users.flatMap { ["--to", $0] } + [text])
    }

    @discardableResult
    func strata(_ words: [String]) async throws -> String {
        let environment = ["PATH": "/usr/bin:/bin", "HOME": contentDirectory, "STRATA_CLUSTER_SECRET": Cluster.secret]
        let exit = try await ChildProcess.run(
            Launch(try Executables.find("strata"), arguments: words, environment: environment))
        guard exit.isSuccess else { throw CommandFailed(output: exit.output) }
        return exit.output
    }
}

struct CommandFailed: Error, CustomStringConvertible {
    let output: String
    var description: String { output }
}
