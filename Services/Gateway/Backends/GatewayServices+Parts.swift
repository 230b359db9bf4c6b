// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model
import RPC
import SwiftProtobuf

/// What a client calls a part of a message: by its id, or, in version 2.0, by where it stands.
enum PartReference: Hashable, Sendable {
    case id(UUID)
    case index(Int)

    /// Reads both forms, whichever the version (spec 15).
    init?(_ text: some StringProtocol) {
        if let id = UUID(uuidString: String(text)) {
            self = .id(id)
        } else if text.utf8.count <= 4, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }), let index = Int(text) {
            self = .index(index)
        } else {
            return nil
        }
    }

    /// Where it stands in `parts`.
    func place(in parts: [MessagePart]) -> Int? {
        switch self {
        case .id(let id): parts.firstIndex { $0.id == id }
        case .index(let index): parts.indices.contains(index) ? index : nil
        }
    }

    fileprivate var proto: ProtoPartReference {
        .with {
            switch self {
            case .id(let id): $0.id = Data(uuid: id)
            case .index(let index): $0.index = Int32(clamping: index)
            }
        }
    }
}

/// Changing the parts of a message that was sent (spec 6.7).
extension GatewayServices {
    /// What is to be done to a message's parts.
    enum PartsEdit: Sendable {
        case add(MessagePart)
        case replace(PartReference, by: MessagePart)
        case remove(PartReference)
        case replaceAll([MessagePart])
    }

    /// - Returns: the message as it is then, and where the part stands that was added or replaced.
    func edit(_ edit: PartsEdit, of message: MessageID, _ call: Call) async throws(Failure) -> (message: Model.Message, index: Int) {
        let request = ProtoEditPartsRequest.with {
            $0.appID = call.appData
            $0.actor = call.user
            $0.messageID = Data(message)
            switch edit {
            case .add(let part): $0.add = ProtoMessagePart(part)
            case .replace(let reference, let part):
                $0.replace = .with {
                    $0.part = reference.proto
                    $0.by = ProtoMessagePart(part)
                }
            case .remove(let reference): $0.remove = reference.proto
            case .replaceAll(let parts): $0.replaceAll = .with { $0.parts = parts.map { ProtoMessagePart($0) } }
            }
            if let origin = call.protoOrigin { $0.origin = origin }
        }
        let answer = try await conversations.call(ConversationsAPI.editParts, request, deadline: call.deadline, trace: call.trace)
        return (try Self.converted { try Model.Message(answer.message) }, Int(answer.index))
    }
}
