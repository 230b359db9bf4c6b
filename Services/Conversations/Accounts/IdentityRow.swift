// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres
import StrataModel

/// Reads an identity from the columns that the account statements select.
enum IdentityRow {
    /// - Parameter first: the number of the first of the ten columns.
    static func decode(_ row: Row, from first: Int = 0) throws -> Identity {
        Identity(
            basic: BasicIdentity(
                userID: UserID(trusted: try row.get(first, as: String.self)), displayName: try row.getOptional(first + 1, as: String.self),
                avatarURL: try row.getOptional(first + 2, as: String.self)),
            firstName: try row.getOptional(first + 3, as: String.self), lastName: try row.getOptional(first + 4, as: String.self),
            phoneNumber: try row.getOptional(first + 5, as: String.self), emailAddress: try row.getOptional(first + 6, as: String.self),
            publicKey: try row.getOptional(first + 7, as: String.self), kind: try row.get(first + 8, as: Bool.self) ? .bot : .user,
            metadata: try metadata(row.get(first + 9, as: String.self)))
    }

    private static func metadata(_ json: String) throws -> [String: String] {
        json == "{}" ? [:] : try JSONDecoder().decode([String: String].self, from: Data(json.utf8))
    }
}
