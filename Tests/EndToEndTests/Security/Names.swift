// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The values of the placeholders in braces in the rows of the authorization matrix.
struct Names: Sendable {
    private var values: [String: String] = [:]

    /// Placeholders for objects that a user may not know of.
    private static let objects = [
        "conversation", "message", "later", "part", "content", "laterContent", "announcement", "otherAnnouncement",
        "user",
    ]

    subscript(_ name: String) -> String? {
        get { values[name] }
        set { values[name] = newValue }
    }

    func fill(_ template: String) -> String {
        values.reduce(template) { $0.replacingOccurrences(of: "{\($1.key)}", with: $1.value) }
    }

    /// Returns true if a template contains a placeholder of ``objects``.
    static func namesObject(_ templates: String...) -> Bool {
        templates.contains { template in objects.contains { template.contains("{\($0)}") } }
    }

    /// Returns a copy with random ids that never existed.
    /// - Parameter laterOnly: Replace only the ids of objects from after the former participant's removal.
    func unknown(laterOnly: Bool) -> Names {
        var names = self
        for name in laterOnly ? ["later", "laterContent"] : Self.objects where values[name] != nil {
            let random = UUID().uuidString.lowercased()
            // The random id has the length of the real one, because answers repeat it.
            names[name] = name == "user" ? String(random.prefix(values["user"]?.count ?? 0)) : random
        }
        return names
    }
}
