// SPDX-License-Identifier: Apache-2.0
import Foundation
import ServiceKit
import Testing

@Suite struct NonceTests {
    let key = Nonce.Key(clusterSecret: "one")
    let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test("a nonce is valid from its issue until its expiry")
    func lifetime() throws {
        let nonce = Nonce.issue(with: key, at: now)
        #expect(nonce.text.utf8.count == 56)
        #expect(
            nonce.text.utf8.allSatisfy {
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8.contains($0)
            })
        let read = try #require(Nonce.verify(nonce.text, with: key, at: now))
        #expect(read == nonce)
        #expect(read.expiresAt == now + 600)
        #expect(Nonce.verify(nonce.text, with: key, at: now + 599) != nil)
        #expect(Nonce.verify(nonce.text, with: key, at: now + 600) == nil)
    }

    @Test("nonces are unique")
    func unique() {
        #expect(Set((0..<100).map { _ in Nonce.issue(with: key, at: now).digest }).count == 100)
    }

    @Test("a nonce of another cluster is refused")
    func otherKey() {
        let nonce = Nonce.issue(with: Nonce.Key(clusterSecret: "two"), at: now)
        #expect(Nonce.verify(nonce.text, with: key, at: now) == nil)
    }

    @Test("a nonce with any character changed is refused")
    func forged() {
        let text = Array(Nonce.issue(with: key, at: now).text)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == "A" ? "B" : "A"
            #expect(Nonce.verify(String(changed), with: key, at: now) == nil)
        }
    }

    @Test(
        "malformed nonces are refused",
        arguments: ["", "abc", String(repeating: "A", count: 56), String(repeating: "=", count: 56), "\u{1F600}"])
    func garbage(_ text: String) {
        #expect(Nonce.verify(text, with: key, at: now) == nil)
    }

    @Test("Base64URL decodes exactly its own output", arguments: 0..<8)
    func base64(_ count: Int) {
        let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
        let text = Base64URL.encode(bytes)
        #expect(Base64URL.decode(text) == bytes)
        #expect(Base64URL.decode(text + "=") == nil)
    }

    @Test(
        "Base64URL refuses padding, other alphabets, impossible lengths and surplus bits",
        arguments: ["A", "AB", "AAAAA", "A+", "A/", "A A"])
    func base64Garbage(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
