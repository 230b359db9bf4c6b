// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import StrataCommand

/// The functions of schema `console`, called with the console's role.
@Suite("the schema of the console")
struct ConsoleSchemaTests {
    private func begin(_ name: String, _ address: String) -> String {
        "SELECT b.outcome, b.password_hash FROM console.begin_sign_in('\(name)', '\(address)') b"
    }

    @Test("a sign-in with the right password opens a session and clears the attempts; another one is refused")
    func signIn() async throws {
        try await OperatorDatabase.run { database in
            try await database.execute("SELECT console.create_operator('ana', 'hash', 'viewer')")
            for round in 1...6 {
                #expect(try await database.rows(begin("ana", "192.0.2.1")) == ["(ok,hash)"])
                #expect(
                    try await database.rows(
                        """
                        SELECT e.* FROM console.end_sign_in(
                            'ana', 'hash', sha256('s\(round)'), 'csrf', '192.0.2.1') e
                        """) == ["(ok,viewer)"])
            }
            #expect(
                try await database.rows("SELECT u.* FROM console.use_session(sha256('s1')) u") == ["(ana,viewer,csrf)"])
            #expect(
                try await database.rows(
                    "SELECT e.* FROM console.end_sign_in('ana', 'older', sha256('t'), 'csrf', '192.0.2.1') e")
                    == ["(refused,)"])
            #expect(try await database.rows(begin("eve", "192.0.2.1")) == ["(ok,)"])
            try await database.execute("SELECT console.disable_operator('ana')")
            #expect(try await database.rows(begin("ana", "192.0.2.1")) == ["(ok,)"])
            #expect(try await !database.isOpen("s1"))
        }
    }

    @Test("five attempts by name and address, or twenty by address, end sign-ins for a quarter of an hour")
    func limits() async throws {
        try await OperatorDatabase.run { database in
            // Concurrent attempts do not exceed the limit.
            let outcomes = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<8 { group.addTask { try await database.rows(begin("ana", "192.0.2.1")) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(outcomes.count { $0 == "(ok,)" } == 5)
            let wait = try await database.rows(
                "SELECT b.retry_after BETWEEN 1 AND 900 FROM console.begin_sign_in('ana', '192.0.2.1') b")
            #expect(wait == ["(t)"])
            #expect(try await database.rows(begin("ana", "192.0.2.2")) == ["(ok,)"])
            for number in 6...20 { #expect(try await database.rows(begin("n\(number)", "192.0.2.1")) == ["(ok,)"]) }
            #expect(try await database.rows(begin("eve", "192.0.2.1")) == ["(too_many,)"])
            #expect(try await database.rows(begin("eve", "::ffff:192.0.2.1")) == ["(too_many,)"])
            // The addresses of one IPv6 network count together.
            for number in 1...5 {
                #expect(try await database.rows(begin("ana", "2001:db8::\(number)")) == ["(ok,)"])
            }
            #expect(try await database.rows(begin("ana", "2001:db8::ff")) == ["(too_many,)"])
            #expect(try await database.rows(begin("ana", "2001:db8:0:1::1")) == ["(ok,)"])
            #expect(try await database.rows(begin("ana", "")) == ["(ok,)"])
            try await database.execute("UPDATE console.attempt SET at = at - interval '15 minutes'")
            #expect(try await database.rows(begin("ana", "192.0.2.1")) == ["(ok,)"])
        }
    }

    @Test("a session ends after 30 minutes without use, after 12 hours, and when it is signed out")
    func sessions() async throws {
        try await OperatorDatabase.run { database in
            try await database.execute("SELECT console.create_operator('ana', NULL, 'viewer')")
            for session in ["idle", "old", "out", "used", "checked"] {
                let link = try #require(try await database.operators.makeLink(for: "ana", seconds: nil))
                _ = try await database.signIn(by: link, session: session)
            }
            func age(_ session: String, _ column: String, _ by: String) async throws {
                try await database.execute(
                    """
                    UPDATE console.session SET \(column) = \(column) - interval '\(by)'
                    WHERE digest = sha256('\(session)')
                    """)
            }
            try await age("idle", "last_used_at", "30 minutes")
            try await age("old", "expires_at", "12 hours")
            try await database.rows("SELECT console.end_session(sha256('out'), '192.0.2.1')")
            for session in ["idle", "old", "out"] { #expect(try await !database.isOpen(session), "\(session)") }
            // Use prolongs a session; a check does not.
            for session in ["used", "checked"] { try await age(session, "last_used_at", "29 minutes") }
            #expect(try await database.isOpen("used"))
            #expect(try await database.rows("SELECT console.use_session(sha256('checked'), false)").count == 1)
            for session in ["used", "checked"] { try await age(session, "last_used_at", "2 minutes") }
            #expect(try await database.isOpen("used"))
            #expect(try await !database.isOpen("checked"))
        }
    }

    @Test("a link works once, and not after its time")
    func links() async throws {
        try await OperatorDatabase.run { database in
            let operators = database.operators
            _ = try await operators.create("ana", password: nil, role: .operator)
            let link = try #require(try await operators.makeLink(for: "ana", seconds: 600))
            #expect(try await database.signIn(by: link, session: "s") == ["(ana,operator)"])
            #expect(try await database.signIn(by: link, session: "t") == ["(,)"])
            let late = try #require(try await operators.makeLink(for: "ana", seconds: 600))
            try await database.execute(
                "UPDATE console.sign_in_link SET expires_at = expires_at - interval '10 minutes'")
            #expect(try await database.signIn(by: late, session: "t") == ["(,)"])
        }
    }

    @Test("the console's role adds entries to the audit log and finishes them once, and can change nothing else")
    func audit() async throws {
        try await OperatorDatabase.run { database in
            _ = try await database.operators.create("ana", password: nil, role: .viewer)
            try await database.rows("SELECT console.record('ana', '', 'trace', NULL, 'ben', '{}', NULL)")
            for outcome in ["422", "ok"] {
                try await database.rows("SELECT console.finish(max(a.id), '\(outcome)') FROM console.audit a")
            }
            for name in ["ana", "a password"] {
                try await database.rows("SELECT console.refuse_sign_in('\(name)', '192.0.2.1')")
            }
            let shown = "SELECT a.operator, a.action, a.outcome FROM console.list_audit"
            #expect(
                try await database.rows("\(shown)(NULL, 3) a")
                    == [#"("",sign_in,refused)"#, "(ana,sign_in,refused)", "(ana,trace,422)"])
            #expect(try await database.rows("\(shown)(2, 3) a") == [#"("",operator_create,ok)"#])
            for statement in [
                "DELETE FROM console.audit", "UPDATE console.audit SET operator = 'eve'",
                "UPDATE console.operator SET role = 'operator'",
                "INSERT INTO console.operator (name, role) VALUES ('eve', 'operator')",
                "SELECT console.create_operator('eve', 'hash', 'operator')",
                "SELECT console.create_link('ana', sha256('x'), NULL)",
                "SELECT count(*) FROM conversations.app",
            ] { #expect(await database.error(statement) == "42501", "\(statement)") }
        }
    }

    @Test("a sweep deletes what has ended, in steps, and keeps the rest")
    func sweep() async throws {
        try await OperatorDatabase.run { database in
            try await database.execute("SELECT console.create_operator('ana', NULL, 'viewer')")
            for number in 1...3 {
                let link = try #require(try await database.operators.makeLink(for: "ana", seconds: nil))
                _ = try await database.signIn(by: link, session: "s\(number)")
                try await database.rows(begin("n\(number)", "192.0.2.1"))
            }
            _ = try await database.operators.makeLink(for: "ana", seconds: 600)
            func counts() async throws -> [String] {
                try await database.rows(
                    """
                    SELECT (SELECT count(*) FROM console.session), (SELECT count(*) FROM console.sign_in_link),
                        (SELECT count(*) FROM console.attempt)
                    """)
            }
            func sweep() async throws -> [String] { try await database.rows("SELECT console.sweep(2)") }
            #expect(try await sweep() == ["(0)"])
            #expect(try await counts() == ["(3,1,3)"])
            try await database.execute("UPDATE console.session SET last_used_at = last_used_at - interval '31 minutes'")
            try await database.execute(
                "UPDATE console.sign_in_link SET expires_at = expires_at - interval '10 minutes'")
            try await database.execute("UPDATE console.attempt SET at = at - interval '15 minutes'")
            let entries = try await database.rows("SELECT a.id FROM console.audit a").count
            try await database.execute("UPDATE console.audit SET at = at - interval '400 days' WHERE id <= 2")
            #expect(try await sweep() == ["(2)"])
            #expect(try await sweep() == ["(1)"])
            #expect(try await counts() == ["(0,0,0)"])
            #expect(try await database.rows("SELECT a.id FROM console.audit a").count == entries - 2)
        }
    }
}
