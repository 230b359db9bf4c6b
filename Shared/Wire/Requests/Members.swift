// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// An object of a request, with typed access to its members. Absent and null members are equivalent; unknown members
/// are ignored.
struct Members {
    /// The position of the object in the request, used for property names in failures.
    enum Place {
        case body
        case element(StaticString, Int)

        func name(of member: StaticString) -> String {
            switch self {
            case .body: "\(member)"
            case .element(let list, let index): "\(list).\(index).\(member)"
            }
        }
        var name: String? {
            switch self {
            case .body: nil
            case .element(let list, let index): "\(list).\(index)"
            }
        }
    }

    private let members: [JSONValue.Member]
    let place: Place

    /// Creates an accessor.
    /// - Throws: ``Failure`` if `value` is not an object: `invalid_request` for a whole body, `invalid_property` for a
    ///   part of it.
    init(_ value: JSONValue, at place: Place = .body) throws(Failure) {
        guard case .object(let members) = value else {
            if let name = place.name { throw .invalid(name, reason: "must be an object") }
            throw Failure(.invalidRequest, "The body must be an object.")
        }
        self.members = members
        self.place = place
    }

    subscript(name: StaticString) -> JSONValue? {
        let value = raw(name)
        if case .null? = value { return nil }
        return value
    }
    /// Returns the unchanged member, for use where null and absent differ.
    func raw(_ name: StaticString) -> JSONValue? { members.last { Members.equal($0.name, to: name) }?.value }

    func string(_ name: StaticString) throws(Failure) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw invalid(name, reason: "must be a string") }
        return text
    }
    func requiredString(_ name: StaticString) throws(Failure) -> String {
        guard let text = try string(name) else { throw missing(name) }
        return text
    }
    func bool(_ name: StaticString) throws(Failure) -> Bool? {
        guard let value = self[name] else { return nil }
        guard case .bool(let bool) = value else { throw invalid(name, reason: "must be true or false") }
        return bool
    }
    func array(_ name: StaticString) throws(Failure) -> [JSONValue]? {
        guard let value = self[name] else { return nil }
        guard case .array(let elements) = value else { throw invalid(name, reason: "must be an array") }
        return elements
    }

    func missing(_ name: StaticString) -> Failure { .missing(place.name(of: name)) }
    func invalid(_ name: StaticString, reason: String) -> Failure { .invalid(place.name(of: name), reason: reason) }

    private static func equal(_ text: String, to name: StaticString) -> Bool {
        let utf8 = text.utf8
        guard utf8.count == name.utf8CodeUnitCount else { return false }
        var place = 0
        for byte in utf8 {
            guard byte == name.utf8Start[place] else { return false }
            place += 1
        }
        return true
    }
}

/// Parses a list of identity ids and bare user ids, and removes duplicates. Decoding ids and encoding them again for
/// display normalizes them, because clients compare them as strings (docs/conformance.md §1.6).
/// - Parameter sender: the sender of the request, which determines the format of bare user ids.
func userIDs(
    _ elements: [JSONValue], in property: String, from sender: RequestSender = .client
) throws(Failure) -> [UserID] {
    var seen: Set<UserID> = []
    var users: [UserID] = []
    users.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
        guard case .string(let text) = element, let user = sender.userID(text) else {
            throw .invalid("\(property).\(index)", reason: "is not the id of an identity")
        }
        if seen.insert(user).inserted { users.append(user) }
    }
    return users
}
