// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import Model

/// The small JSON values that go into and come out of the database's functions; never those of clients.
enum OperationsJSON {
    private struct ParticipantOperation: Encodable {
        let kind: String
        let users: [String]
    }

    private struct MetadataOperation: Encodable {
        let path: String
        let set: [[String]]?
        let delete: Bool?
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

    /// `[{"path":"a.b","set":[["a.b","v"]]},{"path":"c","delete":true},…]`.
    static func metadata(_ operations: [ProtoMetadataOperation]) throws -> String {
        try text(
            operations.map { operation in
                MetadataOperation(
                    path: operation.path, set: operation.hasSet ? operation.set.leaves.map { [$0.path, $0.value] } : nil,
                    delete: operation.hasSet ? nil : true)
            })
    }

    /// `[["a.b","v"],["c",null],…]`.
    static func effects(_ json: String) throws -> [MetadataEffect] {
        try JSONDecoder().decode([[String?]].self, from: Data(json.utf8))
            .map { pair in
                guard pair.count == 2, let path = pair[0] else { throw ContractViolation("effects") }
                return MetadataEffect(path: MetadataPath(trusted: path), value: pair[1])
            }
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
