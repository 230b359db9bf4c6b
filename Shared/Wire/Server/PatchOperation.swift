// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// An operation of a patch from an app's own server, for objects other than conversations (docs/server-api.md).
struct PatchOperation {
    enum Verb: String { case set, delete, add, remove }

    let index: Int
    let verb: Verb
    /// The property as sent by the server.
    let property: String
    let segments: [String]
    /// The value; nil: absent. A null is present.
    let value: JSONValue?
    /// The element added to a set or removed from it, or the whole set, in the 2.0 format; nil: absent, empty or null.
    let id: JSONValue?

    /// Parses the operations of a body, in their order.
    /// - Throws: ``Failure``:
    ///   - `invalid_request`: the body is not an array of objects.
    ///   - `invalid_operation`: the operation is unknown.
    ///   - otherwise naming the missing or invalid member by the index of the operation, for example `0.property`.
    static func all(_ json: JSONValue) throws(Failure) -> [PatchOperation] {
        guard case .array(let elements) = json else {
            throw Failure(.invalidRequest, "The body must be an array of operations.")
        }
        var operations: [PatchOperation] = []
        for (index, element) in elements.enumerated() { operations.append(try PatchOperation(element, at: index)) }
        return operations
    }

    private init(_ json: JSONValue, at index: Int) throws(Failure) {
        guard case .object = json else {
            throw Failure(.invalidRequest, "Operation \(index) of the patch must be an object.")
        }
        let members = try Members(json)
        guard let word = members["operation"] else { throw .missing("\(index).operation") }
        guard case .string(let text) = word, let verb = Verb(rawValue: text) else {
            throw Failure(
                .invalidOperation, "An operation must be set, delete, add or remove.",
                detail: .property("\(index).operation"))
        }
        guard let named = members["property"] else { throw .missing("\(index).property") }
        guard case .string(let property) = named, let segments = PatchPath.segments(of: property) else {
            throw .invalid("\(index).property", reason: "must be the path of a property")
        }
        self.index = index
        self.verb = verb
        self.property = property
        self.segments = segments
        value = members.raw("value")
        id = members["id"].flatMap { $0 == .string("") ? nil : $0 }
    }

    /// Checks that the operation is a `set`.
    /// - Throws: ``Failure`` `invalid_operation` for another verb.
    func requireSet() throws(Failure) {
        guard verb == .set else {
            throw Failure(.invalidOperation, "The property \(shortened) can only be set.", detail: .property(shortened))
        }
    }

    func requiredValue() throws(Failure) -> JSONValue {
        guard let value else { throw .missing("\(index).value") }
        return value
    }

    /// Returns the element of an operation on a set: its `id` (2.0) or its value.
    func requiredName() throws(Failure) -> JSONValue {
        if let id { return id }
        return try requiredValue()
    }

    /// The failure for an unknown or read-only property.
    var unknownPropertyFailure: Failure { .invalid(shortened, reason: "cannot be patched") }

    /// The property for a failure, shortened so that a failure never contains a megabyte of input.
    var shortened: String { property.utf8.count <= 256 ? property : String(property.unicodeScalars.prefix(100)) + "…" }
}
