// SPDX-License-Identifier: Apache-2.0

/// A version of the public protocol. REST and sockets select their versions independently (docs/conformance.md §1.2,
/// §15).
public enum WireVersion: Hashable, Sendable, CaseIterable {
    case v2, v3

    /// The WebSocket subprotocol of this version.
    public var subprotocol: String {
        switch self {
        case .v2: "layer-2.0"
        case .v3: "layer-3.0"
        }
    }

    /// Creates a version from a WebSocket subprotocol. Returns nil for an unsupported one.
    public init?(subprotocol: some StringProtocol) {
        switch subprotocol {
        case "layer-2.0": self = .v2
        case "layer-3.0": self = .v3
        default: return nil
        }
    }

    /// Parses an `Accept` header. The result is the first supported version of our media type, for example
    /// `application/vnd.layer+json; version=3.0`, or nil.
    public init?(accept header: some StringProtocol) {
        let version: Self? = AcceptHeader.version(in: header) { name in
            switch name {
            case "2.0": .v2
            case "3.0": .v3
            default: nil
            }
        }
        guard let version else { return nil }
        self = version
    }
}

/// The header with which a client requests a version.
enum AcceptHeader {
    /// Returns the first supported version of our media types in a header.
    /// - Parameters:
    ///   - types: our media types.
    ///   - find: returns the version with a name, or nil if it is not supported.
    static func version<Version>(
        in header: some StringProtocol, of types: [String] = ["application/vnd.layer+json"],
        named find: (String) -> Version?
    ) -> Version? {
        // Bytes, because every request passes here, and comparing characters takes ten times as long.
        for range in Substring(header).utf8.split(separator: UInt8(ascii: ",")) {
            var pieces = range.split(separator: UInt8(ascii: ";"))[...]
            guard let type = pieces.popFirst()?.trimmed.lowercased(), types.contains(type) else { continue }
            for parameter in pieces {
                let sides = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1).map(\.trimmed)
                guard sides.count == 2, sides[0].lowercased() == "version" else { continue }
                if let version = find(sides[1].lowercased().filter { $0 != "\"" }) { return version }
            }
        }
        return nil
    }
}

extension Substring.UTF8View {
    /// The text without spaces and tabs at its ends.
    fileprivate var trimmed: Substring {
        var bytes = self
        while let byte = bytes.first, byte.isBlank { bytes.removeFirst() }
        while let byte = bytes.last, byte.isBlank { bytes.removeLast() }
        return Substring(bytes)
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
