// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// Validates metadata from the app before anything is written.
enum MetadataInput {
    /// Returns the path, if it is valid and can be set.
    /// - Throws: ``StrataError/Code/invalidKey``.
    static func path(_ text: String) throws -> MetadataPath {
        do throws(Failure) {
            let path = try MetadataPath(validating: text)
            try path.checkSettable()
            return path
        } catch {
            throw StrataError(.invalidKey, error.message)
        }
    }

    /// Returns each text by its key path from the root.
    static func values(of metadata: Metadata, below path: MetadataPath = .root) throws -> [String: String] {
        var found: [String: String] = [:]
        for (key, value) in metadata.values {
            // A dot in a key would be read as a path separator.
            guard !key.contains(".") else { throw StrataError(.invalidKey, "The key \(key) has a dot.") }
            let keyPath = try Self.path(path.appending(key).dotted)
            switch value {
            case .text(let text): found[keyPath.dotted] = try text.checkedAsValue(of: keyPath)
            case .group(let group): found.merge(try values(of: group, below: keyPath)) { $1 }
            }
        }
        return found
    }

    static func step(_ value: Metadata.Value, at keyPath: String) throws -> LocalChange.MetadataStep {
        let path = try path(keyPath)
        switch value {
        case .text(let text): return .init(path: path.dotted, values: [path.dotted: try text.checkedAsValue(of: path)])
        case .group(let group):
            let values = try values(of: group, below: path)
            return .init(path: path.dotted, values: values.isEmpty ? nil : values)
        }
    }
}

extension String {
    fileprivate func checkedAsValue(of path: MetadataPath) throws -> String {
        guard utf8.count <= Limits.metadataValueBytes else {
            throw StrataError(.invalidValue, "The value of \(path) has more than \(Limits.metadataValueBytes) bytes.")
        }
        guard !utf8.contains(0) else { throw StrataError(.invalidValue, "The value of \(path) has a NUL character.") }
        return self
    }
}
