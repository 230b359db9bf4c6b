// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import Testing

@testable import Conversations

@Suite struct PublisherTests {
    private func change(_ position: Int64, in conversation: ConversationID) -> Change {
        Change(
            appID: AppID(rawValue: UUID()), conversationID: conversation, position: Position(position),
            createdAt: Timestamp(microseconds: position),
            actor: UserID(trusted: "ana"), origin: nil, messageCount: 0, counts: [:], content: .conversationDeleted)
    }

    @Test("changes go to their conversation's channel, in the order of their positions")
    func order() throws {
        let recorder = ServiceFixture.Recorder()
        let publisher = Publisher(logger: ServiceFixture.quietLogger) { recorder.record($0, $1) }
        let (first, second) = (ConversationID.random(), ConversationID.random())
        publisher.publish([change(3, in: first), change(1, in: first), change(2, in: second), change(2, in: first)])
        publisher.publish([change(4, in: first)])
        publisher.publish([])
        let changes = try recorder.changes()
        #expect(changes.filter { $0.conversationID == first }.map(\.position.rawValue) == [1, 2, 3, 4])
        #expect(changes.filter { $0.conversationID == second }.map(\.position.rawValue) == [2])
        for (entry, change) in zip(recorder.all, changes) {
            #expect(entry.channel == Channels.conversation(change.conversationID))
        }
    }

    @Test("notices go to their user's channel and are decoded unchanged")
    func notices() throws {
        let recorder = ServiceFixture.Recorder()
        let publisher = Publisher(logger: ServiceFixture.quietLogger) { recorder.record($0, $1) }
        let app = AppID.random()
        let notices = [
            UserNotice(appID: app, user: UserID(trusted: "ana"), content: .added(.random(), position: Position(1))),
            UserNotice(appID: app, user: UserID(trusted: "ben"), content: .sessionEnded(tokenDigest: [1, 2])),
        ]
        publisher.notify(notices)
        #expect(try recorder.notices() == notices)
        #expect(recorder.all.map(\.channel) == notices.map { Channels.user(app: $0.appID, user: $0.user) })
    }
}
