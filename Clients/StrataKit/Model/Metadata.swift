// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The metadata of a conversation: a nested structure of strings.
///
/// ```swift
/// let metadata: Metadata = ["title": "Lunch", "theme": ["background_color": "FFFFFF", "text_color": "000000"]]
/// metadata["title"]                          // "Lunch"
/// metadata[path: "theme.background_color"]   // "FFFFFF"
/// ```
///
/// Use metadata for facts about the conversation: a title, tags, a colour theme, a reference to a background image.
/// Metadata are not a general-purpose store. Every participant loads all of them with the conversation, so keep them
/// small:
/// - no binary data or thumbnails; store a URL
/// - no facts about single messages
/// - no computed keys, for example from message ids; conversations are long-lived, and the number of keys would only
///   grow
public struct Metadata: Hashable, Sendable {
    /// The value of a key.
    public enum Value: Hashable, Sendable {
        case text(String)
        case group(Metadata)
    }

    /// The values by their top-level keys.
    public private(set) var values: [String: Value]

    /// Creates metadata without keys.
    public init() { values = [:] }
    /// Creates metadata with these values. A value can be a whole group.
    public init(_ values: [String: Value]) { self.values = values }

    /// The text of a key; nil if the key is absent or holds a group.
    public subscript(key: String) -> String? { if case .text(let text)? = values[key] { text } else { nil } }
    /// The text at a key path, for example `theme.background_color`; nil if the path is absent or holds a group.
    public subscript(path path: String) -> String? { if case .text(let text)? = value(at: path) { text } else { nil } }
    /// Returns the text or group at a key path; nil if the path is absent.
    public func value(at path: String) -> Value? {
        var value = Value.group(self)
        for key in path.split(separator: ".", omittingEmptySubsequences: false) {
            guard case .group(let group) = value, let next = group.values[String(key)] else { return nil }
            value = next
        }
        return value
    }
    /// A Boolean value that indicates whether there are no keys.
    public var isEmpty: Bool { values.isEmpty }
    /// The texts by their full key paths.
    public var flattened: [String: String] { tree.leaves.reduce(into: [:]) { $0[$1.path.dotted] = $1.value } }
}

extension Metadata {
    init(_ tree: MetadataTree) {
        values = tree.children.mapValues { value in
            switch value {
            case .text(let text): .text(text)
            case .tree(let tree): .group(Metadata(tree))
            }
        }
    }

    /// The metadata as the type that Strata's other modules use. Empty groups are omitted.
    var tree: MetadataTree {
        var tree = MetadataTree()
        collect(below: .root, into: &tree)
        return tree
    }

    private func collect(below path: MetadataPath, into tree: inout MetadataTree) {
        for (key, value) in values {
            switch value {
            case .text(let text): tree.applyEffects([MetadataEffect(path: path.appending(key), value: text)])
            case .group(let group): group.collect(below: path.appending(key), into: &tree)
            }
        }
    }
}

extension Metadata: ExpressibleByDictionaryLiteral {
    /// Creates metadata from a literal. If a key occurs more than once, the last value wins.
    public init(dictionaryLiteral elements: (String, Value)...) { self.init(Dictionary(elements) { $1 }) }
}

extension Metadata.Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByDictionaryLiteral {
    /// Creates a text value.
    public init(stringLiteral text: String) { self = .text(text) }
    /// Creates a group. If a key occurs more than once, the last value wins.
    public init(dictionaryLiteral elements: (String, Metadata.Value)...) {
        self = .group(Metadata(Dictionary(elements) { $1 }))
    }
}

/// Validates metadata from the app before anything is written.
enum MetadataInput {
    /// Returns the path, if it is valid and can be set.
    /// - Throws: ``StrataError/Code/invalidKey``.
    static func path(_ text: String) throws -> MetadataPath {
        do throws(Failure) {
            let path = try MetadataPath(validating: text)
            try path.checkSettable()
            return path
        } catch {
            throw StrataError(.invalidKey, error.message)
        }
    }

    /// Returns each text by its key path from the root.
    static func values(of metadata: Metadata, below path: MetadataPath = .root) throws -> [String: String] {
        var found: [String: String] = [:]
        for (key, value) in metadata.values {
            // A dot in a key would be read as a path separator.
            guard !key.contains(".") else { throw StrataError(.invalidKey, "The key \(key) has a dot.") }
            let keyPath = try Self.path(path.appending(key).dotted)
            switch value {
            case .text(let text): found[keyPath.dotted] = try text.checkedAsValue(of: keyPath)
            case .group(let group): found.merge(try values(of: group, below: keyPath)) { $1 }
            }
        }
        return found
    }

    static func step(_ value: Metadata.Value, at keyPath: String) throws -> LocalChange.MetadataStep {
        let path = try path(keyPath)
        switch value {
        case .text(let text): return .init(path: path.dotted, values: [path.dotted: try text.checkedAsValue(of: path)])
        case .group(let group):
            let values = try values(of: group, below: path)
            return .init(path: path.dotted, values: values.isEmpty ? nil : values)
        }
    }
}

extension String {
    fileprivate func checkedAsValue(of path: MetadataPath) throws -> String {
        guard utf8.count <= Limits.metadataValueBytes else {
            throw StrataError(.invalidValue, "The value of \(path) has more than \(Limits.metadataValueBytes) bytes.")
        }
        guard !utf8.contains(0) else { throw StrataError(.invalidValue, "The value of \(path) has a NUL character.") }
        return self
    }
}
