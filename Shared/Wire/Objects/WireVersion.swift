// SPDX-License-Identifier: Apache-2.0

/// The versions of the public protocol. REST and socket choose theirs independently (docs/conformance.md §1.2, §15).
public enum WireVersion: Hashable, Sendable, CaseIterable {
    case v2, v3

    /// The WebSocket subprotocol that means this version.
    public var subprotocol: String {
        switch self {
        case .v2: "layer-2.0"
        case .v3: "layer-3.0"
        }
    }

    /// Nil for a subprotocol that is not spoken here.
    public init?(subprotocol: some StringProtocol) {
        switch subprotocol {
        case "layer-2.0": self = .v2
        case "layer-3.0": self = .v3
        default: return nil
        }
    }

    /// Reads an `Accept` header: the first media type of ours with a version that is served, for example
    /// `application/vnd.layer+json; version=3.0`. Nil if there is none.
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

/// The header by which a client says which version it speaks.
enum AcceptHeader {
    /// The version of the first media type of ours whose version is served.
    /// - Parameters:
    ///   - types: ours.
    ///   - find: the version of this name, if it is served.
    static func version<Version>(
        in header: some StringProtocol, of types: [String] = ["application/vnd.layer+json"], named find: (String) -> Version?
    ) -> Version? {
        for range in header.split(separator: ",") {
            var pieces = range.split(separator: ";").map { $0.trimmingSpaces.lowercased() }[...]
            guard let type = pieces.popFirst(), types.contains(type) else { continue }
            for parameter in pieces {
                let sides = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingSpaces }
                guard sides.count == 2, sides[0] == "version" else { continue }
                if let version = find(sides[1].filter { $0 != "\"" }) { return version }
            }
        }
        return nil
    }
}

extension StringProtocol {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
