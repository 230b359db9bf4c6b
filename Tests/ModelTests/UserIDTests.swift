// SPDX-License-Identifier: Apache-2.0
import StrataModel
import Testing

struct UserIDTests {
    @Test(
        "ids are encoded like in client libraries",
        arguments: [
            ("ana", "ana"), ("ana.silva-1_x*", "ana.silva-1_x*"), ("a b", "a%20b"), ("a/b", "a%2Fb"),
            ("100%", "100%25"),
            ("!~'()", "%21%7E%27%28%29"), ("é", "%C3%A9"), ("\u{1F600}", "%F0%9F%98%80"), ("a@b.c+d", "a%40b.c%2Bd"),
        ])
    func encoding(raw: String, encoded: String) throws {
        let user = try #require(UserID(raw))
        #expect(user.percentEncoded == encoded)
        #expect(user.layerID == "layer:///identities/\(encoded)")
        #expect(UserID(parsing: user.layerID) == user)
        #expect(UserID(parsing: encoded) == user)
        #expect(UserID(parsing: "layer://identities/\(encoded)") == user)
    }

    @Test("other encodings of the same id are accepted")
    func lenientDecoding() {
        #expect(UserID(parsing: "layer:///identities/a%c3%a9")?.rawValue == "aé")
        #expect(UserID(parsing: "layer:///identities/!~")?.rawValue == "!~")
        #expect(UserID(parsing: "\u{301}x")?.rawValue == "\u{301}x")
        #expect(UserID(parsing: "layer:///identities/\u{301}x")?.rawValue == "\u{301}x")
    }

    @Test(
        "an invalid id is refused",
        arguments: [
            "", "layer:///identities/", "a/b", "layer:///identities/a/b", "layer:///conversations/a", "a%", "a%2",
            "a%zz", "%FF", "%00", "a%0Ab",
            "a\u{7f}",
            "/a", "identities/a",
        ])
    func refused(text: String) {
        #expect(UserID(parsing: text) == nil)
    }

    @Test("the limit of an id is 128 bytes, not characters")
    func limit() {
        #expect(UserID(String(repeating: "a", count: 128)) != nil)
        #expect(UserID(String(repeating: "a", count: 129)) == nil)
        #expect(UserID(String(repeating: "é", count: 64)) != nil)
        #expect(UserID(String(repeating: "é", count: 65)) == nil)
        #expect(UserID("a\u{0}") == nil)
    }

    @Test("two spellings of an accented letter are two user ids, as in the database")
    func canonicalEquivalence() {
        let composed = UserID(trusted: "caf\u{e9}")
        let decomposed = UserID(trusted: "cafe\u{301}")
        #expect(composed.rawValue == decomposed.rawValue)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        // If all spellings had equal hashes, they would collide in a dictionary.
        #expect(composed.hashValue != decomposed.hashValue)
        #expect(composed.hashValue == UserID(trusted: "caf\u{e9}").hashValue)
        // Equal lengths, with the combining marks in another order.
        #expect(UserID(trusted: "a\u{301}\u{323}") != UserID(trusted: "a\u{323}\u{301}"))
        #expect(composed == UserID(trusted: "caf\u{e9}"))
    }

    @Test("user ids are ordered by their bytes")
    func order() {
        #expect(UserID(trusted: "Z") < UserID(trusted: "a"))
        #expect(UserID(trusted: "a") < UserID(trusted: "ab"))
        #expect(UserID(trusted: "\u{ff61}") < UserID(trusted: "\u{1F600}"))
        #expect(!(UserID(trusted: "a") < UserID(trusted: "a")))
    }
}
