// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import RPC
import Testing

@testable import ServiceKit

struct SettingsTests {
    @Test("values are parsed, and defaults replace absent or empty ones")
    func reading() throws {
        let settings = Settings(environment: [
            "STRATA_TEXT": "hello", "STRATA_EMPTY": "", "STRATA_INT": "42", "STRATA_BOOL": "Yes",
            "STRATA_TIME": "250ms",
            "STRATA_URLS": "https://a.example, http://b.example:8080/x", "STRATA_LIST": " a ,b,,",
            "STRATA_LEVEL": "DEBUG",
        ])
        #expect(try settings.string("STRATA_TEXT") == "hello")
        #expect(try settings.string("STRATA_EMPTY", default: "other") == "other")
        #expect(try settings.optionalString("STRATA_NONE") == nil)
        #expect(try settings.int("STRATA_INT", in: 1...42) == 42)
        #expect(try settings.int("STRATA_NONE", default: 7) == 7)
        #expect(try settings.bool("STRATA_BOOL") == true)
        #expect(try settings.duration("STRATA_TIME") == .milliseconds(250))
        #expect(
            try settings.urls("STRATA_URLS").map(\.absoluteString) == ["https://a.example", "http://b.example:8080/x"])
        #expect(try settings.strings("STRATA_LIST") == ["a", "b"])
        #expect(try settings.logLevel("STRATA_LEVEL") == .debug)
    }

    @Test(
        "durations need a number and a unit",
        arguments: [
            ("5us", .microseconds(5)), ("500ms", .milliseconds(500)), ("10s", .seconds(10)), ("2m", .seconds(120)),
            ("1h", .seconds(3600)),
            ("30d", .seconds(2_592_000)), ("0s", .zero), ("10", nil), ("s", nil), ("-1s", nil), ("1.5s", nil),
            ("1 s", nil), ("", nil),
            ("99999999999999999999s", nil), ("9223372036854775807d", nil),
        ] as [(String, Duration?)])
    func durations(_ text: String, _ expected: Duration?) {
        #expect(Duration(setting: text) == expected)
    }

    @Test("a value may come from a file")
    func files() throws {
        let path = NSTemporaryDirectory() + "strata-setting-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let empty = path + "-empty"
        defer { try? FileManager.default.removeItem(atPath: empty) }
        try "hunter2 and more\n".write(toFile: path, atomically: true, encoding: .utf8)
        try "\n".write(toFile: empty, atomically: true, encoding: .utf8)
        let settings = Settings(environment: [
            "STRATA_KEY_FILE": path, "STRATA_BOTH": "x", "STRATA_BOTH_FILE": path, "STRATA_NONE_FILE": path + "-none",
            "STRATA_LEVEL_FILE": empty,
        ])
        #expect(try settings.secret("STRATA_KEY", minimumLength: 16).value == "hunter2 and more")
        #expect(try settings.logLevel("STRATA_LEVEL", default: .info) == .info)
        #expect(try settings.optionalString("STRATA_BOTH") == "x")
        let none = #expect(throws: SettingsError.self) { try settings.optionalString("STRATA_NONE") }
        #expect(none?.description == "invalid setting STRATA_NONE_FILE: expected the path of a readable text file")
        #expect(settings.unusedKeys == [])
    }

    @Test("an error names a missing setting and the expected format")
    func missing() {
        let settings = Settings(environment: [:])
        let error = #expect(throws: SettingsError.self) { try settings.int("STRATA_PORT", in: 1...65_535) }
        #expect(error?.description == "missing setting STRATA_PORT: expected an integer from 1 to 65535")
    }

    @Test("an error names an invalid setting without its value")
    func invalid() {
        let settings = Settings(environment: [
            "STRATA_PORT": "hunter2", "STRATA_HIGH": "70000", "STRATA_BOOL": "maybe", "STRATA_TIME": "10",
            "STRATA_URLS": "hunter2",
            "STRATA_LEVEL": "loud", "STRATA_TARGET": "name", "STRATA_KEY": "hunter2",
        ])
        let reads: [(String, () throws -> Void)] = [
            ("STRATA_PORT", { _ = try settings.int("STRATA_PORT") }),
            ("STRATA_HIGH", { _ = try settings.int("STRATA_HIGH", in: 0...65_535) }),
            ("STRATA_BOOL", { _ = try settings.bool("STRATA_BOOL", default: true) }),
            ("STRATA_TIME", { _ = try settings.duration("STRATA_TIME") }),
            ("STRATA_URLS", { _ = try settings.urls("STRATA_URLS") }),
            ("STRATA_LEVEL", { _ = try settings.logLevel("STRATA_LEVEL") }),
            ("STRATA_TARGET", { _ = try settings.rpcTarget("STRATA_TARGET") }),
            ("STRATA_KEY", { _ = try settings.secret("STRATA_KEY", minimumLength: 32) }),
        ]
        for (key, read) in reads {
            let error = #expect(throws: SettingsError.self) { try read() }
            #expect(error?.problem == .invalid)
            #expect(error?.description.hasPrefix("invalid setting \(key): expected ") == true)
            #expect(error?.description.contains("hunter2") == false)
        }
    }

    @Test("a single target is a name to resolve, several are fixed addresses")
    func targets() throws {
        let settings = Settings(environment: ["STRATA_ONE": "metadata:7400", "STRATA_TWO": "10.0.0.1:1, [::1]:2"])
        #expect(try settings.rpcTarget("STRATA_ONE") == .dns(host: "metadata", port: 7400))
        #expect(try settings.rpcTarget("STRATA_TWO") == .fixed(["10.0.0.1:1", "[::1]:2"]))
    }

    @Test("environment variables override a settings file")
    func file() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("settings-\(UUID()).env")
        try Data("STRATA_A=file\nSTRATA_B=file\n".utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let settings = try await Settings.load(environment: [
            "STRATA_CONFIG_FILE": path.path, "STRATA_A": "environment",
        ])
        #expect(try settings.string("STRATA_A") == "environment")
        #expect(try settings.string("STRATA_B") == "file")
        await #expect(throws: SettingsError.self) {
            try await Settings.load(environment: ["STRATA_CONFIG_FILE": "/nonexistent/file"])
        }
    }

    @Test("keys that were not read are reported")
    func unused() throws {
        let settings = Settings(
            environment: ["STRATA_USED": "1", "STRATA_MISTYPED": "1", "STRATA_EMPTY": "", "PATH": "/"])
        _ = try settings.int("STRATA_USED")
        #expect(settings.unusedKeys == ["STRATA_MISTYPED"])
    }

    @Test("the common settings have their defaults, and require a long secret")
    func common() throws {
        let secret = String(repeating: "s", count: 32)
        let common = try CommonSettings(Settings(environment: ["STRATA_CLUSTER_SECRET": secret]))
        #expect(common.serviceSecret.value == secret)
        #expect(common.rpcPort == 7400)
        #expect(common.logLevel == .info)
        #expect(common.shutdownTimeout == .seconds(30))
        #expect(common.instance.hasSuffix("-\(ProcessInfo.processInfo.processIdentifier)"))
        #expect(common.eventLoopThreads >= 1)
        let missing = #expect(throws: SettingsError.self) { try CommonSettings(Settings(environment: [:])) }
        #expect(missing?.key == "STRATA_CLUSTER_SECRET")
        let own = Settings(environment: ["STRATA_OWN_SECRET": secret])
        #expect(try CommonSettings(own, secretKey: "STRATA_OWN_SECRET").serviceSecret.value == secret)
        #expect(own.unusedKeys == [])
        let short = #expect(throws: SettingsError.self) {
            try CommonSettings(Settings(environment: ["STRATA_CLUSTER_SECRET": "short"]))
        }
        #expect(
            short?.description == "invalid setting STRATA_CLUSTER_SECRET: expected a secret of at least 32 characters")
    }

    @Test("RPC configurations are made from the settings")
    func rpc() throws {
        var environment = [
            "STRATA_CLUSTER_SECRET": String(repeating: "s", count: 32), "STRATA_RPC_PORT": "0",
            "STRATA_RPC_MAX_CALLS": "17",
            "STRATA_METADATA": "metadata:7400", "STRATA_RPC_ANSWER_BYTES": "5000000",
        ]
        let settings = Settings(environment: environment)
        let server = try settings.rpcServer(name: "metadata", CommonSettings(settings))
        #expect(server.port == 0)
        #expect(server.maxCallsInFlight == 17)
        #expect(server.tls == nil)
        #expect(server.service == "metadata")
        let client = try settings.rpcClient("STRATA_METADATA", name: "metadata", common: CommonSettings(settings))
        #expect(client.target == .dns(host: "metadata", port: 7400))
        #expect(client.name == "metadata")
        #expect(client.service == "metadata")
        #expect(client.maxArrivingBytes == 5_000_000)
        #expect(client.clusterSecret == server.clusterSecret)
        let other = try settings.rpcClient(
            "STRATA_METADATA", name: "metadata", common: CommonSettings(settings), secret: Secret("of its own"))
        #expect(other.clusterSecret == "of its own")
        environment["STRATA_RPC_TLS_CERTIFICATE"] = "/nonexistent/file"
        environment["STRATA_RPC_TLS_CA"] = "/nonexistent/file"
        let wrong = Settings(environment: environment)
        #expect(throws: SettingsError.self) { try wrong.rpcServer(name: "metadata", CommonSettings(wrong)) }
        #expect(throws: SettingsError.self) {
            try wrong.rpcClient("STRATA_METADATA", name: "metadata", common: CommonSettings(wrong))
        }
    }

    @Test("a secret is never printed")
    func secret() {
        struct Holder { var key = Secret("hunter2") }
        var dumped = ""
        dump(Holder(), to: &dumped)
        for text in [
            "\(Secret("hunter2"))", String(reflecting: Secret("hunter2")), "\(Holder())", dumped,
            "\(Optional(Secret("hunter2")) as Any)",
        ] {
            #expect(!text.contains("hunter2"))
            #expect(text.contains("redacted"))
        }
        #expect(Secret("a") != Secret("b"))
    }
}
