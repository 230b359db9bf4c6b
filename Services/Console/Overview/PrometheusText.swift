// SPDX-License-Identifier: Apache-2.0

/// A parser of the Prometheus text format 0.0.4.
enum PrometheusText {
    /// One value of a metric.
    struct Sample: Hashable, Sendable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    /// Returns the samples of these metrics. Comments, and lines that cannot be read, are skipped.
    static func samples(in text: String, of names: Set<String>) -> [Sample] {
        text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { sample(in: Substring($0), of: names) }
    }

    private static func sample(in line: Substring, of names: Set<String>) -> Sample? {
        let name = line.prefix { $0 != "{" && $0 != " " && $0 != "\t" }
        guard names.contains(String(name)) else { return nil }
        var rest = line[name.endIndex...]
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest = rest.dropFirst()
            guard let found = takeLabels(from: &rest) else { return nil }
            labels = found
        }
        // A timestamp may follow the value.
        guard let number = rest.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\r" }).first,
            let value = Double(number)
        else { return nil }
        return Sample(name: String(name), labels: labels, value: value)
    }

    /// Takes `a="b",c="d"}`.
    private static func takeLabels(from rest: inout Substring) -> [String: String]? {
        var labels: [String: String] = [:]
        while true {
            rest = rest.drop { $0 == " " || $0 == "," }
            if rest.first == "}" {
                rest = rest.dropFirst()
                return labels
            }
            let name = rest.prefix { $0 != "=" }
            rest = rest[name.endIndex...].dropFirst()
            guard rest.first == "\"" else { return nil }
            rest = rest.dropFirst()
            guard let value = takeValue(from: &rest) else { return nil }
            labels[String(name)] = value
        }
    }

    /// Takes the text up to the closing quote, with `\\`, `\"` and `\n`.
    private static func takeValue(from rest: inout Substring) -> String? {
        var value = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return value
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped == "n" ? "\n" : escaped)
            default: value.append(character)
            }
        }
        return nil
    }
}
