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

    /// What operations on a set of users come to, so that the database carries out two at most, however many there are.
    private struct FoldedUsers {
        /// Those who were there before are not there any more.
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

    /// `[{"kind":"add","users":["a"]},…]`: what the operations come to when they are carried out in order.
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

    /// The same for whom a user has blocked.
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
