// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import DatabaseKit
import Foundation
import Testing

@testable import StrataCommand

@Suite("hashes of passwords")
struct PasswordHashTests {
    @Test("a hash matches its password only, also after it was stored, and no two are equal")
    func roundTrip() throws {
        let hash = try PasswordHash(of: "correct horse battery")
        #expect(hash.text.hasPrefix("scrypt$32768$8$1$"))
        #expect(try PasswordHash(of: "correct horse battery") != hash)
        let stored = try #require(PasswordHash(hash.text))
        #expect(stored == hash)
        #expect(stored.matches("correct horse battery"))
        #expect(!stored.matches("correct horse batterY") && !stored.matches(""))
        #expect(!PasswordHash.placeholder.matches("") && !PasswordHash.placeholder.matches("correct horse battery"))
    }

    @Test("the hash is that of RFC 7914")
    func vector() throws {
        let hash = try #require(
            PasswordHash("scrypt$16384$8$1$U29kaXVtQ2hsb3JpZGU=$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI="))
        #expect(hash.matches("pleaseletmein"))
    }

    @Test("a character may be composed in several ways")
    func normalization() throws {
        #expect(try PasswordHash(of: "caf\u{e9} caf\u{e9} cafe").matches("cafe\u{301} cafe\u{301} cafe"))
    }

    @Test(
        "a text that is no hash, or would need much memory, is refused",
        arguments: [
            "", "scrypt", "scrypt$32768$8$1$AAAA", "bcrypt$32768$8$1$AAAA$AAAA", "scrypt$32768$8$1$AAAA$AAAA",
            "scrypt$3$8$1$AAAA$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI=",
            "scrypt$1073741824$8$1$AAAA$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI=",
            "scrypt$32768$-8$1$AAAA$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI=",
            "scrypt$32768$8$1$$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI=",
        ])
    func malformed(text: String) {
        #expect(PasswordHash(text) == nil)
    }

    @Test("a password is asked twice without a file, and refused for its length, its characters or a difference")
    func entry() async throws {
        try await withTemporaryDirectory { directory in
            func entry(_ words: [String], _ answers: [String?] = []) throws -> PasswordHash {
                var answers = answers
                return try NewPassword.parse(words).hash { _ in answers.isEmpty ? nil : answers.removeFirst() }
            }
            let password = "correct horse battery"
            #expect(try entry([], [password, password]).matches(password))
            for (answers, says) in [
                ([password, "another"], "differ"), (["short", "short"], "12 to 1,024"),
                ([password + "\u{3}", password + "\u{3}"], "control"), ([nil], "--password-file"),
                ([password, nil], "--password-file"),
            ] as [([String?], String)] {
                let failure = #expect(throws: CommandFailure.self) { try entry([], answers) }
                #expect(failure?.message.contains(says) == true)
            }
            let file = directory + "/password"
            try (password + "\n").write(toFile: file, atomically: false, encoding: .utf8)
            #expect(try entry(["--password-file", file]).matches(password))
            let missing = #expect(throws: CommandFailure.self) { try entry(["--password-file", file + "2"]) }
            #expect(missing?.status == .noInput)
        }
    }
}
