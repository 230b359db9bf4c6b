// SPDX-License-Identifier: Apache-2.0

/// Functions that render names and labels as the Prometheus text format allows them.
enum PrometheusName {
    /// Returns the metric name: letters, digits, `_` and `:`, not beginning with a digit. Every other character becomes
    /// `_`.
    static func metric(_ label: String) -> String {
        sanitized(label, allowsColon: true)
    }

    /// Returns the label name: letters, digits and `_`. It does not begin with two underscores, which are reserved, and
    /// is not `le`, which histograms use.
    static func label(_ name: String) -> String {
        let clean = sanitized(name, allowsColon: false)
        if clean.hasPrefix("__") { return "x" + clean }
        return clean == "le" ? "le_" : clean
    }

    /// Returns `a="b",c="d"`, sorted by name. If two labels have the same name, the later one wins.
    static func labels(_ dimensions: [(String, String)]) -> String {
        var unique: [String: String] = [:]
        for (name, value) in dimensions { unique[label(name)] = value }
        return unique.sorted { $0.key < $1.key }.map { "\($0.key)=\"\(escaped($0.value))\"" }.joined(separator: ",")
    }

    private static func sanitized(_ text: String, allowsColon: Bool) -> String {
        var clean: [UInt8] = []
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "_": clean.append(UInt8(ascii: scalar))
            case "0"..."9":
                if clean.isEmpty { clean.append(UInt8(ascii: "_")) }
                clean.append(UInt8(ascii: scalar))
            case ":" where allowsColon: clean.append(UInt8(ascii: ":"))
            default: clean.append(UInt8(ascii: "_"))
            }
        }
        return clean.isEmpty ? "_" : String(decoding: clean, as: UTF8.self)
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
