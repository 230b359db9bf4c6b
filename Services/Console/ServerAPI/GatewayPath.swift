// SPDX-License-Identifier: Apache-2.0
import Foundation
import StrataModel

/// A path at the gateways, with its query, as it is sent: percent-encoded. It cannot leave the prefix under which it is
/// requested.
struct GatewayPath: Hashable, Sendable, CustomStringConvertible {
    /// The path below the prefix: empty, or beginning with a slash.
    let path: String
    let query: String?

    /// The path and the query.
    var description: String { path + (query.map { "?\($0)" } ?? "") }

    /// - Parameter path: an empty path, or one that begins with a slash. A slash at the end is ignored.
    /// - Throws: `invalid_property` for empty segments, `.` and `..`, also if escaped, and for characters that do not
    ///   belong in a URL.
    init(path: some StringProtocol, query: (some StringProtocol)?) throws(Failure) {
        var path = String(path)
        while path.hasSuffix("/") { path.removeLast() }
        guard path.isEmpty || path.hasPrefix("/"), path.utf8.count <= 4096, query?.utf8.count ?? 0 <= 8192 else {
            throw .invalid("path", reason: "must begin with a slash, and have at most 4096 bytes")
        }
        for segment in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard segment.utf8.allSatisfy({ Self.isAllowed($0) }), let text = String(segment).removingPercentEncoding,
                !text.isEmpty, text != ".", text != ".."
            else {
                throw .invalid("path", reason: "must consist of segments as they are sent in a URL")
            }
        }
        guard
            query?.utf8.allSatisfy({ Self.isAllowed($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") })
                ?? true
        else {
            throw .invalid("path", reason: "must have a query as it is sent in a URL")
        }
        self.path = path
        self.query = query.map { String($0) }
    }

    /// Parses a path with an optional query.
    init(_ text: String) throws(Failure) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        try self.init(path: parts[0], query: parts.count > 1 ? parts[1] : nil)
    }

    /// Returns true for the characters of a segment in RFC 3986, and `%`.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=:@%".utf8.contains(byte)
        }
    }
}
