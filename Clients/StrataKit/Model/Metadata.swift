// SPDX-License-Identifier: Apache-2.0

/// The metadata of a conversation: a nested structure of strings.
///
/// ```swift
/// let metadata: Metadata = ["title": "Lunch", "theme": ["background_color": "FFFFFF", "text_color": "000000"]]
/// metadata["title"]                          // "Lunch"
/// metadata[path: "theme.background_color"]   // "FFFFFF"
/// ```
///
/// Use it for facts about the conversation: a title, tags, a colour theme, a reference to a background image. It is not a general store. All of it is
/// loaded with the conversation by every participant, so keep it small: no binary data or thumbnails (store a URL), no facts about single messages, and no
/// keys that are computed, for example from ids of messages, since conversations live long and the keys would only grow in number.
public struct Metadata: Hashable, Sendable {
    /// What a key holds.
    public enum Value: Hashable, Sendable {
        case text(String)
        case group(Metadata)
    }

    /// By their first key.
    public private(set) var values: [String: Value]

    /// No keys.
    public init() { values = [:] }
    /// The values of these keys; a key may hold a whole group.
    public init(_ values: [String: Value]) { self.values = values }

    /// The text of a key; nil if it is absent or holds a group.
    public subscript(key: String) -> String? { if case .text(let text)? = values[key] { text } else { nil } }
    /// The text at a key path, for example `theme.background_color`; nil if it is absent or holds a group.
    public subscript(path path: String) -> String? { if case .text(let text)? = value(at: path) { text } else { nil } }
    /// The text or group at a key path; nil if there is none.
    public func value(at path: String) -> Value? {
        var value = Value.group(self)
        for key in path.split(separator: ".", omittingEmptySubsequences: false) {
            guard case .group(let group) = value, let next = group.values[String(key)] else { return nil }
            value = next
        }
        return value
    }
    /// Whether there is no key.
    public var isEmpty: Bool { values.isEmpty }
    /// Each text by its key path.
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

    /// The same metadata as the type that the other modules of Strata use. Empty groups are left out.
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
    /// Of several values for one key the last one counts.
    public init(dictionaryLiteral elements: (String, Value)...) { self.init(Dictionary(elements) { $1 }) }
}

extension Metadata.Value: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByDictionaryLiteral {
    /// A text.
    public init(stringLiteral text: String) { self = .text(text) }
    /// A group. Of several values for one key the last one counts.
    public init(dictionaryLiteral elements: (String, Metadata.Value)...) { self = .group(Metadata(Dictionary(elements) { $1 })) }
}
