// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import StrataModel

@testable import Conversations

/// Calls of functions of the database, as text for ``CallsFixture/holding(_:until:then:_:)``.
extension CallsFixture {
    func sqlPatch(
        _ id: ConversationID, by actor: String, participants: String = "[]", metadata: String? = nil
    ) -> String {
        "conversations.patch_participants('\(app)', '\(actor)', '\(id)', '\(participants)', 6, \(metadata.map { "'\($0)'" } ?? "NULL"), NULL, NULL)"
    }

    /// Returns a statement that takes only the lock that every change takes.
    func sqlLock(_ id: ConversationID) -> String { "FROM conversations.conversation WHERE id = '\(id)' FOR UPDATE" }

    func sqlSend(_ id: ConversationID, by actor: String, _ message: MessageID = .random()) -> String {
        "conversations.send_message('\(app)', '\(actor)', '\(id)', '\(message)', '', NULL, NULL, NULL)"
    }

    func sqlDelete(_ id: ConversationID, by actor: String) -> String {
        "conversations.delete_conversation('\(app)', '\(actor)', '\(id)', 'all_participants', false, NULL, NULL, NULL)"
    }

    /// Returns a call that patches metadata only, as the metadata service makes it.
    func sqlMetadata(_ id: ConversationID, by actor: String, _ operations: [MetadataOperation]) -> String {
        "SELECT metadata.patch('\(app)', '\(id)', '\(actor)', '\(MetadataJSON.encode(operations))', NULL, NULL, NULL)"
    }

    func sqlCreate(
        _ participants: [String], by actor: String, id: ConversationID, metadata: [String: String]? = nil
    ) -> String {
        func array(_ texts: [String]?) -> String {
            texts.map { "ARRAY[\($0.map { "'\($0)'" }.joined(separator: ","))]::text[]" } ?? "NULL"
        }
        let leaves = metadata.map { Array($0) }
        return """
            conversations.create_conversation('\(app)', '\(actor)', '\(id)', \(array(participants)), true, \(array(leaves?.map(\.key))),
                \(array(leaves?.map(\.value))), 6, NULL, NULL)
            """
    }
}
