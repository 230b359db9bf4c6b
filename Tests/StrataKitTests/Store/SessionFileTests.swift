// SPDX-License-Identifier: Apache-2.0
import Foundation
import RequirementTrait
import StrataModel
import Testing

@testable import StrataKit

@Suite("the sessions on a device")
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

    @Test("each user has a store of their own, and the current session is kept", .proves("CLNT-2", "SESS-1"))
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

    @Test("after a challenge the store stays, and the same user gets it back")
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

    @Test("without a current session a user gets their own, and in another one they have a duplicate", .proves("SESS-3"))
    func own() throws {
        let ana = try signIn(WireJSON.ana, "a")
        _ = try sessions.addSession("second")
        try sessions.select("second")
        let duplicate = code { _ = try sessions.signedIn(WireJSON.ana, token: "b") }
        #expect(duplicate?.code == .duplicateSession && duplicate?.userID == WireJSON.ana)
        try sessions.removeSession("second")
        #expect(try sessions.signedIn(WireJSON.ana, token: "b").store == ana.store)
    }

    @Test("another user cannot sign in where one is signed in", .proves("AUTH-2"))
    func other() throws {
        _ = try signIn(WireJSON.ana, "a")
        let error = code { _ = try sessions.signedIn(WireJSON.ben, token: "b") }
        #expect(error?.code == .alreadyAuthenticated && error?.userID == WireJSON.ana)
    }

    @Test("an identifier names one session; a user's own is named after them, or else differently", .proves("SESS-3"))
    func identifiers() throws {
        #expect(try sessions.addSession("ana").userID == nil)
        #expect(code { _ = try sessions.addSession("ana") }?.code == .duplicateSession)
        #expect(code { _ = try sessions.addSession("") }?.code == .invalidArgument)
        let ana = try signIn(WireJSON.ana, "a")
        #expect(ana.identifier != "ana" && ana.identifier.hasPrefix("ana"))
        #expect(sessions.all.count == 2)
    }

    @Test("a removed session is gone, also as the current one")
    func removed() throws {
        let ana = try signIn(WireJSON.ana, "a")
        try sessions.removeSession(ana.identifier)
        #expect(try reopened().current == nil)
        #expect(try reopened().all.isEmpty)
    }

    @Test("a change that cannot be written changes nothing", .proves("ERR-2"))
    func unwritable() throws {
        let ana = try signIn(WireJSON.ana, "a")
        try FileManager.default.removeItem(at: folder)
        #expect(throws: (any Error).self) { try sessions.removeSession(ana.identifier) }
        #expect(sessions.current == ana)
    }

    @Test("a file that cannot be read has no sessions")
    func broken() throws {
        try Data("{".utf8).write(to: folder.appending(path: "sessions.json"))
        #expect(try reopened().all.isEmpty)
    }
}
