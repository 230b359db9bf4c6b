// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel
import SwiftProtobuf

extension GatewayServices {
    /// Records receipts of several messages of one conversation, each named once.
    /// - Returns: the messages that are not visible to the user there, and the log position of the other receipts.
    func giveReceipts(
        _ messages: [MessageID], in conversation: ConversationID, kind: ReceiptKind, for call: Call
    ) async throws(Failure) -> (ignored: [MessageID], place: LogPosition) {
        let request = ProtoGiveReceiptsRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.conversationID = Data(conversation)
            $0.messageIds = messages.map { Data($0) }
            $0.kind = kind.rawValue
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(ConversationsAPI.giveReceipts, with: request, for: call)
        return (
            try Self.converted { try answer.ignored.map { try MessageID(contract: $0) } }, LogPosition(answer.place)
        )
    }
}
