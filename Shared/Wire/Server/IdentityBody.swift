// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The properties of a user set by an app's own server: the body of a `POST` or `PUT` of an identity, or the combined
/// result of its patch.
public struct IdentityBody: Hashable, Sendable {
    /// The texts by their names on the wire; a nil value removes the text. A text that is not named remains in a patch
    /// and is removed otherwise.
    public var texts: [String: String?] = [:]
    /// The kind of the identity; nil: not specified.
    public var kind: Identity.Kind?
    /// The whole metadata; nil: not specified.
    public var metadata: [String: String]?
    /// The metadata keys that a patch sets after replacing ``metadata``; a nil value removes the key.
    public var keys: [String: String?] = [:]

    /// True if nothing is specified, as in a patch without effect.
    public var isEmpty: Bool { texts.isEmpty && kind == nil && metadata == nil && keys.isEmpty }

    /// Creates a body without properties.
    public init() {}

    /// Parses a whole identity.
    /// - Parameter user: the user in the path. A `user_id` in the body must be equal.
    /// - Throws: ``Failure`` naming the invalid property.
    public init(_ json: JSONValue, of user: UserID) throws(Failure) {
        let members = try Members(json)
        guard members["display_name"] != nil else { throw .missing("display_name") }
        guard case .object(let object) = json else { return }
        for member in object.unique where !member.value.isNull {
            // Some servers send an empty text for a missing value.
            if member.value == .string(""), ["user_id", "identity_type", "type"].contains(member.name) { continue }
            switch member.name {
            case "user_id":
                guard case .string(user.rawValue) = member.value else {
                    throw .invalid("user_id", reason: "is not the user of the path")
                }
            case "identity_type", "type": kind = try Self.kind(member.value, named: member.name)
            case "metadata": metadata = try Self.metadata(member.value)
            default:
                guard IdentityLimits.texts[member.name] != nil else { continue }
                texts[member.name] = try Self.text(member.value, named: member.name)
            }
        }
    }

    /// Parses a patch, whose operations apply in order.
    /// - Throws: ``Failure`` naming the invalid property. The patch then has no effect.
    public init(patch json: JSONValue) throws(Failure) {
        for operation in try PatchOperation.all(json) { try apply(operation) }
    }

    private mutating func apply(_ operation: PatchOperation) throws(Failure) {
        let name = operation.segments[0]
        switch (name, operation.segments.count) {
        case ("metadata", 1):
            guard operation.verb == .set || operation.verb == .delete else { throw Self.noList(operation) }
            metadata = operation.verb == .delete ? [:] : try Self.metadata(try operation.requiredValue())
            keys = [:]
        case ("metadata", 2): try applyKey(operation, operation.segments[1])
        case ("identity_type", 1), ("type", 1):
            try operation.requireSet()
            kind = try Self.kind(try operation.requiredValue(), named: name)
        default:
            guard operation.segments.count == 1, IdentityLimits.texts[name] != nil else {
                throw operation.unknownPropertyFailure
            }
            guard operation.verb == .set || operation.verb == .delete else { throw Self.noList(operation) }
            let value = operation.verb == .delete ? .null : try operation.requiredValue()
            let text: String? = value.isNull ? nil : try Self.text(value, named: name)
            guard text != nil || name != "display_name" else {
                throw .invalid("display_name", reason: "cannot be removed")
            }
            texts.updateValue(text, forKey: name)
        }
    }

    private mutating func applyKey(_ operation: PatchOperation, _ key: String) throws(Failure) {
        switch operation.verb {
        case .set:
            let value = try operation.requiredValue()
            keys.updateValue(value.isNull ? nil : try Self.entry(key, value), forKey: key)
        case .delete: keys.updateValue(nil, forKey: key)
        case .add, .remove: throw Self.noList(operation)
        }
    }

    private static func noList(_ operation: PatchOperation) -> Failure {
        Failure(
            .invalidOperation, "The property \(operation.shortened) is not an array.",
            detail: .property(operation.shortened))
    }

    private static func text(_ value: JSONValue, named name: String) throws(Failure) -> String {
        guard case .string(let text) = value else { throw .invalid(name, reason: "must be a string") }
        guard name != "display_name" || !text.isEmpty else { throw .invalid(name, reason: "is empty") }
        let limit = IdentityLimits.texts[name] ?? 0
        guard IdentityLimits.fits(text, within: limit) else {
            throw .invalid(name, reason: "is longer than \(limit) characters, or contains a NUL character")
        }
        return text
    }

    /// Parses the kind, ignoring case, because its spelling depends on the version.
    private static func kind(_ value: JSONValue, named name: String) throws(Failure) -> Identity.Kind {
        guard case .string(let text) = value, let kind = Identity.Kind(rawValue: text.lowercased()) else {
            throw .invalid(name, reason: "must be user or bot")
        }
        return kind
    }

    private static func metadata(_ value: JSONValue) throws(Failure) -> [String: String] {
        if value.isNull { return [:] }
        guard case .object(let members) = value else {
            throw .invalid("metadata", reason: "must be an object of strings")
        }
        var metadata: [String: String] = [:]
        for member in members.unique where !member.value.isNull {
            metadata[member.name] = try entry(member.name, member.value)
        }
        guard metadata.count <= IdentityLimits.metadataKeys else {
            throw .invalid("metadata", reason: "has more than \(IdentityLimits.metadataKeys) keys")
        }
        return metadata
    }

    private static func entry(_ key: String, _ value: JSONValue) throws(Failure) -> String {
        guard !key.isEmpty, IdentityLimits.fits(key, within: IdentityLimits.metadataKey) else {
            throw .invalid(
                "metadata",
                reason: """
                    has a key that is empty, or longer than \(IdentityLimits.metadataKey) characters, \
                    or has a NUL in it
                    """
            )
        }
        let name = "metadata.\(PatchPath.escape(key))"
        guard case .string(let text) = value else { throw .invalid(name, reason: "must be a string") }
        guard IdentityLimits.fits(text, within: IdentityLimits.metadataValue) else {
            throw .invalid(
                name, reason: "is longer than \(IdentityLimits.metadataValue) characters, or contains a NUL character")
        }
        return text
    }
}
