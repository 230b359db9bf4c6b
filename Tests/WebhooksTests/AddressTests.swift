// SPDX-License-Identifier: Apache-2.0

import StrataModel
import Testing

@testable import Webhooks

@Suite("receiver addresses")
struct AddressTests {
    @Test(
        "addresses that are not public are refused in every notation",
        arguments: [
            "127.0.0.1", "127.255.255.255", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1",
            "169.254.169.254", "100.64.0.1",
            "100.127.255.255",
            "0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1",
            "fdff::1", "ff02::1",
            "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:10.0.0.1", "::10.0.0.1", "64:ff9b::10.0.0.1",
            "2002:a00:1::1", "2001:db8::1",
        ])
    func refused(_ text: String) throws {
        #expect(!AddressPolicy(allowed: []).admits(try #require(IPAddress(text))))
    }

    @Test(
        "public internet addresses are accepted",
        arguments: [
            "1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.0", "192.167.255.255",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ])
    func admitted(_ text: String) throws {
        #expect(AddressPolicy(allowed: []).admits(try #require(IPAddress(text))))
    }

    @Test("the operator can allow address blocks, down to the bit")
    func allowed() throws {
        let policy = AddressPolicy(allowed: try ["10.20.0.0/15", "::1"].map { try #require(AddressBlock($0)) })
        for text in ["10.20.0.1", "10.21.255.255", "::1", "::ffff:10.20.0.1"] {
            #expect(policy.admits(try #require(IPAddress(text))), "\(text)")
        }
        for text in ["10.22.0.0", "10.19.255.255", "::2"] {
            #expect(!policy.admits(try #require(IPAddress(text))), "\(text)")
        }
    }

    @Test(
        "an invalid address block is refused",
        arguments: ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1", "10.0.0.0/8/8", "example.org", "10.0.0.0/"])
    func noBlocks(_ text: String) { #expect(AddressBlock(text) == nil) }

    @Test("a target is parsed so that its host equals the called one")
    func targets() throws {
        let target = try TargetURL("https://Example.ORG/a%20b?x=1", allowsHTTP: false)
        #expect(target.text == "https://example.org:443/a%20b?x=1")
        #expect(
            target.adding("verification_challenge", "c") == "https://example.org:443/a%20b?x=1&verification_challenge=c"
        )
        #expect(
            try TargetURL("https://example.org", allowsHTTP: false).adding("c", "d") == "https://example.org:443/?c=d")
        let v6 = try TargetURL("https://[2606:4700::1111]:8443/", allowsHTTP: false)
        #expect((v6.host, v6.text) == ("2606:4700::1111", "https://[2606:4700::1111]:8443/"))
    }

    @Test(
        "invalid targets are refused",
        arguments: [
            "", "example.org", "http://example.org/", "ftp://example.org/", "https://", "https://user@example.org/",
            "https://user:pass@example.org/",
            "https://example.org/#top", "https://example.org:0/", "https://example.org:99999/",
            "https://[fe80::1%25eth0]/",
        ])
    func badTargets(_ text: String) { #expect(throws: Failure.self) { try TargetURL(text, allowsHTTP: false) } }

    @Test("receivers without TLS require the operator's permission")
    func plain() throws {
        #expect(try TargetURL("http://example.org/", allowsHTTP: true).text == "http://example.org:80/")
        #expect(throws: Failure.self) { try TargetURL("ftp://example.org/", allowsHTTP: true) }
    }
}
