// SPDX-License-Identifier: Apache-2.0
import Contracts
import Crypto
import FoundationEssentials
import ServiceKit
import StrataModel

/// The secret tokens in URLs by which content is uploaded and downloaded without a session (docs/conformance.md §8).
///
/// A token names a permission and its expiry, and carries an authentication code made with the cluster secret. So no
/// token is stored, any gateway accepts the tokens of any other, and a client can do only what its token permits.
struct ContentTokens: Sendable {
    struct Upload: Hashable {
        let id: ContentID
        /// The exact number of bytes.
        let size: Int
        let type: String
        /// The app. nil: the token was issued by an older release, which did not name the app.
        var app: AppID?
    }

    struct Download: Hashable {
        let id: ContentID
        let expiresAt: Timestamp
    }

    private enum Kind: UInt8 {
        case upload = 1
        case download = 2
        /// An upload with the id of its app.
        case appUpload = 3
    }

    /// The time within which an upload must begin.
    static let uploadLifetime = Duration.seconds(86_400)
    /// The period, in seconds, in which a content has the same download URL, so that caches recognize it. A URL is
    /// valid for between one and two periods.
    private static let period: Int64 = 3600

    private static let codeBytes = 16
    /// The size of kind, expiry and id.
    private static let headBytes = 25
    /// The maximum length of a token's text. Issued tokens are shorter.
    private static let textBytes = 512

    private let key: SymmetricKey

    /// - Parameter clusterSecret: the secret that all processes of the installation share.
    init(clusterSecret: String) {
        key = HKDF<SHA256>
            .deriveKey(
                inputKeyMaterial: SymmetricKey(data: Array(clusterSecret.utf8)), info: Array("strata content v1".utf8),
                outputByteCount: 32)
    }

    /// Returns an upload token for one content, valid for ``uploadLifetime``.
    func issue(_ upload: Upload, at now: Timestamp) -> String {
        let expiry = now.advanced(by: Self.uploadLifetime).microseconds / 1_000_000
        var body = Self.head(upload.app == nil ? .upload : .appUpload, expiry: expiry, id: upload.id)
        withUnsafeBytes(of: Int64(clamping: upload.size).bigEndian) { body += $0 }
        if let app = upload.app { withUnsafeBytes(of: app.rawValue.uuid) { body += $0 } }
        body += Array(upload.type.utf8)
        return sealed(body)
    }

    /// Returns the permission; nil for an invalid or expired token.
    func upload(_ token: some StringProtocol, at now: Timestamp) -> Upload? {
        let named = opened(token, as: .appUpload, at: now)
        guard let (id, _, rest) = named ?? opened(token, as: .upload, at: now), rest.count >= 8 else { return nil }
        let size = rest.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        var type = rest.dropFirst(8)
        var app: AppID?
        if named != nil {
            guard let uuid = UUID(contract: Data(type.prefix(16))) else { return nil }
            app = AppID(rawValue: uuid)
            type = type.dropFirst(16)
        }
        return Upload(id: id, size: Int(clamping: size), type: String(decoding: type, as: UTF8.self), app: app)
    }

    /// Returns a download token, valid for at least an hour.
    func issueDownload(of id: ContentID, at now: Timestamp) -> (token: String, expiresAt: Timestamp) {
        let expiry = (now.microseconds / 1_000_000 / Self.period + 2) * Self.period
        return (sealed(Self.head(.download, expiry: expiry, id: id)), Timestamp(microseconds: expiry * 1_000_000))
    }

    /// Returns the permission; nil for an invalid or expired token.
    func download(_ token: some StringProtocol, at now: Timestamp) -> Download? {
        guard let (id, expiresAt, rest) = opened(token, as: .download, at: now), rest.isEmpty else { return nil }
        return Download(id: id, expiresAt: expiresAt)
    }

    // MARK: Sealing

    private static func head(_ kind: Kind, expiry: Int64, id: ContentID) -> [UInt8] {
        var bytes = [kind.rawValue]
        withUnsafeBytes(of: expiry.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: id.rawValue.uuid) { bytes += $0 }
        return bytes
    }

    private func sealed(_ body: [UInt8]) -> String { Base64URL.encode(body + code(of: body)) }

    private func opened(
        _ token: some StringProtocol, as kind: Kind, at now: Timestamp
    ) -> (id: ContentID, expiresAt: Timestamp, rest: ArraySlice<UInt8>)? {
        guard token.utf8.count <= Self.textBytes, let bytes = Base64URL.decode(token),
            bytes.count >= Self.headBytes + Self.codeBytes
        else {
            return nil
        }
        let body = bytes.dropLast(Self.codeBytes)
        guard Self.isEqual(bytes.suffix(Self.codeBytes), to: code(of: body)), body.first == kind.rawValue else {
            return nil
        }
        let expiresAt = Timestamp(microseconds: body[1..<9].reduce(Int64(0)) { $0 << 8 | Int64($1) } &* 1_000_000)
        guard now < expiresAt else { return nil }
        var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: body[9..<Self.headBytes]) }
        return (ContentID(rawValue: UUID(uuid: uuid)), expiresAt, body.dropFirst(Self.headBytes))
    }

    private func code(of body: some DataProtocol) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: body, using: key)).prefix(Self.codeBytes).map { $0 }
    }

    /// Compares in constant time.
    private static func isEqual(_ left: ArraySlice<UInt8>, to right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
