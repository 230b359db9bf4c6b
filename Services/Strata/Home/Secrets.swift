// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What the processes of one system prove themselves to each other with. Made once, kept in the home with mode 0600.
struct Secrets: Codable, Equatable, Sendable {
    /// What services show each other.
    let cluster: String
    /// The password of PostgreSQL's superuser.
    let postgres: String
    /// The password of the role of the conversations service.
    let conversations: String
    /// The password of the role of the metadata service.
    let metadata: String

    /// The secrets of a home; made and written if there are none.
    static func ensure(in home: StrataHome) throws -> Secrets {
        if let bytes = FileManager.default.contents(atPath: home.secrets) {
            do {
                return try JSONDecoder().decode(Secrets.self, from: bytes)
            } catch {
                // Never replaced: the database knows the passwords that were in it.
                throw CommandFailure(
                    .configuration, "The file \(home.secrets) cannot be understood. Restore it, or move \(home.path) away and start afresh.")
            }
        }
        let secrets = Secrets(
            cluster: RandomToken.make(), postgres: RandomToken.make(), conversations: RandomToken.make(), metadata: RandomToken.make())
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try PrivateFile.write(try encoder.encode(secrets), to: home.secrets)
        return secrets
    }
}
