// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The body of `PATCH /conversations/:uuid` (docs/conformance.md §5.5, §5.6, §14). It is validated as a whole, so that
/// an invalid patch has no effect.
public struct ConversationPatch: Hashable, Sendable {
    /// The operations on participants, in the order of the request.
    public var participants: [ParticipantOperation] = []
    /// The operations on metadata, in the order of the request. Separating the two kinds does not change the result,
    /// because they do not interact.
    public var metadata: [MetadataOperation] = []
    /// True if the patch has no operations. An empty patch is valid and has no effect.
    public var isEmpty: Bool { participants.isEmpty && metadata.isEmpty }

    /// Parses a patch.
    /// - Parameter sender: for an app's own server, failures of malformed operations follow the Server API
    ///   (docs/server-api.md).
    /// - Throws: ``Failure`` naming the invalid property. A failure that concerns no property of the conversation names
    ///   the index of the operation, for example `0.operation`.
    ///   - `invalid_request`: the body is not a list of operations.
    ///   - `invalid_property` or `missing_property`: an operation is invalid.
    ///   - `invalid_operation`: the operation is not applicable to its property.
    public init(_ json: JSONValue, from sender: RequestSender = .client) throws(Failure) {
        guard case .array(let operations) = json else {
            throw Failure(.invalidRequest, "The body must be an array of operations.")
        }
        var room = Limits.metadataRequestBytes
        for (index, operation) in operations.enumerated() {
            try readOperation(operation, at: index, from: sender, room: &room)
        }
    }

    private enum Verb: String { case set, delete, add, remove }

    private mutating func readOperation(
        _ json: JSONValue, at index: Int, from sender: RequestSender, room: inout Int
    ) throws(Failure) {
        guard case .object = json else { throw ConversationPatch.malformed("\(index)", reason: "must be an object") }
        let members = try Members(sender == .server ? json.withoutEmptyIDs : json)
        if sender == .server { try ConversationPatch.checkForm(of: members, at: index) }
        guard case .string(let word)? = members["operation"], let verb = Verb(rawValue: word) else {
            throw ConversationPatch.malformed("\(index).operation", reason: "must be set, delete, add or remove")
        }
        guard case .string(let property)? = members["property"], let segments = PatchPath.segments(of: property),
            let first = segments.first
        else {
            throw ConversationPatch.malformed("\(index).property", reason: "must be the path of a property")
        }
        guard sender == .server || members["index"] == nil else { throw .invalid("index", reason: "is not supported") }
        switch first {
        case "participants" where segments.count == 1:
            participants.append(
                try ConversationPatch.participantOperation(verb, members: members, at: index, from: sender))
        case "metadata":
            if sender == .server, verb == .delete, segments.count == 1 {
                throw .invalid("metadata", reason: "cannot be deleted, only set")
            }
            metadata.append(
                try ConversationPatch.metadataOperation(
                    verb, members: members, keys: segments.dropFirst(), at: index, from: sender, room: &room))
        default: throw .invalid(ConversationPatch.shortened(property), reason: "cannot be patched")
        }
    }

    /// Throws the errors that the Server API defines for missing members and unknown operations.
    private static func checkForm(of members: Members, at index: Int) throws(Failure) {
        let word = try members.string("operation")
        guard let word else { throw .missing("\(index).operation") }
        guard Verb(rawValue: word) != nil else {
            throw Failure(
                .invalidOperation, "The property \(index).operation must be set, delete, add or remove.",
                detail: .property("\(index).operation"))
        }
        let property = try members.string("property")
        guard let property else { throw .missing("\(index).property") }
        guard PatchPath.segments(of: property) != nil else {
            throw .invalid("\(index).property", reason: "must be the path of a property")
        }
    }

    private static func participantOperation(
        _ verb: Verb, members: Members, at index: Int, from sender: RequestSender
    ) throws(Failure) -> ParticipantOperation {
        switch verb {
        case .add, .remove:
            // Version 1 clients send the user's id in `value`. It is used if `id` is missing.
            guard let named = members["id"] ?? members["value"] else { throw .missing("\(index).id") }
            guard case .string(let text) = named, let user = sender.userID(text) else {
                throw .invalid("participants", reason: "can only have identities added and removed")
            }
            return verb == .add ? .add(user) : .remove(user)
        case .set:
            guard let value = members["value"] ?? (sender == .server ? members["id"] : nil) else {
                throw .missing("\(index).value")
            }
            guard case .array(let elements) = value else {
                throw .invalid("participants", reason: "must be an array of identity ids")
            }
            return .set(try userIDs(elements, in: "participants", from: sender))
        case .delete where sender == .server: throw .invalid("participants", reason: "cannot be deleted")
        case .delete: throw invalidOperation("participants", reason: "cannot be deleted")
        }
    }

    private static func metadataOperation(
        _ verb: Verb, members: Members, keys: ArraySlice<String>, at index: Int, from sender: RequestSender,
        room: inout Int
    ) throws(Failure) -> MetadataOperation {
        // A key with an escaped dot must not become two keys when joined.
        guard keys.allSatisfy({ $0.utf8.allSatisfy(MetadataPath.isKeyByte) }) else {
            let name = "metadata." + keys.map(PatchPath.escape).joined(separator: ".")
            throw .invalid(shortened(name), reason: "has a key with a character other than letters, digits, - and _")
        }
        let path: MetadataPath = keys.isEmpty ? .root : try MetadataPath(validating: keys.joined(separator: "."))
        let name = path == .root ? "metadata" : "metadata.\(path.dotted)"
        switch verb {
        case .set:
            try path.checkSettable()
            guard let value = members.raw("value") else { throw .missing("\(index).value") }
            // In the Server API, setting a property to null clears it.
            if sender == .server, path == .root, value.isNull { return .set(path, leaves: []) }
            return .set(path, leaves: try MetadataBody.leaves(of: value, at: path, room: &room))
        case .delete:
            guard path != .root else {
                throw invalidOperation("metadata", reason: "cannot be deleted, only set to an empty object")
            }
            return .delete(path)
        case .add, .remove: throw invalidOperation(name, reason: "is not an array")
        }
    }

    private static func malformed(_ property: String, reason: String) -> Failure {
        Failure(.invalidRequest, "The patch is malformed: \(property) \(reason).", detail: .property(property))
    }
    private static func invalidOperation(_ property: String, reason: String) -> Failure {
        Failure(.invalidOperation, "The property \(property) \(reason).", detail: .property(property))
    }
    /// Returns the property's name, shortened so that a failure never contains a megabyte of the client's input.
    private static func shortened(_ property: String) -> String {
        property.utf8.count <= Limits.metadataPathBytes ? property : String(property.unicodeScalars.prefix(100)) + "…"
    }
}
