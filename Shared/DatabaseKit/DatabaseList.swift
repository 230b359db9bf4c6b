// SPDX-License-Identifier: Apache-2.0

public import StrataModel

/// The databases of an installation, as a setting names them: one libpq URL or keyword string, or several databases as
/// `name=url`, separated by white space. The description shows no URL.
public struct DatabaseList: Sendable, CustomStringConvertible, CustomReflectable {
    /// The databases in order, not empty. A single one without a name is ``StrataModel/DatabaseName/main``.
    public let databases: [(name: DatabaseName, url: String)]

    /// The maximum number of databases.
    public static let maximum = 64
    /// The valid texts, for people.
    public static let expected =
        "a libpq URL, or databases as name=url, separated by white space, with a name each: \(DatabaseName.rule)"

    /// Creates a list of one database.
    public init(name: DatabaseName, url: String) { databases = [(name, url)] }

    /// Parses the text of a setting. nil: a name is invalid or repeated, or a URL is missing.
    public init?(_ text: String) {
        let items = text.split(whereSeparator: \.isWhitespace)
        guard let first = items.first else { return nil }
        guard Self.isNamed(first) else {
            self.databases = [(.main, text)]
            return
        }
        var list: [(name: DatabaseName, url: String)] = []
        for item in items {
            guard Self.isNamed(item), let end = item.firstIndex(of: "="), let name = DatabaseName(String(item[..<end])),
                !list.contains(where: { $0.name == name })
            else { return nil }
            list.append((name, String(item[item.index(after: end)...])))
        }
        guard list.count <= Self.maximum else { return nil }
        self.databases = list
    }

    /// True if the item is `name=url`. libpq's keyword strings have no such values.
    private static func isNamed(_ item: Substring) -> Bool {
        guard let end = item.firstIndex(of: "=") else { return false }
        let url = item[item.index(after: end)...]
        return !item[..<end].contains(":") && (url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"))
    }

    /// The names, without URLs, which can contain passwords.
    public var description: String { "DatabaseList(\(databases.map { "\($0.name)" }.joined(separator: ", ")))" }

    /// A mirror that hides the URLs from `dump`.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
