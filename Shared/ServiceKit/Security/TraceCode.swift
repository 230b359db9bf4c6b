// SPDX-License-Identifier: Apache-2.0
import Crypto
public import FoundationEssentials

/// The proof that a request for a trace of a user's packets comes from a process that holds the cluster secret. The
/// console sends it in the header `authorization`; gateways verify it.
///
/// The proof is valid for at most two minutes, because it contains the minute in which it was made.
public struct TraceCode: Sendable {
    private static let scheme = "Strata "
    private let parameters: String
    private let key: SymmetricKey

    /// - Parameters:
    ///   - app: The parameter `app` of the request, as in the query after percent-decoding; like `user` and `seconds`.
    ///   - clusterSecret: The secret that all processes of the installation share.
    public init(app: String, user: String, seconds: String, clusterSecret: String) {
        parameters = "trace\n\(app)\n\(user)\n\(seconds)\n"
        key = SymmetricKey(data: Array(clusterSecret.utf8))
    }

    /// Returns the value of the header for a request at this time.
    public func header(at now: Date = Date()) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: text(ofMinute: Self.minute(of: now)), using: key)
        let digits = Array("0123456789abcdef".utf8)
        return Self.scheme
            + String(decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns true if the header was made in the minute of `now`, or in the minute before or after it, because clocks
    /// differ. The comparison takes constant time.
    public func isValid(_ header: String?, at now: Date = Date()) -> Bool {
        guard let header, header.hasPrefix(Self.scheme), let code = Self.bytes(header.dropFirst(Self.scheme.count))
        else {
            return false
        }
        let minute = Self.minute(of: now)
        return (minute - 1...minute + 1)
            .contains { HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: text(ofMinute: $0), using: key) }
    }

    private func text(ofMinute minute: Int64) -> [UInt8] { Array("\(parameters)\(minute)".utf8) }

    private static func minute(of time: Date) -> Int64 { Int64((time.timeIntervalSince1970 / 60).rounded(.down)) }

    /// Returns the 32 bytes of 64 hexadecimal digits; nil for another text.
    private static func bytes(_ text: Substring) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard text.utf8.count == 64, digits.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
