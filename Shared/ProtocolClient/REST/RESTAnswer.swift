// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// What the server answered over HTTP.
public struct RESTAnswer: Sendable, Hashable {
    /// One header line.
    public struct Header: Sendable, Hashable {
        /// As the server spelled it.
        public let name: String
        /// Its value.
        public let value: String
    }

    /// The HTTP status.
    public let status: Int
    /// In the order in which they came.
    public let headers: [Header]
    /// The body as it came.
    public let body: Data
    /// The body as JSON; ``JSONValue/null`` if it is none.
    public let json: JSONValue

    init(status: Int, headers: [Header], body: Data) {
        self.status = status
        self.headers = headers
        self.body = body
        json = body.isEmpty ? .null : (try? JSONValue(parsing: body)) ?? .null
    }

    /// Whether the status is one of success.
    public var isSuccess: Bool { (200..<300).contains(status) }
    /// The `id` of an error object.
    public var errorID: String? { isSuccess ? nil : json["id"].string }
    /// The first header of this name, in any spelling.
    public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}
