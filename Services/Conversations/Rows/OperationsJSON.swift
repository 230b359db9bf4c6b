// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel

/// The small JSON values that go into and come out of the database's functions; never those of clients.
enum OperationsJSON {
    private struct ParticipantOperation: Encodable {
        let kind: String
        let users: [String]
    }

    /// `[{"kind":"add","users":["a"]},…]`.
    static func participants(_ operations: [ProtoParticipantOperation]) throws -> String {
        try text(
            operations.map { operation in
                let kind =
                    switch operation.kind {
                    case .add: "add"
                    case .remove: "remove"
                    case .set: "set"
                    case .UNRECOGNIZED: throw ContractViolation("ParticipantOperation.kind")
                    }
                return ParticipantOperation(kind: kind, users: operation.userIds)
            })
    }

    /// The same for whom a user has blocked.
    static func blocks(_ operations: [ProtoBlockOperation]) throws -> String {
        try text(
            operations.map { operation in
                let kind =
                    switch operation.kind {
                    case .add: "add"
                    case .remove: "remove"
                    case .set: "set"
                    case .UNRECOGNIZED: throw ContractViolation("BlockOperation.kind")
                    }
                return ParticipantOperation(kind: kind, users: operation.userIds)
            })
    }

    /// `[{"kind":0,"part":"<uuid>"},…]`.
    static func edits(_ edits: [Change.PartEdit]) throws -> String { try text(edits.map { PartsOperations.Edit($0) }) }

    /// The `operations` of one kind of change.
    static func decode<T: Decodable>(_ json: String?, as type: T.Type = T.self) throws -> T {
        guard let json else { throw ContractViolation("operations") }
        return try JSONDecoder().decode(type, from: Data(json.utf8))
    }

    private static func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
}
