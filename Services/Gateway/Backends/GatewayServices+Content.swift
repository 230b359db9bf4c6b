// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import RPC
import StrataModel
import SwiftProtobuf

/// Rich content: what it is and who may see it is kept by the conversations service, its bytes by the gateways (docs/conformance.md §8).
extension GatewayServices {
    /// Notes that the caller is about to upload so many bytes.
    /// - Parameter conversation: for which the app's own server uploads them; nil: a user does.
    func createContent(_ upload: ContentTokens.Upload, in conversation: ConversationID? = nil, for call: Call) async throws(Failure) {
        let request = ProtoCreateContentRequest.with {
            $0.appID = call.appData
            $0.owner = call.user
            $0.id = Data(upload.id)
            $0.mimeType = upload.type
            $0.size = Int64(clamping: upload.size)
            if let conversation { $0.conversationID = Data(conversation) }
        }
        _ = try await conversations.call(AccountAPI.createContent, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
    }

    /// All of its bytes are stored.
    /// - Throws: `not_found` if no upload is expected any more: the bytes are to be removed again.
    func finishContent(_ id: ContentID, trace: TraceID) async throws(Failure) {
        let request = ProtoFinishContentRequest.with { $0.contentID = Data(id) }
        _ = try await conversations.call(AccountAPI.finishContent, with: request, deadline: .now + .seconds(10), trace: trace)
    }

    /// - Parameter conversation: of which the app's own server asks for it; nil: a user asks.
    /// - Throws: `not_found` for those who may not see it, too.
    func content(_ id: ContentID, in conversation: ConversationID? = nil, for call: Call) async throws(Failure) -> (size: Int, isUploaded: Bool) {
        let request = ProtoGetContentRequest.with {
            $0.appID = call.appData
            $0.userID = call.user
            $0.contentID = Data(id)
            if let conversation { $0.conversationID = Data(conversation) }
        }
        let answer = try await conversations.call(
            AccountAPI.getContent, with: request, deadline: call.deadline, trace: call.trace, answers: call.answers)
        return (Int(clamping: answer.size), answer.isUploaded)
    }

    /// Takes what has been in no message for so long out of reach.
    /// - Returns: what is out of reach, and still has to be removed and forgotten.
    func sweepContents(age: Duration, limit: Int) async throws(Failure) -> [ContentID] {
        let request = ProtoSweepContentsRequest.with {
            $0.age = age.components.seconds
            $0.limit = Int32(clamping: limit)
        }
        let answer = try await conversations.call(AccountAPI.sweepContents, with: request, deadline: .now + .seconds(30), trace: .random())
        return try Self.converted { try answer.doomed.map { try ContentID(contract: $0) } }
    }

    /// Their bytes are gone.
    func forgetContents(_ ids: [ContentID]) async throws(Failure) {
        let request = ProtoForgetContentsRequest.with { $0.contentIds = ids.map { Data($0) } }
        _ = try await conversations.call(AccountAPI.forgetContents, with: request, deadline: .now + .seconds(30), trace: .random())
    }
}
