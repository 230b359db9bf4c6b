// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Parts as apps' own servers send them (docs/server-api.md).
extension PartBody {
    /// One part of a message that exists, to be read by ``part(_:of:version:)``. An empty id or encoding is none.
    /// - Throws: ``Failure`` naming `body` if there is neither that nor content.
    public static func fromServer(_ json: JSONValue) throws(Failure) -> JSONValue {
        try checkContent(of: json, at: .body)
        return json.withoutEmptyIDs
    }

    /// The same for the parts of a message.
    public static func fromServer(_ elements: [JSONValue]) throws(Failure) -> [JSONValue] {
        for (index, element) in elements.enumerated() { try checkContent(of: element, at: .element("parts", index)) }
        return elements.map(\.withoutEmptyIDs)
    }

    /// A part without content is told apart from one that lacks a member: it has to have one of two.
    private static func checkContent(of json: JSONValue, at place: Members.Place) throws(Failure) {
        guard case .object = json else { return }
        let members = try Members(json, at: place)
        if members["mime_type"] != nil, members["body"] == nil, members["content"] == nil {
            throw members.invalid("body", reason: "or the property content must be there")
        }
    }
}
