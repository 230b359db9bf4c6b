// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel
import TestSupport
import Testing

@testable import Conversations

/// Follows a conversation's publications as a gateway does, compares them with the log, and keeps every user's counts.
struct Follower {
    let calls: CallsFixture
    let id: ConversationID
    /// Counts by user, as last published.
    private(set) var counts: [String: UserCounts] = [:]
    private var notices = 0

    init(calls: CallsFixture, id: ConversationID) {
        self.calls = calls
        self.id = id
        for user in ["ana", "ben", "cleo", "dora"] {
            counts[user] = UserCounts(excluded: 0, hidden: 0, position: Position(1))
        }
    }

    mutating func follow(
        _ expected: ConversationModel.Outcome, _ failure: Failure?, by user: String, after head: Position,
        _ place: Comment
    ) async throws {
        let refusal: Failure.Code? = if case .refused(let code) = expected { code } else { nil }
        #expect(failure?.code == refusal, "\(place): \(String(describing: failure))")
        let (change, own) = if case .done(let change, let own) = expected { (change, own) } else { (false, false) }
        let heard = try calls.publishedChanges(of: id).filter { $0.position > head }
        #expect(heard.map(\.position) == (change ? [head.next] : []), place)
        // The log returns current bodies. Here they equal the published ones, because nothing has changed since.
        #expect(try await calls.readChanges(id, after: head).changes == heard.map(\.withoutCounts), place)
        for (name, value) in heard.flatMap(\.counts) { counts[name.rawValue] = value }
        try keep(try calls.published.notices(), own, by: user, place)
    }

    private mutating func keep(_ all: [UserNotice], _ own: Bool, by user: String, _ place: Comment) throws {
        var changes = 0
        for notice in all.dropFirst(notices) {
            guard case .change(let change) = notice.content else { continue }
            changes += 1
            #expect(notice.user.rawValue == user, place)
            switch change.content {
            case .conversationHidden:
                let count = try calls.publishedChanges(of: id).last?.messageCount ?? 0
                counts[user] = UserCounts(excluded: count, hidden: count, position: change.position)
            case .messageHidden(_, let view): counts[user] = view?.counts
            case .messagesHidden(_, let view): counts[user] = view.counts
            default: Issue.record("unexpected \(change.content)")
            }
        }
        #expect(changes == (own ? 1 : 0), place)
        notices = all.count
    }
}

extension UUID {
    init(seededBy random: inout some RandomNumberGenerator) {
        var value: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &value) { bytes in
            for index in bytes.indices { bytes[index] = UInt8.random(in: .min ... .max, using: &random) }
        }
        self.init(uuid: value)
    }
}
