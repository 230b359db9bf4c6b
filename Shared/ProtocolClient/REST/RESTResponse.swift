// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A response of the server over HTTP.
public struct RESTResponse: Sendable, Hashable {
    /// A header line.
    public struct Header: Sendable, Hashable {
        /// The name as spelled by the server.
        public let name: String
        /// The value of the header.
        public let value: String
    }

    /// The HTTP status.
    public let status: Int
    /// The headers, in the order received.
    public let headers: [Header]
    /// The body as received.
    public let body: Data
    /// The body as JSON, or ``JSONValue/null`` if it is not JSON.
    public let json: JSONValue

    init(status: Int, headers: [Header], body: Data) {
        self.status = status
        self.headers = headers
        self.body = body
        json = body.isEmpty ? .null : (try? JSONValue(parsing: body)) ?? .null
    }

    /// True if the status indicates success.
    public var isSuccess: Bool { (200..<300).contains(status) }
    /// The `id` of the error object, or nil if the call succeeded.
    public var errorID: String? { isSuccess ? nil : json["id"].string }
    /// Returns the value of the first header with this name, ignoring case.
    public func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}
