// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

/// Rich content. The conversations service keeps its type, size and access rights; the gateways keep its bytes
/// (docs/conformance.md §8).
extension GatewayServices {
    /// Records that the caller is about to upload content.
    /// - Parameter conversation: the conversation for which the app's own server uploads; nil for a user's upload.
    func createContent(
        _ upload: ContentTokens.Upload, in conversation: ConversationID? = nil, for call: Call
    ) async throws(Failure) {
        let request = ProtoCreateContentRequest.with {
            $0.appID = call.appData
            $0.owner = call.user
            $0.id = Data(upload.id)
            $0.mimeType = upload.type
            $0.size = Int64(clamping: upload.size)
            if let conversation { $0.conversationID = Data(conversation) }
        }
        _ = try await conversations.call(AccountAPI.createContent, with: request, for: call)
    }

    /// Records that all bytes are stored.
    /// - Throws: `not_found` if the upload is no longer expected. The caller must remove the bytes.
    func finishContent(_ upload: ContentTokens.Upload, trace: TraceID) async throws(Failure) {
        let request = ProtoFinishContentRequest.with {
            $0.contentID = Data(upload.id)
            if let app = upload.app { $0.appID = Data(app) }
        }
        _ = try await conversations.call(
            AccountAPI.finishContent, with: request, for: .within(.seconds(10), trace: trace))
    }

    /// Returns the size of content and whether it has been uploaded.
    /// - Parameter conversation: the conversation about which the app's own server asks; nil for a user's request.
    /// - Throws: `not_found`, also if the caller may not see the content.
    func content(
        _ id: ContentID, in conversation: ConversationID? = nil, for call: Call
    ) async throws(Failure) -> (size: Int, isUploaded: Bool) {
        let request = ProtoGetContentRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.contentID = Data(id)
            if let conversation { $0.conversationID = Data(conversation) }
        }
        let answer = try await conversations.call(AccountAPI.getContent, with: request, for: call)
        return (Int(clamping: answer.size), answer.isUploaded)
    }

    /// Makes content of a database inaccessible that has been in no message for `age`.
    /// - Returns: inaccessible content whose bytes and record still have to be removed.
    func sweepContents(
        of database: DatabaseName, age: Duration, limit: Int
    ) async throws(Failure) -> [ContentID] {
        let request = ProtoSweepContentsRequest.with {
            $0.age = age.components.seconds
            $0.limit = Int32(clamping: limit)
            $0.database = database.description
        }
        let answer = try await conversations.call(AccountAPI.sweepContents, with: request, for: .within(.seconds(30)))
        return try Self.converted { try answer.doomed.map { try ContentID(contract: $0) } }
    }

    /// Removes the records of content of a database whose bytes have been removed.
    func forgetContents(_ ids: [ContentID], of database: DatabaseName) async throws(Failure) {
        let request = ProtoForgetContentsRequest.with {
            $0.contentIds = ids.map { Data($0) }
            $0.database = database.description
        }
        _ = try await conversations.call(AccountAPI.forgetContents, with: request, for: .within(.seconds(30)))
    }
}
