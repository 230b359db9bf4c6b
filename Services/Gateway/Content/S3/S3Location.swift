// SPDX-License-Identifier: Apache-2.0

/// The place of rich content in an S3-compatible store.
///
/// | URL | Host of requests | Path |
/// |---|---|---|
/// | `s3://bucket/prefix` | `bucket.s3.REGION.amazonaws.com` | `/prefix/…` |
/// | `s3+https://host/bucket/prefix`, `s3+http://…` | `host` | `/bucket/prefix/…` |
/// | `s3+https://host/bucket/prefix?style=host` | `bucket.host` | `/prefix/…` |
struct S3Location: Hashable, Sendable {
    let isTLS: Bool
    /// The host to which requests are sent, with a port unless it is the default.
    let host: String
    /// The path of the bucket; `/` if the host names it.
    let bucketPath: String
    /// The beginning of all keys: empty, or with a trailing slash.
    let prefix: String

    /// Reads a URL.
    /// - Parameter region: the region of an AWS bucket.
    /// - Returns: nil for any other text.
    init?(_ text: String, region: String) {
        guard let colon = text.firstRange(of: "://") else { return nil }
        var rest = text[colon.upperBound...]
        var style: Substring?
        if let mark = rest.firstIndex(of: "?") {
            style = rest[mark...]
            rest = rest[..<mark]
        }
        guard style.map({ ["?style=path", "?style=host"].contains($0) }) ?? true else { return nil }
        let authority: String
        switch text[..<colon.lowerBound] {
        case "s3":
            guard style == nil else { return nil }
            // A certificate for *.s3.… covers no bucket with a dot.
            style = rest.prefix { $0 != "/" }.contains(".") ? "?style=path" : "?style=host"
            (isTLS, authority) = (true, "s3.\(region).amazonaws.com")
        case "s3+https", "s3+http":
            isTLS = text.hasPrefix("s3+https")
            authority = String(rest.prefix { $0 != "/" })
            rest = rest.dropFirst(authority.count)
        default: return nil
        }
        let isHostStyle = style == "?style=host"
        let names = rest.split(separator: "/")
        guard Self.isAuthority(authority), let bucket = names.first, Self.isBucket(bucket),
            names.dropFirst().allSatisfy({ Self.isName($0) })
        else { return nil }
        let endpoint = authority.hasSuffix(isTLS ? ":443" : ":80") ? authority.prefix { $0 != ":" } : authority[...]
        host = isHostStyle ? "\(bucket).\(endpoint)" : String(endpoint)
        bucketPath = isHostStyle ? "/" : "/\(bucket)"
        prefix = names.dropFirst().map { "\($0)/" }.joined()
    }

    /// Returns the path of an object.
    func path(of key: String) -> String { bucketPath == "/" ? "/\(key)" : "\(bucketPath)/\(key)" }

    /// Returns a URL.
    /// - Parameter query: the percent-encoded query; may be empty.
    func url(_ path: String, query: String) -> String {
        let path = AWSSignature.encoded(path, keeping: "/")
        return "\(isTLS ? "https" : "http")://\(host)\(path)\(query.isEmpty ? "" : "?\(query)")"
    }

    // MARK: Checks

    /// Returns true for `host` or `host:port`.
    private static func isAuthority(_ text: String) -> Bool {
        let sides = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let host = sides.first, isName(host) else { return false }
        return sides.count == 1 || UInt16(sides[1]).map { $0 > 0 } ?? false
    }

    /// Returns true for a name that S3 permits for a bucket.
    private static func isBucket(_ text: Substring) -> Bool {
        (3...63).contains(text.utf8.count) && isName(text)
            && text.utf8.allSatisfy { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "~") }
            && text == text.lowercased()
    }

    /// Returns true for a segment of a path that needs no percent-encoding and is not relative.
    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty && text != "." && text != ".." && AWSSignature.encoded(String(text)) == text
    }
}
