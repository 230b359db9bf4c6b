// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The parsing of parts from apps' own servers (docs/server-api.md).
extension PartBody {
    /// Prepares one part of an existing message for ``part(_:of:version:)``. An empty id or encoding is removed.
    /// - Throws: ``Failure`` naming `body` if the part has neither a body nor content.
    public static func fromServer(_ json: JSONValue) throws(Failure) -> JSONValue {
        try checkContent(of: json, at: .body)
        return json.withoutEmptyIDs
    }

    /// Prepares the parts of a message. An empty id or encoding is removed.
    public static func fromServer(_ elements: [JSONValue]) throws(Failure) -> [JSONValue] {
        for (index, element) in elements.enumerated() { try checkContent(of: element, at: .element("parts", index)) }
        return elements.map(\.withoutEmptyIDs)
    }

    /// Throws if a part has neither `body` nor `content`. This failure differs from that for a missing member, because
    /// one of the two suffices.
    private static func checkContent(of json: JSONValue, at place: Members.Place) throws(Failure) {
        guard case .object = json else { return }
        let members = try Members(json, at: place)
        if members["mime_type"] != nil, members["body"] == nil, members["content"] == nil {
            throw members.invalid("body", reason: "or the property content is required")
        }
    }
}
