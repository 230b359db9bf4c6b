// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import Synchronization
import TestTiers
import Testing

@testable import StrataKit

@Suite("sessions on a device")
final class SessionFileTests {
    private let folder: URL
    private var sessions: SessionFile

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "strata-\(UUID().lowercaseText)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        sessions = try SessionFile(folder: folder)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func signIn(_ user: UserID, _ token: String) throws -> SessionFile.Stored {
        let session = try sessions.signedIn(user, token: token)
        try sessions.saveSession(session, isCurrent: true)
        return session
    }

    private func reopened() throws -> SessionFile { try SessionFile(folder: folder) }

    private func code(_ body: () throws -> Void) -> StrataError? { #expect(throws: StrataError.self, performing: body) }

    @Test("each user has a separate store, and the current session is stored", .proves("CLNT-2", "SESS-1"))
    func users() throws {
        let ana = try signIn(WireJSON.ana, "a")
        _ = try sessions.addSession("second")
        try sessions.select("second")
        let ben = try signIn(WireJSON.ben, "b")
        #expect(ana.store != ben.store)
        #expect(ben.identifier == "second")
        #expect(try reopened().current == ben)
        try sessions.select(ana.identifier)
        #expect(try reopened().current == ana)
        #expect(try reopened().all == [ana, ben])
    }

    @Test("after a challenge the store stays, and the same user gets it again")
    func challenged() throws {
        let first = try signIn(WireJSON.ana, "a")
        try sessions.challenge(WireJSON.ana, token: "a")
        #expect(try reopened().current?.token == nil)
        let second = try signIn(WireJSON.ana, "new")
        #expect(second.store == first.store && second.token == "new")
    }

    @Test("a challenge of an earlier token changes nothing")
    func challengedLate() throws {
        _ = try signIn(WireJSON.ana, "a")
        let renewed = try signIn(WireJSON.ana, "b")
        try sessions.challenge(WireJSON.ana, token: "a")
        #expect(sessions.current == renewed)
    }

    @Test("a user without a current session gets their own; in another session it is a duplicate", .proves("SESS-3"))
    func own() throws {
        let ana = try signIn(WireJSON.ana, "a")
        _ = try sessions.addSession("second")
        try sessions.select("second")
        let duplicate = code { _ = try sessions.signedIn(WireJSON.ana, token: "b") }
        #expect(duplicate?.code == .duplicateSession && duplicate?.userID == WireJSON.ana)
        try sessions.removeSession("second")
        #expect(try sessions.signedIn(WireJSON.ana, token: "b").store == ana.store)
    }

    @Test("a user cannot sign in to another user's session", .proves("AUTH-2"))
    func other() throws {
        _ = try signIn(WireJSON.ana, "a")
        let error = code { _ = try sessions.signedIn(WireJSON.ben, token: "b") }
        #expect(error?.code == .alreadyAuthenticated && error?.userID == WireJSON.ana)
    }

    @Test(
        "an identifier names one session; a user's own has their name, or another one if that is taken",
        .proves("SESS-3"))
    func identifiers() throws {
        #expect(try sessions.addSession("ana").userID == nil)
        #expect(code { _ = try sessions.addSession("ana") }?.code == .duplicateSession)
        #expect(code { _ = try sessions.addSession("") }?.code == .invalidArgument)
        let ana = try signIn(WireJSON.ana, "a")
        #expect(ana.identifier != "ana" && ana.identifier.hasPrefix("ana"))
        #expect(sessions.all.count == 2)
    }

    @Test("a removed session is gone, also if it was current")
    func removed() throws {
        let ana = try signIn(WireJSON.ana, "a")
        try sessions.removeSession(ana.identifier)
        #expect(try reopened().current == nil)
        #expect(try reopened().all.isEmpty)
    }

    @Test("a change that cannot be written has no effect", .proves("ERR-2"))
    func unwritable() throws {
        let ana = try signIn(WireJSON.ana, "a")
        try FileManager.default.removeItem(at: folder)
        #expect(throws: (any Error).self) { try sessions.removeSession(ana.identifier) }
        #expect(sessions.current == ana)
    }

    @Test("an unreadable session file throws and stays unchanged, and a missing one has no sessions", .proves("SESS-4"))
    func unreadable() throws {
        let (file, store) = (
            folder.appending(path: "sessions.json"), folder.appending(path: "\(UUID().lowercaseText).sqlite")
        )
        try Data("messages".utf8).write(to: store)
        #expect(try reopened().all.isEmpty)
        try Data("{".utf8).write(to: file)
        #expect(code { _ = try reopened() }?.code == .devicePersistenceFailure)
        #expect(try Data(contentsOf: file) == Data("{".utf8))
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        #expect(code { _ = try reopened() }?.code == .devicePersistenceFailure)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    }

    @Test("nothing opens and nothing changes while tokens are unreadable", .proves("SESS-4"))
    func lockedTokens() throws {
        let ana = try signIn(WireJSON.ana, "a")
        let before = try Data(contentsOf: folder.appending(path: "sessions.json"))
        let tokens = TestTokens()
        tokens.isLocked.withLock { $0 = true }
        #expect(code { _ = try SessionFile(folder: folder, tokens: tokens) }?.code == .devicePersistenceFailure)
        #expect(try Data(contentsOf: folder.appending(path: "sessions.json")) == before)
        #expect(try reopened().current == ana)
    }

    @Test("a session file of a newer version is refused and kept", .proves("STORE-6"))
    func newer() throws {
        let text = Data(#"{"format": 2, "users": {}}"#.utf8)
        try text.write(to: folder.appending(path: "sessions.json"))
        #expect(code { _ = try reopened() }?.code == .newerStore)
        #expect(try Data(contentsOf: folder.appending(path: "sessions.json")) == text)
    }

    // MARK: Tokens

    @Test("tokens have a separate file that only its owner can read", .proves("STORE-7"))
    func tokenFile() throws {
        var ana = try signIn(WireJSON.ana, "secret-a")
        let (sessionsFile, tokenFile) = (folder.appending(path: "sessions.json"), folder.appending(path: "tokens.json"))
        #expect(try !String(decoding: Data(contentsOf: sessionsFile), as: UTF8.self).contains("secret"))
        for file in [sessionsFile, tokenFile] {
            #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        }
        #expect(try reopened().current?.token == "secret-a")
        try sessions.challenge(WireJSON.ana, token: "secret-a")
        #expect(!FileManager.default.fileExists(atPath: tokenFile.path))
        ana.token = nil
        #expect(try reopened().current == ana)
    }

    @Test("a token that cannot be stored changes nothing", .proves("ERR-2"))
    func tokenNotKept() throws {
        let tokens = TestTokens()
        var sessions = try SessionFile(folder: folder, tokens: tokens)
        try sessions.saveSession(try sessions.signedIn(WireJSON.ana, token: "a"), isCurrent: true)
        let before = sessions.all
        tokens.isLocked.withLock { $0 = true }
        #expect(throws: (any Error).self) {
            try sessions.saveSession(.init(identifier: "ben", userID: WireJSON.ben, token: "b"), isCurrent: true)
        }
        #expect(sessions.all == before && sessions.current == before.first)
        tokens.isLocked.withLock { $0 = false }
        #expect(try SessionFile(folder: folder, tokens: tokens).all == before)
    }

    // MARK: Ended sessions

    @Test("a session that was removed only partly is removed at the next start", .proves("AUTH-7"))
    func tombstone() throws {
        let tokens = TestTokens()
        var sessions = try SessionFile(folder: folder, tokens: tokens)
        let ana = try sessions.signedIn(WireJSON.ana, token: "a")
        try sessions.saveSession(ana, isCurrent: true)
        try Data("messages".utf8).write(to: folder.appending(path: ana.store))
        try sessions.removeSession(ana.identifier)
        tokens.isLocked.withLock { $0 = true }
        #expect(throws: (any Error).self) { try sessions.removeData(of: ana.store) }
        sessions.removeLeftovers()
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: ana.store).path))
        tokens.isLocked.withLock { $0 = false }
        sessions = try SessionFile(folder: folder, tokens: tokens)
        sessions.removeLeftovers()
        #expect(tokens.tokens.withLock { $0 }.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["sessions.json"])
    }
}

/// An in-memory token store that a test can lock, like a locked device.
final class TestTokens: TokenStore {
    let tokens = Mutex<[String: String]>([:])
    let isLocked = Mutex(false)

    private func checkLock() throws {
        if isLocked.withLock({ $0 }) { throw StrataError(.devicePersistenceFailure, "The device is locked.") }
    }

    func token(of store: String) throws -> String? {
        try checkLock()
        return tokens.withLock { $0[store] }
    }

    func setToken(_ token: String?, of store: String) throws {
        try checkLock()
        tokens.withLock { $0[store] = token }
    }
}
