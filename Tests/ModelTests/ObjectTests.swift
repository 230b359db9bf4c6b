// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import StrataModel
import Testing

struct ObjectTests {
    @Test("counts are computed from the message count")
    func counts() {
        let counts = UserCounts(excluded: 3, hidden: 1, position: Position(9))
        #expect(counts.unread(of: 10) == 7)
        #expect(counts.total(of: 10) == 9)
        #expect(counts.unread(of: 2) == 0)
        #expect(counts.total(of: 0) == 0)
    }

    @Test("a former participant keeps seeing the counts as of leaving")
    func formerParticipant() {
        let conversation = Conversation(
            id: .random(), createdAt: Timestamp(microseconds: 0), isDistinct: false, participants: [], metadata: nil,
            position: Position(1))
        let counts = UserCounts(excluded: 0, hidden: 0, position: Position(1))
        var view = ConversationView(
            conversation: conversation, isParticipant: true, lastMessage: nil, counts: counts, messageCount: 4)
        #expect(view.unreadCount == 4)
        view.isParticipant = false
        #expect(view.unreadCount == 4)
        #expect(view.totalCount == 4)
    }

    @Test("a message is unread only by recipients who have not read it")
    func unread() {
        let ana = UserID(trusted: "ana")
        let ben = UserID(trusted: "ben")
        let message = Message(
            id: .random(), conversationID: .random(), position: Position(2), ordinal: 1,
            sender: .user(BasicIdentity(userID: ana)),
            sentAt: Timestamp(microseconds: 0), parts: [],
            recipients: [.init(userID: ana, status: .read), .init(userID: ben, status: .delivered)])
        #expect(!message.isUnread(by: ana))
        #expect(message.isUnread(by: ben))
        #expect(!message.isUnread(by: UserID(trusted: "cleo")))
        #expect(message.status(of: ben) == .delivered)
        #expect(message.status(of: UserID(trusted: "cleo")) == nil)
    }

    @Test("a status only moves forward")
    func statusOrder() {
        #expect(RecipientStatus.sent < .delivered)
        #expect(RecipientStatus.delivered < .read)
        #expect([RecipientStatus.sent, .delivered, .read].map(\.name) == ["sent", "delivered", "read"])
    }

    @Test("an invisible user appears offline to others")
    func invisible() {
        let seen = Timestamp(microseconds: 5)
        #expect(
            Presence(status: .invisible, lastSeenAt: seen).forOthers == Presence(status: .offline, lastSeenAt: seen))
        #expect(Presence(status: .away, lastSeenAt: nil).forOthers.status == .away)
    }

    @Test("every failure has the id and status of the protocol, and no two share an id")
    func failureCodes() {
        let expected: [Int: (String, Int)] = [
            1: ("service_unavailable", 503), 2: ("invalid_app_id", 403), 3: ("invalid_request_id", 400),
            4: ("authentication_required", 401),
            5: ("app_suspended", 403), 6: ("user_suspended", 403), 7: ("rate_limit_exceeded", 429),
            8: ("request_timeout", 408),
            9: ("invalid_operation", 422), 10: ("invalid_request", 400), 100: ("internal_server_error", 500),
            101: ("access_denied", 403),
            102: ("not_found", 404), 103: ("object_deleted", 410), 104: ("missing_property", 422),
            105: ("invalid_property", 422),
            106: ("invalid_endpoint", 404),
            107: ("invalid_header", 406), 108: ("conflict", 409), 109: ("method_not_allowed", 405),
            111: ("id_in_use", 409),
            112: ("predecessor_failed", 424),
        ]
        #expect(Failure.Code.allCases.count == expected.count)
        for code in Failure.Code.allCases {
            #expect(code.id == expected[code.rawValue]?.0)
            #expect(code.status == expected[code.rawValue]?.1)
        }
    }

    @Test("failures name the property at fault")
    func failures() {
        #expect(Failure.missing("parts").detail == .property("parts"))
        #expect(Failure.missing("parts").code == .missingProperty)
        #expect(Failure.invalid("id", reason: "is odd").message == "The property id is odd.")
        #expect(Failure.notFound("message").code == .notFound)
        #expect(Failure.accessDenied("No.").code == .accessDenied)
        #expect(Failure.unavailable.code.status == 503)
    }
}
