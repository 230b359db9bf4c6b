// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// The protocol's format of the ids of apps, providers and keys: `layer:///apps/production/<uuid>`, for example.
package enum LayerID {
    case app, provider, key

    package func text(_ id: UUID) -> String {
        prefix + id.uuidString.lowercased()
    }

    /// Parses a full id or a UUID alone. App ids may also contain `staging`, or two slashes as in older documents.
    /// - Throws: ``CommandFailure`` that names the option.
    func parse(_ text: String, option: String) throws -> UUID {
        guard let last = text.split(separator: "/").last, let id = UUID(uuidString: String(last)),
            last == text || isOurs(text)
        else {
            throw CommandFailure(.usage, "\(option) must be a UUID or look like \(prefix)<uuid>.")
        }
        return id
    }

    private var prefix: String {
        switch self {
        case .app: "layer:///apps/production/"
        case .provider: "layer:///providers/"
        case .key: "layer:///keys/"
        }
    }

    private func isOurs(_ text: String) -> Bool {
        let parts = text.split(separator: "/").map(String.init)
        switch self {
        case .app:
            return parts.count == 4 && parts[0] == "layer:" && parts[1] == "apps"
                && ["production", "staging"].contains(parts[2])
        case .provider: return parts.count == 3 && parts[0] == "layer:" && parts[1] == "providers"
        case .key: return parts.count == 3 && parts[0] == "layer:" && parts[1] == "keys"
        }
    }
}
