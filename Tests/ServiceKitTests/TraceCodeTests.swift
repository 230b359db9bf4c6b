// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import ServiceKit

@Suite struct TraceCodeTests {
    private static let secret = String(repeating: "s", count: 32)
    /// The beginning of a minute.
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)

    private func code(
        app: String = "app", user: String = "ana", seconds: String = "60", secret: String = secret
    ) -> TraceCode {
        TraceCode(app: app, user: user, seconds: seconds, clusterSecret: secret)
    }

    @Test("a code is the HMAC of the parameters and the minute, in hexadecimal digits")
    func form() {
        // printf 'trace\napp\nana\n60\n30000000' | openssl dgst -sha256 -hmac ssssssssssssssssssssssssssssssss
        let digits = "1a22d39668d1239ca3d3340af43652a94fb3fdf2c85db228d3990d6f8ff9f5db"
        #expect(code().header(at: Self.time) == "Strata \(digits)")
        #expect(code().header(at: Self.time + 59.9) == "Strata \(digits)")
        #expect(code().isValid("Strata \(digits)", at: Self.time))
    }

    @Test("a code is valid in its minute, and in the ones beside it")
    func minutes() {
        let header = code().header(at: Self.time + 30)
        for seconds in [-60.0, -0.1, 0, 59, 60, 119.9] { #expect(code().isValid(header, at: Self.time + seconds)) }
        for seconds in [-60.1, 120] { #expect(!code().isValid(header, at: Self.time + seconds)) }
    }

    @Test("a code of another request or secret, and a malformed one, are refused")
    func refused() {
        let header = code().header(at: Self.time)
        for other in [code(app: "b"), code(user: "b"), code(seconds: "61"), code(secret: "other")] {
            #expect(!other.isValid(header, at: Self.time))
        }
        let digits = header.dropFirst("Strata ".count)
        for text in [
            nil, "", "Strata ", "Strata \(digits)0", "Strata \(digits.dropLast())", "Strata \(digits.dropLast())g",
            "Bearer \(digits)", String(digits), "Strata " + String(repeating: "é", count: 32),
        ] { #expect(!code().isValid(text, at: Self.time)) }
    }
}
