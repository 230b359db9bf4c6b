// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Postgres
import Schema
import ServiceLifecycle
import StrataModel
import Synchronization
import TestSupport

@testable import Console

/// The console's accounts on a database of their own, and routes of a test, without connections.
struct ConsoleEdge {
    struct Answer {
        let status: Int
        let headers: HTTPFields
        let text: String
        /// The value of the cookie that the answer sets; nil: none.
        var cookie: String? {
            headers[.setCookie]?.split(separator: ";").first?.split(separator: "=").dropFirst().first.map { String($0) }
        }
        var session: Session? { try? ConsoleJSON.decode(ByteBuffer(string: text)) }
        var errorCode: String? { (try? ConsoleJSON.decode(ByteBuffer(string: text), as: Failed.self))?.error.code }
    }

    struct Session: Decodable {
        let name: String
        let role: String
        let csrf: String
    }

    private struct Failed: Decodable {
        struct Content: Decodable {
            let code: String
        }
        let error: Content
    }

    /// A browser that is signed in.
    struct Browser {
        let cookie: String
        let csrf: String
    }

    /// The password of all operators.
    static let password = "correct horse battery"

    let accounts: Accounts
    let audit: AuditLog
    private let responder: RouterResponder<ConsoleContext>
    private let admin: PostgresPool
    private static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

    static func run(
        _ add: (ConsoleRoutes) -> Void = { _ in }, _ body: (ConsoleEdge) async throws -> Void
    ) async throws {
        let url = try await TestServers.postgres()
        _ = try await Migrator(configuration: PostgresConfiguration(url: url))
            .migrate(Schema.migrations, functions: Schema.functions, logger: quiet)
        func pool(as role: String?) throws -> PostgresPool {
            var configuration = try PostgresConfiguration(url: url)
            if let role { configuration.role = role }
            configuration.connections = 2
            return PostgresPool(configuration: configuration, mode: .exclusive, logger: quiet)
        }
        let (service, admin) = (try pool(as: "strata_console"), try pool(as: nil))
        let accounts = Accounts(pool: service)
        let audit = AuditLog(pool: service, logger: quiet)
        let routes = ConsoleRoutes(accounts: accounts, audit: audit, trustedProxies: 0, logger: quiet)
        PageRoutes().add(to: routes)
        SessionRoutes(accounts: accounts, audit: audit, isSecure: true).add(to: routes)
        add(routes)
        let edge = ConsoleEdge(
            accounts: accounts, audit: audit, responder: routes.router.buildResponder(), admin: admin)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for pool in [service, admin] { group.addTask { try await pool.run() } }
            group.addTask { try await accounts.service.run() }
            defer { group.cancelAll() }
            try await body(edge)
        }
    }

    /// Runs a statement as the owner of the database.
    @discardableResult
    func sql(_ text: String) async throws -> Rows {
        try await admin.query(Statement("test.\(UUID())", sql: text), deadline: .now + .seconds(20))
    }

    /// Makes an operator with ``password``.
    func make(_ name: String, _ role: OperatorRole) async throws {
        let hash = try PasswordHash(of: Self.password).text
        try await sql("SELECT console.create_operator('\(name)', '\(hash)', '\(role.rawValue)')")
    }

    func signIn(_ name: String, _ password: String = password) async throws -> Answer {
        try await ask(
            .post, "/api/session", [HTTPField(name: .contentType, value: "application/json")],
            body: #"{"name":"\#(name)","password":"\#(password)"}"#)
    }

    /// Makes an operator and signs them in.
    func browser(_ name: String, _ role: OperatorRole) async throws -> Browser {
        try await make(name, role)
        let answer = try await signIn(name)
        return Browser(cookie: answer.cookie ?? "none", csrf: answer.session?.csrf ?? "none")
    }

    func ask(
        _ method: HTTPRequest.Method, _ path: String, as browser: Browser, withToken: Bool = true
    ) async throws -> Answer {
        var headers = [HTTPField(name: .cookie, value: "strata_console=\(browser.cookie)")]
        if withToken { headers.append(HTTPField(name: .csrfToken, value: browser.csrf)) }
        return try await ask(method, path, headers)
    }

    func ask(
        _ method: HTTPRequest.Method, _ path: String, _ headers: [HTTPField] = [], body: String = ""
    ) async throws -> Answer {
        let head = HTTPRequest(
            method: method, scheme: "https", authority: "console.example.org", path: path,
            headerFields: HTTPFields(headers))
        let context = ConsoleContext(
            source: ApplicationRequestContextSource(channel: NIOAsyncTestingChannel(), logger: Self.quiet))
        let response = try await responder.respond(
            to: Request(head: head, body: .init(buffer: ByteBuffer(string: body))), context: context)
        let written = WrittenBytes()
        try await response.body.write(written)
        return Answer(status: response.status.code, headers: response.headers, text: String(buffer: written.bytes))
    }
}

private final class WrittenBytes: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) { bytes.writeImmutableBuffer(buffer) }
    func finish(_ trailingHeaders: HTTPFields?) {}
}
