// SPDX-License-Identifier: Apache-2.0
import Foundation
import GRDB
import ProtocolClient
import TestTiers
import Testing

@testable import StrataKit

@Suite("errors")
struct StrataErrorTests {
    @Test("an error has LayerKit's number, a name and a message", .proves("ERR-1"))
    func code() {
        let error = StrataError(.invalidKey, "The key a b has a space.")
        #expect((error.code.number, error.code.domain) == (2000, .client))
        #expect(error.message == "The key a b has a space.")
        #expect(error.description == "invalidKey (2000): The key a b has a space.")
        #expect(error.underlyingErrors.isEmpty)
    }

    @Test("error numbers equal those of LayerKit's header files", .proves("ERR-1"))
    func numbers() {
        let codes: [(Int, StrataError.Code)] = [
            (1000, .unknown), (1001, .unauthenticated), (1002, .invalidMessage), (1003, .tooManyParticipants),
            (1004, .dataLengthExceedsMaximum),
            (1006, .objectNotSent), (1007, .contentAlreadyAvailable), (1008, .contentAlreadyPurged),
            (1009, .contentInlined),
            (1010, .conversationAlreadyDeleted), (1011, .userNotAParticipant), (1013, .distinctConversationExists),
            (1014, .participantNotAParticipant), (1015, .distinctDeletedConversationExists),
            (1016, .participantsContainBlockedUser), (2000, .invalidKey), (2001, .invalidValue),
            (5000, .queryControllerExecutionFailure), (6000, .alreadyConnected), (6001, .invalidAppID),
            (6002, .networkRequestFailed),
            (6003, .connectionTimeout), (6004, .asyncTimeout), (6005, .invalidIdentifier), (6006, .notConnected),
            (7004, .notAuthenticated),
            (7005, .alreadyAuthenticated), (7006, .invalidToken), (9001, .devicePersistenceFailure),
            (9002, .synchronizationFailure),
            (9004, .manualSyncFailedNoConnection), (9005, .manualSyncAlreadyInProgress),
            (9006, .manualSyncAlreadyFullySynced),
            (9007, .manualSyncNothingToSync), (11001, .messageDeleted), (11002, .conversationDeleted),
            (12001, .invalidSession),
            (12002, .duplicateSession),
        ]
        for (number, code) in codes { #expect(code.number == number && code.domain == .client) }
        let querying: [StrataError.Code] = [.unqueryableProperty, .unsupportedPredicate, .unsupportedSort]
        #expect(querying.map(\.number) == [12000, 12001, 12002])
        #expect(querying.allSatisfy { $0.domain == .querying })
    }

    @Test("network errors are the cause of request and connection errors", .proves("ERR-1"))
    func network() async throws {
        let client = try ProtocolClient(baseURL: "http://127.0.0.1:1")
        let cause = await #expect(throws: ProtocolClientError.self) { try await client.call("GET", "/") }
        try await client.shutdown()
        let error = try #require(cause)
        for failure in [RequestFailure(error).error, ConnectionFailure(opening: error).error] {
            #expect(failure.code == .networkRequestFailed)
            #expect((failure.underlyingErrors.first as? ProtocolClientError)?.code == error.code)
        }
    }

    @Test("the last failure is the cause of an abandoned request's error", .proves("ERR-1"))
    func gaveUp() throws {
        var counter = RetryCounter()
        let last = StrataError(.networkRequestFailed, "HTTP 503")
        for _ in 1..<RetryPolicy().tries {
            _ = counter.tryFailed(.transient(last, retryAfter: nil), isConnected: true, random: 0)
        }
        guard
            case .giveUp(let error) = counter.tryFailed(.transient(last, retryAfter: nil), isConnected: true, random: 0)
        else {
            throw StrataError(.unknown, "not given up")
        }
        #expect(error.underlyingErrors as? [StrataError] == [last])
    }

    @Test("the database's error is the cause of the error for an unusable store", .proves("ERR-1"))
    func database() throws {
        let clients = OfflineClients()
        let client = try? clients.client((WireJSON.ana, "a"))
        #expect(client != nil)
        let store = try #require(try clients.stores.first)
        let folder = clients.directory.appending(path: "copy")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: clients.folder, to: folder.appending(path: clients.folder.lastPathComponent))
        let file = folder.appending(path: clients.folder.lastPathComponent).appending(path: store)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        let error = #expect(throws: StrataError.self) { try clients.client(in: folder) }
        #expect(error?.code == .devicePersistenceFailure)
        #expect(error?.underlyingErrors.first is DatabaseError)
    }

    @Test("an error has the data of its code", .proves("ERR-1"))
    func payloads() throws {
        let store = try StoreFixture()
        try store.apply(WireJSON.created(WireJSON.conversation(.test(1), isDistinct: true)))
        let error = #expect(throws: StrataError.self) {
            try store.write { try $0.newConversation(StoreFixture.newConversation(isDistinct: true)) }
        }
        #expect(error?.code == .distinctConversationExists)
        #expect(error?.existing == .test(1))
    }

    @Test("two errors are equal if all members except their causes are")
    func equality() {
        let error = StrataError(.networkRequestFailed, "lost", underlying: [StrataError(.unknown, "")])
        #expect(error == StrataError(.networkRequestFailed, "lost"))
        #expect(error.hashValue == StrataError(.networkRequestFailed, "lost").hashValue)
        #expect(error != StrataError(.networkRequestFailed, "other"))
        #expect(error != StrataError(.networkRequestFailed, "lost", userID: WireJSON.ana))
    }
}
