// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// One operation of a patch that an app's own server sends for something that is no conversation (docs/server-api.md).
struct PatchOperation {
    enum Verb: String { case set, delete, add, remove }

    /// Its place in the patch.
    let index: Int
    let verb: Verb
    /// As it was sent.
    let property: String
    /// ``property``, taken apart at its dots.
    let segments: [String]
    /// Nil: there is none. A null is one.
    let value: JSONValue?
    /// What is added to a set, or removed from it, or all of it, as 2.0 names it. An empty text and null are none.
    let id: JSONValue?

    /// The operations of a body, in its order.
    /// - Throws: ``Failure`` `invalid_request` if the body is no array of objects; `invalid_operation` for an operation that there is not; otherwise naming
    ///   what is missing or wrong by the index of the operation, for example `0.property`.
    static func all(_ json: JSONValue) throws(Failure) -> [PatchOperation] {
        guard case .array(let elements) = json else { throw Failure(.invalidRequest, "The body must be an array of operations.") }
        var operations: [PatchOperation] = []
        for (index, element) in elements.enumerated() { operations.append(try PatchOperation(element, at: index)) }
        return operations
    }

    private init(_ json: JSONValue, at index: Int) throws(Failure) {
        guard case .object = json else { throw Failure(.invalidRequest, "Operation \(index) of the patch must be an object.") }
        let members = try Members(json)
        guard let word = members["operation"] else { throw .missing("\(index).operation") }
        guard case .string(let text) = word, let verb = Verb(rawValue: text) else {
            throw Failure(.invalidOperation, "An operation must be set, delete, add or remove.", detail: .property("\(index).operation"))
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

    /// - Throws: ``Failure`` `invalid_operation` for another verb.
    func requireSet() throws(Failure) {
        guard verb == .set else { throw Failure(.invalidOperation, "The property \(shortened) can only be set.", detail: .property(shortened)) }
    }

    /// The value of a `set`.
    func requiredValue() throws(Failure) -> JSONValue {
        guard let value else { throw .missing("\(index).value") }
        return value
    }

    /// What an operation on a set names, which may be its value or, as in 2.0, its `id`.
    func requiredName() throws(Failure) -> JSONValue {
        if let id { return id }
        return try requiredValue()
    }

    /// For a property that there is not, or that only reading shows.
    var isUnknown: Failure { .invalid(shortened, reason: "cannot be patched") }

    /// What was sent, but not a megabyte of it.
    var shortened: String { property.utf8.count <= 256 ? property : String(property.unicodeScalars.prefix(100)) + "…" }
}
