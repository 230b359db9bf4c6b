// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TestSupport
import Testing

@testable import Redis

struct ValueTests {
    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (String(repeating: "a", count: 64), "0098ba824b5c16427bd7a1122a5a442a25ec644d"),
        (String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    ])
    func sha1(_ text: String, _ digest: String) {
        #expect(RedisScript("test", source: text).sha == digest)
    }

    @Test(
        arguments: [
            ("123456789", 12_739), ("foo", 12_182), ("{foo}bar", 12_182), ("a{foo}{bar}", 12_182), ("", 0),
            ("foo{}{bar}", 8_363), ("foo{{bar}}zap", 4_015),
        ] as [(String, UInt16)])
    func hashSlot(_ key: String, _ slot: UInt16) {
        #expect(HashSlot.of(key) == slot)
    }

    @Test("arguments are length-prefixed and may hold any bytes")
    func encoding() {
        var buffer = ByteBuffer()
        CommandEncoder.encode(["SET", "k\r\n", .bytes(ByteBuffer(bytes: [0, 255])), -12, ""], into: &buffer)
        var expected = ByteBuffer(string: "*5\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$2\r\n")
        expected.writeBytes([0, 255])
        expected.writeString("\r\n$3\r\n-12\r\n$0\r\n\r\n")
        #expect(buffer == expected)
        var long = ByteBuffer()
        CommandEncoder.encode([.bytes(ByteBuffer(repeating: 120, count: 123_456))], into: &long)
        #expect(String(buffer: long).hasPrefix("*1\r\n$123456\r\nx"))
        #expect(long.readableBytes == 4 + 9 + 123_456 + 2)
    }

    @Test func accessors() {
        #expect(RedisValue.bulk(ByteBuffer(string: "42")).int == 42)
        #expect(RedisValue.integer(7).int == 7)
        #expect(RedisValue.simple("OK").string == "OK")
        #expect(RedisValue.bulk(ByteBuffer(string: "x")).bytes == ByteBuffer(string: "x"))
        #expect(RedisValue.array([.null]).array == [.null])
        #expect(RedisValue.null.isNull)
        #expect(
            RedisValue.null.string == nil && RedisValue.null.int == nil && RedisValue.null.bytes == nil
                && RedisValue.null.array == nil)
    }

    @Test("descriptions of errors do not contain the server's quotes")
    func errorsAreDiscreet() {
        let error = RedisError(RedisServerError(text: "ERR unknown command 'secret'"))
        #expect("\(error)".contains("ERR"))
        #expect(!"\(error)".contains("secret") && !String(reflecting: error.serverError).contains("secret"))
    }
}

struct ConfigurationTests {
    @Test func urlWithEverything() throws {
        let configuration = try RedisConfiguration(url: "redis://us%65r:p%40ss:w@one:7001,[::1]:7002,three/0")
        #expect(configuration.endpoints.map(\.description) == ["one:7001", "[::1]:7002", "three:6379"])
        #expect(configuration.username == "user")
        #expect(configuration.password == "p@ss:w")
        #expect(configuration.isCluster == nil)
    }

    @Test(arguments: ["redis://:secret@h", "redis://secret@h", "REDIS://secret@h/"])
    func passwordOnly(_ url: String) throws {
        let configuration = try RedisConfiguration(url: url)
        #expect(configuration.username == nil)
        #expect(configuration.password == "secret")
    }

    @Test(arguments: [
        ("redis://h", false), ("rediss://h", true), ("Rediss://secret@h:1,i/0?ssl_check_hostname=FALSE", true),
    ])
    func encrypted(_ url: String, _ isEncrypted: Bool) throws {
        let configuration = try RedisConfiguration(url: url)
        #expect((configuration.tls != nil) == isEncrypted)
        #expect("\(configuration)".hasPrefix("rediss://") == isEncrypted)
    }

    @Test("passwords and parameters may contain special URL characters")
    func specialCharacters() throws {
        let path = try TestIdentity(names: ["h"]).files().certificate
        let odd = (path as NSString).deletingLastPathComponent + "/ca@v2?.pem"
        try FileManager.default.copyItem(atPath: path, toPath: odd)
        for (url, password) in [
            ("rediss://:pw@h:1?ssl_ca_certs=\(odd)", "pw"),
            ("rediss://:p?ss/w@d@h:1/0?ssl_ca_certs=\(odd)", "p?ss/w@d"),
            ("redis://u:p?a/b@c@h:1", "p?a/b@c"),
        ] {
            let configuration = try RedisConfiguration(url: url)
            #expect(configuration.password == password)
            #expect(configuration.endpoints.map(\.description) == ["h:1"])
        }
        let error = #expect(throws: RedisError.self) {
            try RedisConfiguration(url: "rediss://h?ssl_ca_certs=/nowhere@/ca.pem")
        }
        #expect(error?.message.contains("/nowhere@/ca.pem") == true)
    }

    @Test("a certificate with another certificate's key is refused")
    func strangersKey() throws {
        let (one, other) = (try TestIdentity(names: ["h"]).files(), try TestIdentity(names: ["h"]).files())
        let error = #expect(throws: RedisError.self) {
            try RedisConfiguration(url: "rediss://h?ssl_certfile=\(one.certificate)&ssl_keyfile=\(other.key)")
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: ["/nowhere", "/dev/null"])
    func unusableFilesAreNamed(_ path: String) {
        for parameter in ["ssl_ca_certs=\(path)", "ssl_certfile=\(path)&ssl_keyfile=\(path)"] {
            let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: "rediss://h?\(parameter)") }
            #expect(error?.message.contains(String(parameter.prefix { $0 != "=" })) == true)
        }
    }

    @Test(arguments: [
        "", "localhost:6379", "http://h", "rediss://", "redis://", "redis://h:0", "redis://h:70000", "redis://h:x",
        "redis://h,", "redis://h/1",
        "redis://a:b:c", "redis://[::1", "redis://secret%4@h", "redis://secret%zz@h", "redis://secret%ff@h",
        "redis://h?ssl_check_hostname=false", "rediss://h?unknown=1", "rediss://h?ssl_ca_certs=/nowhere",
        "rediss://h?ssl_ca_certs=",
        "rediss://h?ssl_check_hostname=perhaps", "rediss://h?ssl_certfile=/nowhere",
        "rediss://h?ssl_keyfile=/nowhere&ssl_certfile=/nowhere",
        "rediss://h?ssl_check_hostname=true&ssl_check_hostname=false", "rediss://h?ssl_ca_certs=%zz",
    ])
    func refusedWithoutRepeatingSecrets(_ url: String) {
        let error = #expect(throws: RedisError.self) { try RedisConfiguration(url: url) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error.map { "\($0)".contains("secret") } == false)
    }

    @Test func passwordIsNotPrinted() {
        let configuration = RedisConfiguration(endpoints: [RedisEndpoint(host: "h")], password: "secret")
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!"\(configuration) \(String(reflecting: configuration)) \(dumped)".contains("secret"))
    }
}
