// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension ProtoMetadataIndex {
    /// Creates the message for an index.
    public init(_ index: MetadataIndex) {
        self.init()
        path = index.path.dotted
        isReady = index.readyAt != nil
        createdAt = index.createdAt.microseconds
        if let readyAt = index.readyAt { self.readyAt = readyAt.microseconds }
    }
}

extension MetadataIndex {
    /// Creates an index. The path was validated when the app created it.
    public init(_ proto: ProtoMetadataIndex) {
        self.init(
            path: MetadataPath(trusted: proto.path), createdAt: Timestamp(microseconds: proto.createdAt),
            readyAt: proto.hasReadyAt ? Timestamp(microseconds: proto.readyAt) : nil)
    }
}

extension ProtoFindConversationsRequest {
    /// The condition on the metadata; nil if the request contains no known condition.
    public var modelCondition: MetadataCondition? {
        get {
            let test: MetadataCondition.Test? =
                switch condition {
                case .equal(let text): .equals(text)
                case .prefix(let text): .hasPrefix(text)
                case .exists: .exists
                case nil: nil
                }
            return test.map { MetadataCondition(path: MetadataPath(trusted: path), test: $0) }
        }
        set {
            path = newValue?.path.dotted ?? ""
            condition =
                switch newValue?.test {
                case .equals(let text): .equal(text)
                case .hasPrefix(let text): .prefix(text)
                case .exists: .exists(true)
                case nil: nil
                }
        }
    }
}
