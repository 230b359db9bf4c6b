// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import StrataModel

/// A write of an identity, in the form of the database's arguments.
struct IdentityWrite: Sendable {
    /// The kind of write, by its name in the database.
    enum Mode: String, Sendable { case create, replace, patch, delete }

    let mode: Mode
    /// JSON text: properties by the names of their columns.
    let values: String
    /// JSON text of the complete metadata. nil: unchanged.
    let metadata: String?
    /// JSON text: keys of the metadata. null removes a key.
    let keys: String

    /// The columns of an identity that contain text.
    private static let texts: Set<String> = [
        "display_name", "avatar_url", "first_name", "last_name", "phone_number", "email_address", "public_key",
    ]

    private enum ColumnValue: Encodable {
        case text(String?)
        case flag(Bool)

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .text(let text): try container.encode(text)
            case .flag(let flag): try container.encode(flag)
            }
        }
    }

    /// - Throws: `ContractViolation` for an unknown mode or property.
    init(_ request: ProtoWriteIdentityRequest) throws {
        guard let mode = Mode(rawValue: request.mode) else { throw ContractViolation("WriteIdentityRequest.mode") }
        self.mode = mode
        var values: [String: ColumnValue] = [:]
        for value in request.values {
            guard Self.texts.contains(value.name) else { throw ContractViolation("WriteIdentityRequest.values") }
            values[value.name] = .text(value.hasValue ? value.value : nil)
        }
        if request.hasIsBot { values["is_bot"] = .flag(request.isBot) }
        self.values = try Self.json(values)
        metadata = request.hasMetadata ? try Self.json(request.metadata.values) : nil
        keys = try Self.json(
            Dictionary(
                request.keys.map { ($0.name, ColumnValue.text($0.hasValue ? $0.value : nil)) }, uniquingKeysWith: { $1 }
            ))
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

/// Notifies the users who see a user's identity of its change.
struct IdentityAnnouncer: Sendable {
    let directory: IdentityDirectory
    let publisher: Publisher

    /// Sends the complete identity, because a packet contains the value of each property.
    /// - Parameter entries: the new entries in the recipients' logs. nil: the identity has not changed.
    func announce(_ identity: Identity, to entries: [UserLogEntries.Entry]?, in app: AppID) {
        guard let entries else { return }
        directory.forget(identity.basic.userID, in: app)
        publisher.notify(
            entries.map { entry in
                let change = UserChange(
                    appID: app, user: entry.user, position: entry.position, createdAt: entry.createdAt,
                    content: .identityChanged(identity))
                return UserNotice(appID: app, user: entry.user, content: .change(change))
            })
    }
}
