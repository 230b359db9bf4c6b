// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HTTPTypes
import Hummingbird
import StrataModel
import Synchronization
import TestSupport
import Testing

@testable import Console

/// Sign-in, roles and the audit log, over the routes and the database.
@Suite("accounts of the console", .timeLimit(.minutes(3)))
struct AccountTests {
    @Test("a sign-in by password opens a session, whose cookie no script and no other site can use")
    func signIn() async throws {
        try await ConsoleEdge.run { edge in
            try await edge.make("ana", .operator)
            let answer = try await edge.signIn("ana")
            #expect(answer.status == 200)
            #expect(answer.session?.name == "ana")
            #expect(answer.session?.role == "operator")
            let attributes = answer.headers[.setCookie]?.split(separator: ";").map { $0.drop { $0 == " " } } ?? []
            #expect(attributes.dropFirst() == ["Path=/", "Max-Age=43200", "HttpOnly", "SameSite=Strict", "Secure"])
            let browser = ConsoleEdge.Browser(
                cookie: answer.cookie ?? "", csrf: answer.session?.csrf ?? "")
            #expect(try await edge.ask(.get, "/api/session", as: browser).session?.csrf == browser.csrf)
            #expect(try await edge.ask(.delete, "/api/session", as: browser).status == 204)
            #expect(try await edge.ask(.get, "/api/session", as: browser).errorCode == "authentication_required")
        }
    }

    @Test("a wrong password and an unknown name get the same answer, and the sixth attempt has to wait")
    func refused() async throws {
        try await ConsoleEdge.run { edge in
            try await edge.make("ana", .operator)
            let wrong = try await edge.signIn("ana", "incorrect horse")
            let unknown = try await edge.signIn("nobody", "incorrect horse")
            #expect(wrong.status == 401)
            #expect(wrong.text == unknown.text)
            for _ in 0..<4 { _ = try await edge.signIn("ana", "incorrect horse") }
            let refused = try await edge.signIn("ana")
            #expect(refused.status == 429)
            #expect((1...900).contains(refused.headers[.retryAfter].flatMap { Int($0) } ?? 0))
            #expect(refused.cookie == nil)
        }
    }

