// SPDX-License-Identifier: Apache-2.0
import Foundation

#if canImport(Security)
import Security
#endif

/// A store for session tokens. The key is the name of the session's store.
protocol TokenStore: Sendable {
    /// Returns a token; nil if there is none.
    /// - Throws: ``StrataError/Code/devicePersistenceFailure`` if tokens cannot be read now, for example because the
    ///   device is locked.
    func token(of store: String) throws -> String?

    /// Replaces a token; nil removes it.
    func setToken(_ token: String?, of store: String) throws
}

extension SessionFile {
    /// Returns the platform's token store: the keychain on Apple platforms, elsewhere a file in the folder.
    static func systemTokens(in folder: URL) -> any TokenStore {
        #if canImport(Security)
        return KeychainTokens()
        #else
        return TokenFile(folder: folder)
        #endif
    }
}

/// A token store in a file that only its owner can read.
struct TokenFile: TokenStore {
    private let url: URL

    init(folder: URL) { url = folder.appending(path: "tokens.json") }

    func token(of store: String) throws -> String? { try tokens()[store] }

    func setToken(_ token: String?, of store: String) throws {
        var tokens = try tokens()
        guard tokens[store] != token else { return }
        tokens[store] = token
        if tokens.isEmpty {
            try PrivateFile.remove(url)
        } else {
            try PrivateFile.write(try JSONEncoder().encode(tokens), to: url)
        }
    }

    private func tokens() throws -> [String: String] {
        do {
            return try PrivateFile.read(url).map { try JSONDecoder().decode([String: String].self, from: $0) } ?? [:]
        } catch {
            throw StrataError.file("tokens.json cannot be read", underlying: error)
        }
    }
}

#if canImport(Security)
/// A token store in the keychain of an Apple platform. The tokens do not leave this device, and are readable after its
/// first unlock.
struct KeychainTokens: TokenStore {
    private static let service = "strata.session"

    func token(of store: String) throws -> String? {
        var query = Self.item(store)
        query[kSecReturnData] = true
        var result: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &result) {
        case errSecSuccess: return (result as? Data).map { String(decoding: $0, as: UTF8.self) }
        case errSecItemNotFound: return nil
        case let status: throw Self.failure(status)
        }
    }

    func setToken(_ token: String?, of store: String) throws {
        guard let token else {
            let status = SecItemDelete(Self.item(store) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw Self.failure(status) }
            return
        }
        let value: [CFString: Any] = [
            kSecValueData: Data(token.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        var status = SecItemUpdate(Self.item(store) as CFDictionary, value as CFDictionary)
        if status == errSecItemNotFound {
            status = SecItemAdd(Self.item(store).merging(value) { $1 } as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw Self.failure(status) }
    }

    /// Returns the keychain query for a store. Store names are UUIDs, so clients of several apps and folders can share
    /// one service name.
    private static func item(_ store: String) -> [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: store]
    }

    private static func failure(_ status: OSStatus) -> StrataError {
        StrataError(.devicePersistenceFailure, "The keychain cannot be used: \(status)")
    }
}
#endif
