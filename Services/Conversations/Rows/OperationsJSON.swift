// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel

/// Conversions of arguments and results of the database's functions to and from JSON. Never used for clients' JSON.
enum OperationsJSON {
    private struct ParticipantOperation: Encodable {
        let kind: String
        let users: [String]
    }

    /// The combined effect of operations on a set of users. The database carries out at most two operations, regardless
    /// of the number of original ones.
    private struct FoldedUsers {
        /// True if the former users are removed.
        private var isSet = false
        private var added: Set<UserID> = []
        private var removed: Set<UserID> = []

        mutating func add(_ users: [String]) {
            for user in users.lazy.map({ UserID(trusted: $0) }) {
                added.insert(user)
                removed.remove(user)
            }
        }

        mutating func remove(_ users: [String]) {
            for user in users.lazy.map({ UserID(trusted: $0) }) {
                removed.insert(user)
                added.remove(user)
            }
        }

        mutating func set(_ users: [String]) {
            isSet = true
            added = Set(users.map { UserID(trusted: $0) })
            removed = []
        }

        var operations: [ParticipantOperation] {
            let coming = ParticipantOperation(kind: isSet ? "set" : "add", users: added.sorted().map(\.rawValue))
            let leaving = ParticipantOperation(kind: "remove", users: removed.sorted().map(\.rawValue))
            return isSet ? [coming] : [leaving, coming].filter { !$0.users.isEmpty }
        }
    }

    /// Encodes the combined effect of the operations in their order: `[{"kind":"add","users":["a"]},…]`.
    static func participants(_ operations: [ProtoParticipantOperation]) throws -> String {
        var folded = FoldedUsers()
        for operation in operations {
            switch operation.kind {
            case .add: folded.add(operation.userIds)
            case .remove: folded.remove(operation.userIds)
            case .set: folded.set(operation.userIds)
            case .UNRECOGNIZED: throw ContractViolation("ParticipantOperation.kind")
            }
        }
        return try text(folded.operations)
    }

    /// Encodes the combined effect of operations on a user's block list, in the same form.
    static func blocks(_ operations: [ProtoBlockOperation]) throws -> String {
        var folded = FoldedUsers()
        for operation in operations {
            switch operation.kind {
            case .add: folded.add(operation.userIds)
            case .remove: folded.remove(operation.userIds)
            case .set: folded.set(operation.userIds)
            case .UNRECOGNIZED: throw ContractViolation("BlockOperation.kind")
            }
        }
        return try text(folded.operations)
    }

    /// Encodes edits: `[{"kind":0,"part":"<uuid>"},…]`.
    static func edits(_ edits: [Change.PartEdit]) throws -> String { try text(edits.map { PartsOperations.Edit($0) }) }

    /// Decodes the `operations` of one kind of change.
    static func decode<T: Decodable>(_ json: String?, as type: T.Type = T.self) throws -> T {
        guard let json else { throw ContractViolation("operations") }
        return try JSONDecoder().decode(type, from: Data(json.utf8))
    }

    private static func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
}
