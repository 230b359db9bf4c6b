// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import StrataModel

/// Conversions of metadata operations and effects to and from the JSON of the database's functions.
public enum MetadataJSON {
    /// Encodes operations: `[{"path":"a.b","set":[["a.b","v"],…]} | {"path":"a.b","delete":true}, …]`.
    public static func encode(_ operations: [MetadataOperation]) -> String {
        var out: [UInt8] = [UInt8(ascii: "[")]
        for (index, operation) in operations.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            out += #"{"path":"#.utf8
            append(operation.path.dotted, to: &out)
            switch operation {
            case .delete: out += #","delete":true}"#.utf8
            case .set(_, let leaves):
                out += #","set":["#.utf8
                for (index, leaf) in leaves.enumerated() {
                    out.append(UInt8(ascii: index > 0 ? "," : "["))
                    if index > 0 { out.append(UInt8(ascii: "[")) }
                    append(leaf.path.dotted, to: &out)
                    out.append(UInt8(ascii: ","))
                    append(leaf.value, to: &out)
                    out.append(UInt8(ascii: "]"))
                }
                out += "]}".utf8
            }
        }
        out.append(UInt8(ascii: "]"))
        return String(decoding: out, as: UTF8.self)
    }

    /// Decodes effects: `[["a.b","v"], ["c",null], …]`.
    /// - Throws: an error if the text is not a list of effects, which is an internal error.
    public static func effects(_ text: String) throws -> [MetadataEffect] {
        try JSONDecoder().decode([[String?]].self, from: Data(text.utf8))
            .map { pair in
                guard pair.count == 2, let path = pair[0] else { throw MalformedEffects() }
                return MetadataEffect(path: MetadataPath(trusted: path), value: pair[1])
            }
    }

    private static func append(_ text: String, to out: inout [UInt8]) {
        let hex = Array("0123456789abcdef".utf8)
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                out += [UInt8(ascii: "\\"), UInt8(ascii: "u"), 0x30, 0x30, hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}

/// An internal error: the database's answer is not a list of effects.
private struct MalformedEffects: Error {}
