// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// The columns of a basic identity: id, name and picture.
struct BasicIdentityColumns: ColumnSet {
    private let user: Column<String>
    private let displayName: Column<String>
    private let avatarURL: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        user = try names.column("user_id")
        displayName = try names.column("display_name")
        avatarURL = try names.column("avatar_url")
    }

    func identity(in row: Row) throws(PostgresError) -> BasicIdentity {
        BasicIdentity(
            userID: UserID(trusted: try row[user]), displayName: try row[optional: displayName],
            avatarURL: try row[optional: avatarURL])
    }
}

struct IdentityColumns: ColumnSet {
    private let basic: BasicIdentityColumns
    private let firstName: Column<String>
    private let lastName: Column<String>
    private let phoneNumber: Column<String>
    private let emailAddress: Column<String>
    private let publicKey: Column<String>
    private let isBot: Column<Bool>
    private let metadata: Column<String>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        basic = try BasicIdentityColumns(&names)
        firstName = try names.column("first_name")
        lastName = try names.column("last_name")
        phoneNumber = try names.column("phone_number")
        emailAddress = try names.column("email_address")
        publicKey = try names.column("public_key")
        isBot = try names.column("is_bot")
        metadata = try names.column("metadata")
    }

    func identity(in row: Row) throws -> Identity {
        Identity(
            basic: try basic.identity(in: row), firstName: try row[optional: firstName],
            lastName: try row[optional: lastName],
            phoneNumber: try row[optional: phoneNumber], emailAddress: try row[optional: emailAddress],
            publicKey: try row[optional: publicKey],
            kind: try row[isBot] ? .bot : .user, metadata: try Self.decode(row[metadata]))
    }

    private static func decode(_ json: String) throws -> [String: String] {
        json == "{}" ? [:] : try JSONDecoder().decode([String: String].self, from: Data(json.utf8))
    }

    /// Returns the select list of an identity's columns.
    /// - Parameter row: an SQL expression of the type `identity`.
    static func selected(from row: String) -> String {
        [
            "user_id", "display_name", "avatar_url", "first_name", "last_name", "phone_number", "email_address",
            "public_key", "is_bot", "metadata",
        ]
        .map { "\(row).\($0)" }.joined(separator: ", ")
    }
}
