// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
public import StrataModel
import SwiftProtobuf

extension IdempotencyKey {
    /// Creates an idempotency key.
    /// - Throws: ``ContractViolation`` unless the id has 16 bytes.
    public init(_ proto: ProtoMutation) throws(ContractViolation) {
        guard let id = UUID(contract: proto.id) else { throw ContractViolation("Mutation.id") }
        self.init(id: id, fingerprint: proto.fingerprint)
    }
}

extension ProtoMutation {
    /// Creates the message for an idempotency key.
    public init(_ idempotencyKey: IdempotencyKey) {
        self.init()
        id = Data(uuid: idempotencyKey.id)
        fingerprint = idempotencyKey.fingerprint
    }
}

extension LogPosition {
    /// Creates the positions of a change in the logs. A service of an earlier version does not set them.
    public init(_ proto: ProtoChangePlace) {
        self.init(
            position: proto.hasPosition ? Position(proto.position) : nil,
            userPosition: proto.hasUserPosition ? Position(proto.userPosition) : nil)
    }
}

extension ProtoChangePlace {
    /// Creates the message for the positions of a change.
    public init(_ place: LogPosition) {
        self.init()
        if let value = place.position { position = value.rawValue }
        if let value = place.userPosition { userPosition = value.rawValue }
    }
}
