// SPDX-License-Identifier: Apache-2.0

/// The application's id for a user: 1 to 128 bytes of UTF-8 without control characters.
public struct UserID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The id as the application spells it, byte for byte: neither normalized nor percent-encoded.
    public let rawValue: String

    /// Validates `text`. Returns nil if it is empty, longer than ``Limits/userIDBytes`` or contains a control
    /// character.
    public init?(_ text: some StringProtocol) {
        let utf8 = text.utf8
        guard !utf8.isEmpty, utf8.count <= Limits.userIDBytes, utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            return nil
        }
        rawValue = String(text)
    }

    /// Creates an id from validated text, for example text read from our own database.
    public init(trusted text: String) { rawValue = text }

    /// The id that represents the app's own server as the actor in calls between services. No user has this empty id.
    public static let appServer = UserID(trusted: "")
    /// True if this is ``appServer``.
    public var isAppServer: Bool { rawValue.isEmpty }

    /// The plain text. URLs and ids on the wire use ``percentEncoded`` and ``layerID``.
    public var description: String { rawValue }
    /// Compares bytes, as the database does. Swift's `String` considers different spellings of one accented letter
    /// equal.
    public static func == (a: UserID, b: UserID) -> Bool {
        a.rawValue == b.rawValue && a.rawValue.utf8.count == b.rawValue.utf8.count
            && a.rawValue.utf8.elementsEqual(b.rawValue.utf8)
    }
    /// Hashes the bytes. `String` gives all spellings one hash, and a user id of 128 bytes has millions of spellings,
    /// which would collide.
    public func hash(into hasher: inout Hasher) {
        var text = rawValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    /// Compares bytes, in the order of the database's C collation.
    public static func < (a: UserID, b: UserID) -> Bool { a.rawValue.utf8.lexicographicallyPrecedes(b.rawValue.utf8) }

    /// The id percent-encoded exactly as client libraries encode it. Letters, digits, `-`, `_`, `.` and `*` are
    /// unreserved; all others, also `! ~ ' ( )`, become upper-case hex (docs/conformance.md §1.6).
    public var percentEncoded: String {
        if rawValue.utf8.allSatisfy(UserID.isUnreserved) { return rawValue }
        var out = ""
        out.reserveCapacity(rawValue.utf8.count + 16)
        let hex = Array("0123456789ABCDEF".unicodeScalars)
        for byte in rawValue.utf8 {
            if UserID.isUnreserved(byte) {
                out.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                out.unicodeScalars.append("%")
                out.unicodeScalars.append(hex[Int(byte >> 4)])
                out.unicodeScalars.append(hex[Int(byte & 15)])
            }
        }
        return out
    }

    /// The id in its wire format: `layer:///identities/<percent-encoded user id>`.
    public var layerID: String { "layer:///identities/\(percentEncoded)" }

    /// Parses `layer:///identities/<encoded>` or a percent-encoded user id from a URL path. Returns nil for anything
    /// else.
    public init?(parsing text: some StringProtocol) {
        var rest = Substring(text)
        if let slash = rest.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let start = rest.utf8.index(after: slash)
            guard LayerID.isPrefix(rest.utf8[..<start], of: "identities") else { return nil }
            rest = rest[start...]
        }
        guard let decoded = UserID.percentDecoded(rest) else { return nil }
        self.init(decoded)
    }

    @inline(__always)
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "*"):
            true
        default: false
        }
    }

    /// Decodes percent-encoded text. Returns nil if an escape is malformed or the bytes are not UTF-8.
    private static func percentDecoded(_ text: Substring) -> String? {
        if !text.utf8.contains(UInt8(ascii: "%")) { return String(text) }
        var bytes: [UInt8] = []
        var iterator = text.utf8.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(hexValue), let low = iterator.next().flatMap(hexValue) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
