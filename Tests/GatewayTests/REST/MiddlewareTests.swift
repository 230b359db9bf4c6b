// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import NIOCore
import StrataModel
import StrataWire
import Testing

@testable import Gateway

/// The middleware common to all routes, and its order.
@Suite("middlewares", .timeLimit(.minutes(2)))
struct MiddlewareTests {
    private static let origin = HTTPField(name: .origin, value: "https://app.example.org")
    private static let named = HTTPField(name: HTTPField.Name("Strata-Mutation")!, value: "no UUID")

    private func names<Stack: RouterMiddleware>(_ stack: Stack) -> [String] {
        "\(Stack.self)".split { "<>, ".contains($0) }.filter { !$0.hasPrefix("_") }
            .map { String($0.replacing("Middleware", with: "")) }
    }

    @Test("the middlewares run in the documented order")
    func order() async throws {
        try await TestEdge.run { edge in
            #expect(
                names(edge.routes.beforeEveryRoute) == ["Metrics", "Head", "CORS", "Error", "RateLimit", "Preflight"])
            #expect(names(edge.routes.beforeOpenRoutes) == ["AnswerLimit", "InputLimit"])
            #expect(names(edge.routes.beforeVersionedRoutes) == ["Version", "AnswerLimit", "InputLimit"])
            #expect(
                names(edge.routes.beforeSignedInRoutes) == [
                    "Version", "Session", "AnswerLimit", "InputLimit", "Idempotency",
                ])
        }
    }

    @Test("the demo page is served at one address, with a policy that allows its own origin only")
    func demoPage() async throws {
        try await TestEdge.run(settings: { $0.servesDemo = true }) { edge in
            let page = try await edge.ask(.get, "/demo/")
            #expect(page.status == 200)
            #expect(page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.headers[.contentSecurityPolicy]?.contains("script-src 'self'; ") == true)
            #expect(page.headers[.contentSecurityPolicy]?.contains("connect-src 'self'; ") == true)
            #expect(try await edge.ask(.get, "/demo").status == 308)
            #expect(try await edge.ask(.get, "/demo/demo.js").status == 200)
            #expect(try await edge.ask(.get, "/demo/index.html").status == 404)
        }
        try await TestEdge.run { edge in
            let page = try await edge.ask(.get, "/demo/")
            #expect(page.status == 404)
        }
    }

    @Test("browsers can read a limit's refusal, and a preflight counts like any request")
    func limitsFirst() async throws {
        try await TestEdge.run(settings: { $0.load.rates.address = RateLimit(rate: 0.01, burst: 1) }) { edge in
            #expect(try await edge.ask(.options, "/nothing/here", [Self.origin]).status == 204)
            for method in [HTTPRequest.Method.options, .get] {
                let refused = try await edge.ask(method, "/conversations", [Self.origin])
                #expect(refused.status == 429)
                #expect(refused.errorID == "rate_limit_exceeded")
                #expect(refused.headers[.accessControlAllowOrigin] == Self.origin.value)
                #expect(refused.headers[.retryAfter] == "100")
            }
            #expect(try await edge.ask(.get, "/ping").status == 200)
        }
    }

    @Test("a preflight answer lists the permitted requests and origins")
    func preflight() async throws {
        try await TestEdge.run { edge in
            let answer = try await edge.ask(.options, "/conversations", [Self.origin])
            #expect(answer.status == 204)
            #expect(
                answer.headers.map(\.name.canonicalName) == [
                    "access-control-allow-methods", "access-control-allow-headers", "access-control-max-age",
                    "content-length",
                    "access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers",
                    "vary",
                ])
            let other = try await edge.ask(.options, "/conversations")
            #expect(other.status == 204)
            #expect(other.headers[.accessControlAllowOrigin] == nil)
        }
    }

    @Test("an answer to HEAD has no body, and neither has a refusal")
    func head() async throws {
        try await TestEdge.run { edge in
            let refused = try await edge.ask(.head, "/conversations", [Self.origin])
            #expect(refused.status == 404)
            #expect(refused.body.readableBytes == 0)
            #expect(
                refused.headers[.contentLength] == "\(try await edge.ask(.get, "/nothing/here").body.readableBytes)")
            #expect(refused.headers[.accessControlAllowOrigin] == Self.origin.value)
        }
    }

    @Test("a request without a route is answered with an error object")
    func unknown() async throws {
        try await TestEdge.run { edge in
            for (method, path) in [
                (HTTPRequest.Method.get, "/nothing/here"), (.delete, "/conversations"), (.connect, "/"),
                (.head, "/identities"),
            ] {
                let answer = try await edge.ask(method, path)
                #expect(answer.status == 404)
                #expect(answer.headers[.contentType] == "application/json")
                #expect(method == .head || answer.errorID == "invalid_endpoint")
            }
        }
    }

    @Test("the version is checked before the session, and the session before the idempotency key and the body")
    func stepsOfARoute() async throws {
        try await TestEdge.run { edge in
            let path = "/conversations"
            let noVersion = try await edge.ask(.post, path, [Self.named], body: "{")
            #expect(noVersion.errorID == "invalid_header")
            #expect(noVersion.json?["data"]?["header"]?.stringValue == "Accept")
            let noSession = try await edge.ask(.post, path, TestEdge.version + [Self.named], body: "{")
            #expect(noSession.status == 401)
            #expect(noSession.json?["data"]?["nonce"]?.stringValue != nil)
            let badName = try await edge.ask(.post, path, TestEdge.signedIn + [Self.named], body: "{")
            #expect(badName.errorID == "invalid_header")
            #expect(badName.json?["data"]?["header"]?.stringValue == "Strata-Mutation")
            #expect(try await edge.ask(.post, path, TestEdge.signedIn, body: "{").errorID == "invalid_request")
        }
    }

    @Test("a POST that overrides its method is routed as a PATCH")
    func override() async throws {
        try await TestEdge.run { edge in
            let headers =
                TestEdge.signedIn + [HTTPField(name: HTTPField.Name("X-HTTP-Method-Override")!, value: "patch")]
            let path = "/conversations/00000000-0000-4000-8000-000000000000"
            #expect(try await edge.ask(.post, path, TestEdge.signedIn).status == 404)
            let patched = try await edge.ask(.post, path, headers, body: "[]")
            #expect(patched.errorID == "invalid_header")
            #expect(patched.json?["data"]?["header"]?.stringValue == "Content-Type")
        }
    }

    @Test("a body without parse budget is refused, and an accepted one is released with the answer")
    func bodies() async throws {
        try await TestEdge.run(settings: { $0.load.requestBytes = 1 << 20 }) { edge in
            let other = InputBudget.Share(edge.services.input)
            #expect(other.reserve(750 << 10))
            let rest = (0..<18).map { _ in InputBudget.Share(edge.services.input) }
            #expect(rest.dropLast().allSatisfy { $0.reserve(16 << 10) } && rest[17].reserve(2000))
            let before = edge.services.input.inUse
            for headers in [[], [Self.origin]] {
                let refused = try await edge.ask(
                    .post, "/conversations", TestEdge.signedIn + headers, body: #"{"participants":[]}"#)
                #expect(refused.status == 503)
                #expect(refused.errorID == "service_unavailable")
                #expect(refused.headers[.retryAfter] == "1")
            }
            // Without a session no body is read, and invalid JSON is never parsed.
            #expect(try await edge.ask(.post, "/conversations", TestEdge.version, body: "{}").status == 401)
            #expect(try await edge.ask(.post, "/sessions", TestEdge.version, body: "{").errorID == "invalid_request")
            rest[17].release(2000)
            #expect(
                try await edge.ask(.post, "/conversations", TestEdge.signedIn, body: #"{"participants":"x"}"#).errorID
                    == "invalid_property")
            #expect(edge.services.input.inUse == before - 2000)
        }
    }

    @Test("oversized and encoded bodies have HTTP status codes")
    func refusedBodies() async throws {
        try await TestEdge.run { edge in
            let long = try await edge.ask(
                .post, "/conversations", TestEdge.signedIn, body: String(repeating: " ", count: (1 << 20) + 1))
            #expect(long.status == 413)
            #expect(long.errorID == "invalid_request")
            let packed = try await edge.ask(
                .post, "/conversations", TestEdge.signedIn + [HTTPField(name: .contentEncoding, value: "gzip")],
                body: "{}")
            #expect(packed.status == 415)
            #expect(packed.errorID == "invalid_request")
        }
    }
}
