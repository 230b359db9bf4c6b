// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import NIOCore
import StrataModel
import Testing

@testable import Console

@Suite("requests to the console")
struct RequestTests {
    @Test(
        "trusted proxies name the client's address, and nobody else does",
        arguments: [
            (["1.2.3.4"], 0, "10.0.0.1"), (["1.2.3.4"], 1, "1.2.3.4"), (["9.9.9.9, 1.2.3.4"], 1, "1.2.3.4"),
            (["9.9.9.9", "1.2.3.4 , 10.0.0.2"], 2, "1.2.3.4"), (["nonsense"], 1, "10.0.0.1"), ([], 1, "10.0.0.1"),
        ])
    func addresses(forwarded: [String], proxies: Int, address: String) {
        #expect(ClientAddress.client(peer: "10.0.0.1", forwarded: forwarded, proxies: proxies) == address)
    }

    struct Body: Decodable {
        let name: String
        let publicKey: String?
    }

    @Test(
        "a wrong body is refused by the name of its member",
        arguments: [
            (#"{}"#, "missing_property", "name"), (#"{"name":1}"#, "invalid_property", "name"),
            (#"{"name":"a","public_key":[]}"#, "invalid_property", "public_key"), ("[]", "invalid_request", nil),
            ("{", "invalid_request", nil),
        ])
    func bodies(text: String, code: String, field: String?) {
        let error = #expect(throws: Failure.self) {
            try ConsoleJSON.decode(ByteBuffer(string: text), as: Body.self)
        }
        let refusal = error.map { Refusal($0) }
        #expect(refusal?.code == code)
        #expect(refusal?.field == field)
    }

    @Test("an unexpected error tells the browser nothing about itself")
    func unexpected() {
        struct Secret: Error { let text = "a secret" }
        let refusal = Refusal(Secret())
        #expect(refusal.status == .internalServerError)
        #expect(!refusal.message.contains("secret"))
    }

    @Test("a session accepts its own CSRF token only", arguments: ["", "tokem", "token ", "tokentoken"])
    func csrf(token: String) {
        let session = OperatorSession(name: "ana", role: .operator, csrf: "token", digest: [])
        #expect(session.hasCSRFToken("token"))
        #expect(!session.hasCSRFToken(token))
    }

    @Test("tokens are 256 random bits in base64url")
    func tokens() {
        let tokens = Set((0..<100).map { _ in SecretToken.make() })
        #expect(tokens.count == 100)
        #expect(tokens.allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil })
        #expect(SecretToken.digest(of: "a").count == 32)
    }

    @Test("a cookie over HTTP is not Secure, and the one of a sign-out expires at once")
    func cookies() {
        #expect(!SessionCookie.header("a", isSecure: false).contains("Secure"))
        #expect(SessionCookie.header(nil, isSecure: true).contains("Max-Age=0"))
    }

    @Test(
        "a path stays below its prefix, and is sent as it came",
        arguments: [
            "", "/users/ana%2Fb", "/conversations/1/messages?page_size=10&from_id=layer:///a%20b", "/a-._~@:!$",
        ])
    func paths(text: String) throws {
        #expect("\(try GatewayPath(text))" == text)
    }

    @Test(
        "a path that could lead elsewhere is refused",
        arguments: [
            "users", "//host/a", "/a//b", "/a/../b", "/a/%2e%2E/b", "/.", "/a b", "/a\r\nX: y", "/a#b", "/a%zz",
            "/a\\b",
            "/a?b c", "/ä",
        ])
    func wrongPaths(text: String) {
        #expect(throws: Failure.self) { try GatewayPath(text) }
    }

    @Test("no secret stands in a recorded path")
    func hiding() {
        #expect(TryRoutes.hidingSecrets(in: "/sessions/secret") == "/sessions/…")
        #expect(TryRoutes.hidingSecrets(in: "/content/uploads/secret") == "/content/uploads/…")
        #expect(TryRoutes.hidingSecrets(in: "/conversations/1/messages") == "/conversations/1/messages")
        #expect(throws: Failure.self) { try SessionText.checked("a\"\r\n") }
        #expect(throws: Failure.self) { try SessionText.checked("") }
    }

    @Test("every file has a type, and the page loads files that exist")
    func files() throws {
        #expect(WebFiles.all["index.html"]?.contentType == "text/html; charset=utf-8")
        #expect(WebFiles.all["main.js"]?.contentType == "text/javascript; charset=utf-8")
        #expect(Set(WebFiles.all.values.map(\.entityTag)).count == WebFiles.all.count)
        let page = String(buffer: try #require(WebFiles.all["index.html"]).bytes)
        let names = page.matches(of: /(?:src|href)="\/console\/([^"]+)"/).map { String($0.1) }
        #expect(names.count > 2)
        for name in names { #expect(WebFiles.all[name] != nil, "index.html names \(name)") }
    }

    @Test("every module imports modules that exist")
    func imports() {
        for (name, file) in WebFiles.all where name.hasSuffix(".js") {
            let folder = name.split(separator: "/").dropLast()
            for match in String(buffer: file.bytes).matches(of: /from "(\.[^"]+)"/) {
                var path = Array(folder)
                for part in match.1.split(separator: "/") where part != "." {
                    if part == ".." { _ = path.popLast() } else { path.append(part) }
                }
                #expect(WebFiles.all[path.joined(separator: "/")] != nil, "\(name) imports \(match.1)")
            }
        }
    }
}
