// SPDX-License-Identifier: Apache-2.0

import Foundation
import Gateway
import ProtocolClient
import TestCluster
import Testing

@testable import StrataCommand

extension EndToEnd {
    @Suite("authorization of apps' own servers")
    struct ServerAuthorizationTests {
        /// The ways in which a request's credentials differ from those of the app's own server.
        private enum Caller: String, CaseIterable {
            case own = "the app's own server"
            case noToken = "without a token"
            case session = "with a session instead of a token"
            case unreadable = "with a token that is none"
            case unknown = "with a token that was never made"
            case revoked = "with a token that was revoked"
            case otherApp = "with the token of another app"
            case noApp = "for an app that does not exist"
            case notAnApp = "for an id that is no app's"
            case suspended = "for an app that is suspended"
            case noVersion = "without a version"
            case wrongVersion = "with a version that is none"

            /// The expected status and error; nil: the credentials are accepted.
            var refusal: String? {
                switch self {
                case .own: nil
                case .noToken, .session, .unreadable, .unknown, .revoked: "401 authentication_required"
                case .otherApp: "403 access_denied"
                case .noApp, .notAnApp: "403 invalid_app_id"
                case .suspended: "403 app_suspended"
                case .noVersion, .wrongVersion: "406 invalid_header"
                }
            }
        }

        private struct Scene {
            let server: AppServer
            let otherApp: AppServer
            let suspended: AppServer
            let user: TestUser
            let revoked: String

            init(_ cluster: Cluster) async throws {
                let app = try await cluster.app()
                server = AppServer(app)
                otherApp = AppServer(try await cluster.app())
                suspended = AppServer(try await cluster.app())
                user = try await app.signIn("ana")
                // A user who may be erased.
                _ = try await app.signIn("ben")
                let store = AppStore(url: cluster.databaseURL)
                revoked = try await ServerTokenCommands(app, cluster).create("revoked").token
                for token in try await ServerTokenCommands(app, cluster).list() where token.name == "revoked" {
                    try await ServerTokenCommands(app, cluster).revoke(token.id)
                }
                _ = try await store.setSuspended(true, for: suspended.app.app.id)
            }

            func ask(_ caller: Caller, _ method: String, _ path: String) async throws -> RESTResponse {
                switch caller {
                case .own: try await server.call(method, path, nil)
                case .noToken: try await server.call(method, path, headers: ["Authorization": ""])
                case .session:
                    try await server.call(
                        method, path, headers: ["Authorization": "Layer session-token=\"\(user.token)\""])
                case .unreadable: try await server.call(method, path, headers: ["Authorization": "Bearer a b"])
                case .unknown:
                    try await server.call(
                        method, path, headers: ["Authorization": "Bearer \(String(repeating: "a", count: 43))"])
                case .revoked: try await server.call(method, path, headers: ["Authorization": "Bearer \(revoked)"])
                case .otherApp:
                    try await server.call(method, path, headers: ["Authorization": "Bearer \(otherApp.token)"])
                case .noApp: try await server.call(method, path, app: UUID().uuidString)
                case .notAnApp: try await server.call(method, path, app: "chat")
                case .suspended: try await suspended.call(method, path)
                case .noVersion: try await server.call(method, path, headers: ["Accept": ""])
                case .wrongVersion:
                    try await server.call(method, path, headers: ["Accept": "application/vnd.layer+json; version=4.0"])
                }
            }
        }

        /// Returns a path of the route with ids that do not exist, so that nothing is changed.
        private func path(of route: ServedRoute, owner: String) -> String {
            let parts = route.path.split(separator: "/").dropFirst(2)
                .map { part -> String in
                    switch part {
                    case ":owner": owner
                    case _ where part.hasPrefix(":"): UUID().uuidString.lowercased()
                    default: String(part)
                    }
                }
            return parts.isEmpty ? "" : "/" + parts.joined(separator: "/")
        }

        @Test(
            "every route refuses every caller except the app's own server, with distinct errors for app, token and version"
        )
        func matrix() async throws {
            let scene = try await Scene(try await Cluster.shared())
            let routes = try AuthorizationTests.served().serverRoutes
            #expect(routes.count > 30)
            #expect(
                routes.allSatisfy {
                    $0.access == .server && ($0.path == "/apps/:app" || $0.path.hasPrefix("/apps/:app/"))
                })
            for route in routes {
                let path = path(
                    of: route,
                    owner: route.method == "DELETE" && route.path == "/apps/:app/users/:owner" ? "ben" : "ana")
                for caller in Caller.allCases {
                    let answer = try await scene.ask(caller, route.method, path)
                    let outcome = "\(answer.status) \(answer.errorID ?? "")"
                    let what: Comment = "\(route) \(caller.rawValue)"
                    if let refusal = caller.refusal {
                        #expect(outcome == refusal, what)
                        if route.method != "HEAD" { #expect(answer.json["data"]["nonce"] == .null, what) }
                    } else if [nil, "Accept"].contains(answer.json["data"]["header"].string) {
                        #expect(!Set(Caller.allCases.compactMap(\.refusal)).contains(outcome), what)
                        #expect(answer.status < 500, what)
                    }
                }
            }
        }

