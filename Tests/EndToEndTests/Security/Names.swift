// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the names in braces stand for in the rows of the authorization matrix.
struct Names: Sendable {
    private var values: [String: String] = [:]

    /// Those that stand for objects that a user may not know of.
    private static let objects = [
        "conversation", "message", "later", "part", "content", "laterContent", "announcement", "otherAnnouncement", "user",
    ]

    subscript(_ name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }

    func fill(_ template: String) -> String {
        values.reduce(template) { $0.replacingOccurrences(of: "{\($1.key)}", with: $1.value) }
    }

    /// Whether a template names such an object.
    static func namesObject(_ templates: String...) -> Bool {
        templates.contains { template in objects.contains { template.contains("{\($0)}") } }
    }

    /// The same, with names nothing ever had.
    /// - Parameter laterOnly: only in place of what came after the former participant's removal.
    func unknown(laterOnly: Bool) -> Names {
        var names = self
        for name in laterOnly ? ["later", "laterContent"] : Self.objects where values[name] != nil {
            let random = UUID().uuidString.lowercased()
            // As long as the real one, which answers repeat.
            names[name] = name == "user" ? String(random.prefix(values["user"]?.count ?? 0)) : random
        }
        return names
    }
}
