// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import StrataCommand

@Suite("apps and their keys")
struct AppTests {
    @Test("an app id is parsed in its full, bare and older form")
    func ids() throws {
        let id = UUID()
        let text = id.uuidString.lowercased()
        #expect(LayerID.app.text(id) == "layer:///apps/production/\(text)")
        for spelling in [
            text, text.uppercased(), "layer:///apps/production/\(text)", "layer:///apps/staging/\(text)",
            "layer://apps/staging/\(text)",
        ] {
            #expect(try LayerID.app.parse(spelling, option: "--app") == id)
        }
        #expect(try LayerID.key.parse("layer:///keys/\(text)", option: "--key-id") == id)
        for wrong in ["", "app", "layer:///keys/\(text)", "layer:///apps/\(text)", "layer:///apps/production/x"] {
            let failure = #expect(throws: CommandFailure.self) { try LayerID.app.parse(wrong, option: "--app") }
            #expect(failure?.message.contains("--app") == true)
        }
    }

    @Test("a new app has a key pair and a token of 256 bits, of which only the digest is stored")
    func newApp() throws {
        let app = try NewApp(name: " Chat ")
        #expect(app.name == "Chat")
        #expect(app.publicKey.hasPrefix("-----BEGIN PUBLIC KEY-----"))
        #expect(app.privateKey?.hasPrefix("-----BEGIN PRIVATE KEY-----") == true)
        #expect(Data(base64URL: app.serverToken)?.count == 32)
        #expect(app.serverTokenDigest.count == 32)
        #expect(Data(app.serverTokenDigest) != Data(base64URL: app.serverToken))
        #expect(throws: CommandFailure.self) { try NewApp(name: "  ") }
    }

    @Test("an app accepts the owner's public key and refuses anything else by name")
    func ownKey() async throws {
        try await withTemporaryDirectory { directory in
            let pair = try AppKeyPair.make()
            let file = directory + "/key.pem"
            try pair.publicKey.write(toFile: file, atomically: false, encoding: .utf8)
            let app = try NewApp(name: "Chat", publicKeyFile: file)
            #expect(app.publicKey == pair.publicKey)
            #expect(app.privateKey == nil)
            try pair.privateKey.write(toFile: file, atomically: false, encoding: .utf8)
            let failure = #expect(throws: CommandFailure.self) { try NewApp(name: "Chat", publicKeyFile: file) }
            #expect(failure?.message.contains("private key") == true)
            #expect(failure?.message.contains("BEGIN") == false)
            try "nonsense".write(toFile: file, atomically: false, encoding: .utf8)
            #expect(throws: CommandFailure.self) { try NewApp(name: "Chat", publicKeyFile: file) }
            let missing = #expect(throws: CommandFailure.self) {
                try NewApp(name: "Chat", publicKeyFile: directory + "/none.pem")
            }
            #expect(missing?.status == .noInput)
        }
    }

    @Test("the key ring selects the only app automatically, and asks if several exist")
    func keyRing() async throws {
        try await withTemporaryDirectory { directory in
            let ring = KeyRing(home: StrataHome(environment: ["STRATA_HOME": directory + "/home"]))
            #expect(throws: CommandFailure.self) { try ring.entry(for: nil) }
            let first = try NewApp(name: "First")
            let file = try ring.addApp(first, privateKey: try #require(first.privateKey))
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
            let entry = try ring.entry(for: nil)
            #expect(entry.app == first.id)
            #expect(try ring.privateKey(of: entry) == first.privateKey)
            let second = try NewApp(name: "Second")
            _ = try ring.addApp(second, privateKey: try #require(second.privateKey))
            let failure = #expect(throws: CommandFailure.self) { try ring.entry(for: nil) }
            #expect(failure?.message.contains(LayerID.app.text(second.id)) == true)
            #expect(try ring.entry(for: second.id).provider == second.providerID)
            #expect(throws: CommandFailure.self) { try ring.entry(for: UUID()) }
            ring.remove(second)
            #expect(try ring.entry(for: nil).app == first.id)
        }
    }
}