        @Test("requests on behalf of an unknown user are answered with not found")
        func unknownUser() async throws {
            let server = AppServer(try await Cluster.shared().app())
            // A malformed request is refused before the user is looked up.
            func patch(_ property: String, _ value: JSONValue) -> JSONValue {
                [["operation": "set", "property": .string(property), "value": value]]
            }
            let bodies: [String: JSONValue] = [
                "PATCH /apps/:app/users/:owner": patch("suspended", true),
                "PATCH /apps/:app/users/:owner/identity": patch("display_name", "x"),
                "PUT /apps/:app/users/:owner/badge": ["external_unread_count": 1],
                "PATCH /apps/:app/users/:owner/badge": patch("external_unread_count", 1),
                "POST /apps/:app/users/:owner/blocks": ["user_id": "ben"],
            ]
            // These routes create the user.
            let making = ["POST /apps/:app/users/:owner/identity", "PUT /apps/:app/users/:owner/identity"]
            for route in try AuthorizationTests.served().serverRoutes
            where route.path.contains(":owner") && !making.contains("\(route)") {
                let answer = try await server.call(route.method, path(of: route, owner: "no-one"), bodies["\(route)"])
                #expect("\(answer.status) \(answer.errorID ?? "")" == "404 not_found", "\(route)")
            }
        }

        @Test(
            "a refusal of a wrong version names the header; each version of the Server API is accepted",
            arguments: ["1.0", "1.1", "2.0", "3.0"])
        func versions(_ version: String) async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ana")
            var server = AppServer(app)
            server.version = version
            #expect(try await server.call("GET", "/users/ana/conversations").status == 200)
            let spaced = try await server.call(
                "GET", "/users/ana/conversations",
                headers: ["Accept": "application/vnd.layer+json ; version=\"\(version)\""])
            #expect(spaced.status == 200)
            let refused = try await server.call(
                "GET", "/users/ana/conversations", headers: ["Accept": "application/json"])
            #expect(refused.json["data"]["header"].string == "Accept")
        }

        @Test("a caller without permission gets that error before any error about path or method")
        func order() async throws {
            let app = try await Cluster.shared().app()
            _ = try await app.signIn("ana")
            let server = AppServer(app)
            for path in ["/nothing", "/users/ana/nothing/at/all", "/users/ana/conversations/x/y/z"] {
                #expect(
                    try await server.call("GET", path, headers: ["Authorization": ""]).errorID
                        == "authentication_required")
                let untold = try await server.call("GET", path, headers: ["Authorization": ""])
                #expect(untold.json["message"].string?.contains("needs a server token") == true)
                #expect(try await server.call("GET", path, headers: ["Accept": ""]).errorID == "invalid_header")
                let answer = try await server.call("GET", path)
                #expect("\(answer.status) \(answer.errorID ?? "")" == "404 invalid_endpoint", "\(path)")
            }
            // The same holds for prefixes of longer paths, for the app itself, and for HEAD, which no path supports.
            for (method, path) in [
                ("GET", "/users"), ("POST", "/users"), ("GET", "/users/"), ("GET", "/users/ana/messages"),
                ("GET", "/identities"), ("DELETE", "/"),
                ("HEAD", "/nothing"), ("HEAD", "/users"), ("HEAD", "/users/ana/conversations"), ("HEAD", ""),
            ] {
                let refused = try await server.call(method, path, headers: ["Authorization": ""])
                #expect(refused.status == 401, "\(method) \(path)")
                #expect(try await server.call(method, path, headers: ["Accept": ""]).status == 406, "\(method) \(path)")
                let answer = try await server.call(method, path)
                let isServed = ["/users/ana/conversations", "/users/ana", "/", ""].contains(path)
                #expect(answer.status == (isServed ? 405 : 404), "\(method) \(path)")
            }
            #expect(
                try await server.call("PUT", "/users/ana/conversations", headers: ["Authorization": ""]).status == 401)
            let answer = try await server.call("PUT", "/users/ana/conversations")
            #expect("\(answer.status) \(answer.errorID ?? "")" == "405 method_not_allowed")
            #expect(answer.header("Allow") == "GET, POST")
        }
    }
}
