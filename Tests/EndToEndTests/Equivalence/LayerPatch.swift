// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

/// Applies the operations of an `update` packet to an object, in order, as client libraries do (docs/conformance.md
/// §14). It includes their side effects, such as intermediate objects that even an operation without effect creates.
struct LayerPatch {
    /// The error of a client library for an operation that cannot be applied. The library discards the rest of the
    /// packet.
    struct Inapplicable: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns the object with an operation's `id`. For an unknown id, the operation's `value` may contain the object.
    /// Null if neither helps.
    let resolve: (_ id: String, _ value: JSONValue) -> JSONValue

    /// Returns the object with all operations applied.
    /// - Throws: ``Inapplicable``.
    func applying(_ operations: JSONValue, to object: JSONValue) throws(Inapplicable) -> JSONValue {
        guard let operations = operations.array else {
            throw Inapplicable(description: "the data of an update is no array")
        }
        var object = object
        for operation in operations { object = try applying(one: operation, to: object) }
        return object
    }

    private func applying(one operation: JSONValue, to object: JSONValue) throws(Inapplicable) -> JSONValue {
        guard let word = operation["operation"].string, let property = operation["property"].string else {
            throw Inapplicable(description: "\(operation) has no operation or no property")
        }
        let path = try Self.segments(of: property)
        guard object.object?[path[0]] != nil else {
            throw Inapplicable(description: "\(property) of an object that has no \(path[0])")
        }
        if word == "delete", path.count == 1 { throw Inapplicable(description: "\(property) cannot be deleted") }
        return try changing(path[...], in: object, property) { target throws(Inapplicable) in
            try changed(target, word, operation)
        }
    }

    /// Returns the new value of an operation's target. nil: the target is removed.
    private func changed(
        _ target: JSONValue?, _ word: String, _ operation: JSONValue
    ) throws(Inapplicable) -> JSONValue? {
        let id = operation["id"].string
        switch word {
        case "set": return id.map { resolve($0, operation["value"]) } ?? operation["value"]
        case "delete": return nil
        case "add", "remove":
            let known = target ?? []
            guard var elements = known.array else {
                throw Inapplicable(description: "\(operation) of what is no array")
            }
            if word == "remove" {
                elements.removeAll { element in
                    if let id { Self.is(id, element) } else { element == operation["value"] }
                }
            } else if let id {
                if !elements.contains(where: { Self.is(id, $0) }) { elements.append(resolve(id, operation["value"])) }
            } else if !elements.contains(operation["value"]) {
                elements.append(operation["value"])
            }
            return .array(elements)
        default: throw Inapplicable(description: "\(operation) is no operation")
        }
    }

    /// Returns true if `element` is the object with this id, or a reference to it.
    private static func `is`(_ id: String, _ element: JSONValue) -> Bool {
        element.string == id || element["id"].string == id
    }

    private func changing(
        _ path: ArraySlice<String>, in object: JSONValue, _ property: String,
        _ change: (JSONValue?) throws(Inapplicable) -> JSONValue?
    ) throws(Inapplicable) -> JSONValue {
        guard var members = object.object, let key = path.first else {
            throw Inapplicable(description: "\(property) leads through what is no object")
        }
        members[key] =
            path.count == 1
            ? try change(members[key]) : try changing(path.dropFirst(), in: members[key] ?? [:], property, change)
        return .object(members)
    }

    /// Splits a property path: `a.b\.c` becomes `a` and `b.c`.
    static func segments(of property: String) throws(Inapplicable) -> [String] {
        var segments = [""]
        var isEscaped = false
        for character in property {
            if isEscaped {
                segments[segments.count - 1].append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "." {
                segments.append("")
            } else {
                segments[segments.count - 1].append(character)
            }
        }
        guard !isEscaped, !segments.contains("") else { throw Inapplicable(description: "\(property) is no path") }
        return segments
    }
}
