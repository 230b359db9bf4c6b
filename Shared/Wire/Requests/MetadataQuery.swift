// SPDX-License-Identifier: Apache-2.0
public import StrataModel

extension MetadataCondition {
    /// Parses the condition in a query string: `metadata.status=open`, `metadata.status.exists=true` or
    /// `metadata.status.prefix=op`. Returns nil if there is none.
    ///
    /// `metadata.status.equals=open` is equivalent to the first form. It is required if the last key of the path is
    /// `exists`, `prefix` or `equals`.
    ///
    /// - Parameter parameters: all decoded parameters of the query, in any order.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init?(parameters: some Sequence<(name: String, value: String)>) throws(Failure) {
        var found: (name: String, value: String)?
        for parameter in parameters where parameter.name == "metadata" || parameter.name.hasPrefix("metadata.") {
            guard found == nil else {
                throw .invalid(Self.shown(parameter.name), reason: "is a second condition; a query can have one")
            }
            found = parameter
        }
        guard let condition = found else { return nil }
        guard condition.name.hasPrefix("metadata.") else {
            throw .invalid("metadata", reason: "must be followed by a key path, as in metadata.status=open")
        }
        self = try Self.condition(condition.name, condition.value)
    }

    private static func condition(_ name: String, _ value: String) throws(Failure) -> MetadataCondition {
        guard value.utf8.count <= Limits.metadataValueBytes, !value.utf8.contains(0) else {
            throw .invalid(
                shown(name),
                reason: "is longer than \(Limits.metadataValueBytes) bytes, or contains a NUL character")
        }
        let path = name.dropFirst("metadata.".count)
        let word = path.lastIndex(of: ".").map { path[path.index(after: $0)...] } ?? ""
        let test: Test
        switch word {
        case "equals": test = .equals(value)
        case "exists":
            guard value == "true" else {
                throw .invalid(shown(name), reason: "must be true; conversations without a value cannot be listed")
            }
            test = .exists
        case "prefix":
            guard value.utf8.count <= prefixBytes else {
                throw .invalid(
                    shown(name), reason: "is longer than \(prefixBytes) bytes, the most that a prefix can have")
            }
            test = value.isEmpty ? .exists : .hasPrefix(value)
        default: return MetadataCondition(path: try MetadataPath(validating: path), test: .equals(value))
        }
        return MetadataCondition(path: try MetadataPath(validating: path.dropLast(word.count + 1)), test: test)
    }

    /// Returns the name of a parameter for a failure, shortened because it comes from the client and can have any
    /// length.
    private static func shown(_ name: String) -> String { String(name.unicodeScalars.prefix(200)) }
}

/// The query of `GET /apps/:app/conversations`, which lists conversations by a metadata condition.
public struct FoundConversationsQuery: Hashable, Sendable {
    /// The requested page of the list.
    public var page: PageQuery<ConversationID>
    /// The condition on the conversations' metadata.
    public var condition: MetadataCondition

    /// Parses the query.
    /// - Parameters:
    ///   - condition: nil if the query has none.
    ///   - parameter: returns the decoded value of a query parameter; nil if it is absent.
    /// - Throws: ``Failure`` naming the invalid parameter.
    public init(condition: MetadataCondition?, parameter: (String) -> String?) throws(Failure) {
        page = try PageQuery(parameter: parameter)
        guard let condition else {
            throw Failure(
                .missingProperty,
                "A list of all conversations needs a condition on their metadata, as metadata.status=open.",
                detail: .property("metadata"))
        }
        self.condition = condition
    }
}

/// The body of `POST /apps/:app/indexes`.
public struct IndexBody: Hashable, Sendable {
    /// The key path to index.
    public var path: MetadataPath

    /// Parses the body.
    /// - Throws: ``Failure`` naming `property`.
    public init(_ json: JSONValue) throws(Failure) {
        let members = try Members(json)
        path = try MetadataIndex.path(in: try members.requiredString("property"))
    }
}

extension MetadataIndex {
    /// The name of the indexed property for clients.
    public var property: String { "metadata.\(path.dotted)" }

    /// Returns the path in the name of a property such as `metadata.status`.
    /// - Throws: ``Failure`` naming `property`.
    public static func path(in property: String) throws(Failure) -> MetadataPath {
        guard property.hasPrefix("metadata.") else {
            throw .invalid("property", reason: "must be a key path of metadata, such as metadata.status")
        }
        do throws(Failure) {
            let path = try MetadataPath(validating: property.dropFirst("metadata.".count))
            try path.checkSettable()
            return path
        } catch {
            throw Failure(error.code, error.message, detail: .property("property"))
        }
    }
}

extension Renderer {
    /// Writes an index of an app.
    public func writeIndex(_ index: MetadataIndex, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("url")
        writer.string("\(baseURL)/indexes/\(index.property)")
        writer.key("property")
        writer.string(index.property)
        writer.key("state")
        writer.string(index.readyAt == nil ? "building" : "ready")
        writer.key("created_at")
        writer.timestamp(index.createdAt)
        writer.key("ready_at")
        if let readyAt = index.readyAt { writer.timestamp(readyAt) } else { writer.null() }
        writer.endObject()
    }
}
