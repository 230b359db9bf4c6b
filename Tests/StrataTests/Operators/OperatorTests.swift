// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import TestCluster
import Testing

@testable import StrataCommand

@Suite("operators of the console")
struct OperatorTests {
    private static let password = "correct horse battery"

    @Test("an operator is created once, disabled, and enabled with another role; the audit log names each change")
    func lifecycle() async throws {
        try await OperatorDatabase.run { database in
            let operators = database.operators
            let hash = try PasswordHash(of: Self.password)
            #expect(try await operators.list() == [])
            #expect(try await operators.create("ana", password: hash, role: .viewer))
            #expect(try await !operators.create("ana", password: hash, role: .operator))
            #expect(try await operators.create("ben", password: nil, role: .operator))
            #expect(try await operators.list().map(\.name) == ["ana", "ben"])
            #expect(try await operators.list().map(\.hasPassword) == [true, false])
            #expect(try await operators.disable("ana"))
            #expect(try await operators.list()[0].disabledAt != nil)
            #expect(try await operators.makeLink(for: "ana", seconds: 600) == nil)
            #expect(try await operators.enable("ana", role: .operator))
            let ana = try await operators.list()[0]
            #expect(ana.role == "operator" && ana.disabledAt == nil)
            #expect(try await operators.enable("ana", role: nil))
            #expect(try await operators.list()[0].role == "operator")
            #expect(try await operators.makeLink(for: "ana", seconds: 600)?.hasPrefix("/console/link/") == true)
            for isDone in [
                try await operators.disable("eve"), try await operators.enable("eve", role: nil),
                try await operators.setPassword(hash, of: "eve"),
                try await operators.makeLink(for: "eve", seconds: nil) != nil,
            ] { #expect(!isDone) }
            #expect(
                try await database.rows(
                    "SELECT a.operator, a.action, a.target, a.detail ->> 'role' FROM console.list_audit(NULL, 10) a")
                    == [
                        #"("",operator_link,ana,)"#, #"("",operator_enable,ana,)"#,
                        #"("",operator_enable,ana,operator)"#, #"("",operator_disable,ana,)"#,
                        #"("",operator_create,ben,operator)"#, #"("",operator_create,ana,viewer)"#,
                    ])
        }
    }

    @Test("a new password and the disabling of an operator end their sessions and delete their link")
    func endings() async throws {
        try await OperatorDatabase.run { database in
            let operators = database.operators
            for change in ["password", "disable"] {
                let name = "of-\(change)"
                _ = try await operators.create(name, password: nil, role: .viewer)
                let link = try #require(try await operators.makeLink(for: name, seconds: nil))
                #expect(try await database.signIn(by: link, session: name) == ["(\(name),viewer)"])
                let unused = try #require(try await operators.makeLink(for: name, seconds: nil))
                #expect(try await database.isOpen(name))
                if change == "password" {
                    #expect(try await operators.setPassword(PasswordHash(of: Self.password), of: name))
                } else {
                    #expect(try await operators.disable(name))
                    #expect(try await operators.enable(name, role: nil))
                }
                #expect(try await !database.isOpen(name))
                #expect(try await database.signIn(by: unused, session: "again") == ["(,)"])
            }
        }
    }

    @Test("the commands create, list and change operators, and print a link", .timeLimit(.minutes(2)))
    func commands() async throws {
        try await OperatorDatabase.run { database in
            let program = try StrataProgram("operators")
            try Self.password.write(toFile: program.directory + "/password", atomically: false, encoding: .utf8)
            func run(_ words: String...) async throws -> StrataProgram.Exit {
                try await program.run(["operator"] + words, environment: ["STRATA_DATABASE_URL": database.url])
            }
            let create = ["create", "ana", "--role", "operator", "--password-file", "password"]
            #expect(try await run("list").output.contains("operator create NAME"))
            #expect(
                try await program.run(["operator"] + create, environment: ["STRATA_DATABASE_URL": database.url]).output
                    == "ana  is created, as operator\n")
            #expect(
                try await program.run(["operator"] + create, environment: ["STRATA_DATABASE_URL": database.url])
                    .errorOutput.contains("The operator ana exists."))
            let listed = try await run("list", "--json")
            let rows = try JSONDecoder().decode([OperatorListCommand.Row].self, from: Data(listed.output.utf8))
            #expect(rows.map(\.name) == ["ana"] && rows.map(\.hasPassword) == [true])
            #expect(try await run("disable", "ana").output == "ana  is disabled\n")
            #expect(try await run("list").output.contains("ana  disabled since"))
            #expect(try await run("link", "ana").errorOutput.contains("does not exist, or is disabled"))
            #expect(try await run("enable", "ana", "--role", "viewer").output == "ana  is enabled, as viewer\n")
            #expect(
                try await run("password", "ana", "--password-file", "password").output == "ana  has a new password\n")
            let link = try await run("link", "ana", "--url", "https://console.example.org/").output
            #expect(link.hasPrefix("https://console.example.org/console/link/"))
            #expect(try await run("link", "ana").output.hasPrefix("http://localhost:8090/console/link/"))
            let path = try #require(link.firstRange(of: "/console")).lowerBound
            // The second link has replaced the first one.
            #expect(
                try await database.signIn(by: link[path...].trimmingCharacters(in: .newlines), session: "s") == ["(,)"])
            #expect(try await run("disable", "eve").errorOutput.contains("The operator eve does not exist."))
        }
    }
}

extension OperatorDatabase {
    /// Signs an operator in by the path of a link, as the console does.
    /// - Parameter session: A text whose digest is that of the session.
    func signIn(by path: String, session: String) async throws -> [String] {
        let token = path.split(separator: "/").last ?? ""
        return try await rows(
            "SELECT u.* FROM console.use_link(sha256('\(token)'), sha256('\(session)'), 'csrf', '192.0.2.1') u")
    }

    /// Returns true if the session is open.
    func isOpen(_ session: String) async throws -> Bool {
        try await rows("SELECT u.operator FROM console.use_session(sha256('\(session)')) u").count == 1
    }
}