    @Test("a body that is not declared as JSON signs nobody in", arguments: ["text/plain", ""])
    func formOfAnotherSite(type: String) async throws {
        try await ConsoleEdge.run { edge in
            try await edge.make("ana", .operator)
            let answer = try await edge.ask(
                .post, "/api/session", [HTTPField(name: .contentType, value: type)],
                body: #"{"name":"ana","password":"\#(ConsoleEdge.password)"}"#)
            #expect(answer.status == 406)
            #expect(answer.cookie == nil)
        }
    }

    @Test("a link signs in once, by the request of its page: to load the page does not use it up")
    func link() async throws {
        try await ConsoleEdge.run { edge in
            try await edge.make("ana", .viewer)
            let token = SecretToken.make()
            let digest = SecretToken.digest(of: token).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            try await edge.sql("SELECT console.create_link('ana', '\\x\(digest.joined())', 600)")
            func use() async throws -> ConsoleEdge.Answer {
                let page = try await edge.ask(.get, "/console/link/\(token)")
                #expect(page.headers[.contentType] == "text/html; charset=utf-8")
                #expect(page.cookie == nil)
                return try await edge.ask(
                    .post, "/api/session/link", [HTTPField(name: .contentType, value: "application/json")],
                    body: #"{"token":"\#(token)"}"#)
            }
            let answer = try await use()
            #expect(answer.session?.name == "ana")
            let browser = ConsoleEdge.Browser(cookie: answer.cookie ?? "", csrf: answer.session?.csrf ?? "")
            #expect(try await edge.ask(.get, "/api/session", as: browser).session?.csrf == browser.csrf)
            #expect(try await edge.ask(.get, "/api/session", as: browser).session?.role == "viewer")
            let again = try await use()
            #expect(again.status == 401)
            #expect(again.cookie == nil)
        }
    }

    @Test("a page that only reads on by its timers does not prolong the session")
    func idle() async throws {
        try await ConsoleEdge.run { edge in
            let browser = try await edge.browser("ana", .viewer)
            try await edge.sql("UPDATE console.session SET last_used_at = now() - interval '20 minutes'")
            let headers = [
                HTTPField(name: .cookie, value: "strata_console=\(browser.cookie)"),
                HTTPField(name: .idle, value: "true"),
            ]
            func isRenewed() async throws -> Bool {
                let rows = try await edge.sql(
                    "SELECT 1 AS one FROM console.session WHERE last_used_at > now() - interval '1 minute'")
                return !rows.isEmpty
            }
            #expect(try await edge.ask(.get, "/api/session", headers).status == 200)
            #expect(try await !isRenewed())
            #expect(try await edge.ask(.get, "/api/session", as: browser).status == 200)
            #expect(try await isRenewed())
            try await edge.sql("UPDATE console.session SET last_used_at = now() - interval '31 minutes'")
            #expect(try await edge.ask(.get, "/api/session", headers).status == 401)
        }
    }

    @Test("a disabled operator's session has ended")
    func disabled() async throws {
        try await ConsoleEdge.run { edge in
            let browser = try await edge.browser("ana", .operator)
            #expect(try await edge.ask(.get, "/api/session", as: browser).status == 200)
            try await edge.sql("SELECT console.disable_operator('ana')")
            #expect(try await edge.ask(.get, "/api/session", as: browser).status == 401)
        }
    }

    /// Adds a change and a read.
    private func addRoutes(_ routes: ConsoleRoutes, performed: Counter, status: HTTPResponse.Status = .noContent) {
        routes.change(.post, "/api/test") { _, _ in
            AuditedChange(action: "test", target: "a target", detail: ["what": "x"]) {
                performed.increment()
                if status == .conflict { throw Failure(.conflict, "Not now.") }
                return Response(status: status)
            }
        }
        routes.get("/api/test") { _, _ in .json(["read": true]) }
    }

    final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { value.load(ordering: .relaxed) }
        func increment() { value.wrappingAdd(1, ordering: .relaxed) }
    }

    @Test("viewers read and change nothing; operators change with the token of their own session only")
    func roles() async throws {
        let performed = Counter()
        try await ConsoleEdge.run({ addRoutes($0, performed: performed) }) { edge in
            let (viewer, changer) = (
                try await edge.browser("vera", .viewer), try await edge.browser("olaf", .operator)
            )
            #expect(try await edge.ask(.get, "/api/test").status == 401)
            #expect(try await edge.ask(.post, "/api/test").status == 401)
            #expect(try await edge.ask(.get, "/api/test", as: viewer, withToken: false).status == 200)
            #expect(try await edge.ask(.post, "/api/test", as: viewer).errorCode == "access_denied")
            #expect(try await edge.ask(.post, "/api/test", as: changer, withToken: false).errorCode == "csrf")
            let mixed = ConsoleEdge.Browser(cookie: changer.cookie, csrf: viewer.csrf)
            #expect(try await edge.ask(.post, "/api/test", as: mixed).errorCode == "csrf")
            #expect(performed.count == 0)
            #expect(try await edge.ask(.post, "/api/test", as: changer).status == 204)
            #expect(performed.count == 1)
        }
    }

    struct AuditPage: Decodable {
        struct Item: Decodable {
            let id: Int
            let at: String
            let `operator`: String
            let action: String
            let target: String?
            let detail: [String: String]?
            let outcome: String?
        }
        let items: [Item]
        let next: Int?
    }

    private func page(_ edge: ConsoleEdge, _ browser: ConsoleEdge.Browser, _ query: String) async throws -> AuditPage {
        let answer = try await edge.ask(.get, "/api/audit\(query)", as: browser)
        return try ConsoleJSON.decode(.init(string: answer.text))
    }

    @Test(
        "the audit log shows a change with its outcome",
        arguments: [(HTTPResponse.Status.created, "ok"), (.conflict, "409"), (.badGateway, "502")])
    func audited(status: HTTPResponse.Status, outcome: String) async throws {
        let performed = Counter()
        try await ConsoleEdge.run({ addRoutes($0, performed: performed, status: status) }) { edge in
            let browser = try await edge.browser("olaf", .operator)
            #expect(try await edge.ask(.post, "/api/test", as: browser).status == status.code)
            let items = try await page(edge, browser, "").items
            #expect(items.map(\.action) == ["test", "sign_in", "operator_create"])
            let change = try #require(items.first)
            #expect((change.operator, change.target, change.outcome) == ("olaf", "a target", outcome))
            #expect(change.detail == ["what": "x"])
            #expect(ISO8601.parse(change.at) != nil)
        }
    }

    @Test("a change that cannot be recorded is not carried out")
    func unrecorded() async throws {
        let performed = Counter()
        try await ConsoleEdge.run({ addRoutes($0, performed: performed) }) { edge in
            let browser = try await edge.browser("olaf", .operator)
            try await edge.sql("REVOKE INSERT ON console.audit FROM strata_console")
            #expect(try await edge.ask(.post, "/api/test", as: browser).status == 500)
            #expect(performed.count == 0)
        }
    }

    @Test("the audit log is read in pages, newest first, and cannot be changed by the console's role")
    func auditPages() async throws {
        let performed = Counter()
        try await ConsoleEdge.run({ addRoutes($0, performed: performed) }) { edge in
            let browser = try await edge.browser("olaf", .operator)
            for _ in 0..<3 { _ = try await edge.ask(.post, "/api/test", as: browser) }
            let first = try await page(edge, browser, "?limit=2")
            #expect(first.items.map(\.action) == ["test", "test"])
            let second = try await page(edge, browser, "?limit=2&after=\(try #require(first.next))")
            #expect(second.items.map(\.action) == ["test", "sign_in"])
            #expect(try await edge.ask(.get, "/api/audit?limit=0", as: browser).errorCode == "invalid_property")
            for change in ["DELETE FROM console.audit", "UPDATE console.audit SET outcome = 'ok'"] {
                await #expect(throws: (any Error).self) { try await edge.sql("SET ROLE strata_console; \(change)") }
            }
        }
    }

    @Test("pages and their answers have the security headers, and paths of screens lead to the page")
    func pages() async throws {
        try await ConsoleEdge.run { edge in
            let page = try await edge.ask(.get, "/console/")
            #expect(page.status == 200)
            #expect(page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.headers[.contentSecurityPolicy]?.contains("script-src 'self';") == true)
            #expect(page.headers[.contentSecurityPolicy]?.contains("unsafe-inline") == false)
            #expect(try await edge.ask(.get, "/console/apps/1").text == page.text)
            #expect(try await edge.ask(.get, "/console/none.js").status == 404)
            #expect(try await edge.ask(.get, "/console").headers[.location] == "/console/")
            #expect(try await edge.ask(.get, "/").headers[.location] == "/console/")
            let known = HTTPField(name: .ifNoneMatch, value: try #require(page.headers[.eTag]))
            #expect(try await edge.ask(.get, "/console/", [known]).status == 304)
            let unknown = try await edge.ask(.get, "/api/nothing")
            #expect(unknown.errorCode == "invalid_endpoint")
            #expect(unknown.headers[.contentSecurityPolicy] == page.headers[.contentSecurityPolicy])
            #expect(unknown.headers[.cacheControl] == "no-store")
            #expect(try await edge.ask(.get, "/api/calls").status == 401)
        }
    }
}
