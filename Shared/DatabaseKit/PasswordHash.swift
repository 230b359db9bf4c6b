// SPDX-License-Identifier: Apache-2.0
import Crypto
import CryptoExtras
import Foundation

/// The scrypt hash of an operator's password. Its text, `scrypt$N$r$p$salt$hash`, is the column `password_hash` of
/// `console.operator`.
///
/// A computation takes about 0.1 s and 32 MiB. Run it on a thread outside the cooperative pool.
public struct PasswordHash: Equatable, Sendable {
    private let cost: Cost
    private let salt: Data
    private let hash: Data

    /// The parameters of scrypt: `N`, `r` and `p`.
    private struct Cost: Equatable, Sendable {
        let rounds: Int
        let blockSize: Int
        let parallelism: Int

        static let standard = Cost(rounds: 1 << 15, blockSize: 8, parallelism: 1)

        /// True if a computation takes at most 256 MiB. A damaged column must not stop the process.
        var isBounded: Bool {
            (2...1 << 18).contains(rounds) && rounds & (rounds - 1) == 0 && (1...32).contains(blockSize)
                && (1...16).contains(parallelism) && 128 * rounds * blockSize * parallelism <= 256 << 20
        }
    }

    private static let hashBytes = 32

    /// A hash that no password matches. Comparing with it takes as long as with any other.
    public static let placeholder = PasswordHash(
        cost: .standard, salt: Data(repeating: 0, count: 16), hash: Data(repeating: 0, count: hashBytes))

    private init(cost: Cost, salt: Data, hash: Data) {
        self.cost = cost
        self.salt = salt
        self.hash = hash
    }

    /// Hashes a password with a random salt.
    /// - Throws: An error if the password is empty, or if there is too little memory.
    public init(of password: String) throws {
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
        self.init(cost: .standard, salt: salt, hash: try Self.hash(of: password, cost: .standard, salt: salt))
    }

    /// Parses the text of a hash. nil: the text is none.
    public init?(_ text: String) {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 6, fields[0] == "scrypt", let rounds = Int(fields[1]), let blockSize = Int(fields[2]),
            let parallelism = Int(fields[3]), let salt = Data(base64Encoded: String(fields[4])),
            let hash = Data(base64Encoded: String(fields[5])), !salt.isEmpty, hash.count == Self.hashBytes
        else { return nil }
        let cost = Cost(rounds: rounds, blockSize: blockSize, parallelism: parallelism)
        guard cost.isBounded else { return nil }
        self.init(cost: cost, salt: salt, hash: hash)
    }

    /// The text that is stored.
    public var text: String {
        let (salt, hash) = (salt.base64EncodedString(), hash.base64EncodedString())
        return "scrypt$\(cost.rounds)$\(cost.blockSize)$\(cost.parallelism)$\(salt)$\(hash)"
    }

    /// Returns true if the password is the hashed one. The comparison takes the same time for each wrong password.
    public func matches(_ password: String) -> Bool {
        guard let other = try? Self.hash(of: password, cost: cost, salt: salt) else { return false }
        return zip(hash, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Returns the reason why a password is refused, as the end of a sentence that begins with its name; nil: none.
    public static func complaint(about password: String) -> String? {
        (12...1024).contains(normalized(password).count) ? nil : "must have 12 to 1,024 bytes"
    }

    private struct EmptyPassword: Error {}

    private static func hash(of password: String, cost: Cost, salt: Data) throws -> Data {
        let password = normalized(password)
        // The library cannot hash empty data.
        guard !password.isEmpty else { throw EmptyPassword() }
        return try KDF.Scrypt
            .deriveKey(
                from: password, salt: salt, outputByteCount: hashBytes, rounds: cost.rounds, blockSize: cost.blockSize,
                parallelism: cost.parallelism
            )
            .withUnsafeBytes { Data($0) }
    }

    /// Returns the bytes of a password. Keyboards encode some characters in several ways, which count as equal.
    private static func normalized(_ password: String) -> Data {
        Data(password.precomposedStringWithCompatibilityMapping.utf8)
    }
}
