// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StrataCommand

@Suite("the settings of strata dev")
struct DevSettingsTests {
    @Test("defaults apply without flags and environment")
    func defaults() throws {
        let settings = try DevSettings(flags: .init(), environment: [:])
        #expect(settings.host == "127.0.0.1")
        #expect(settings.httpPort == 8080)
        #expect(settings.httpsPort == 8443)
        #expect(settings.consolePort == 8090)
        #expect(settings.publicURL == "https://localhost:8443")
        #expect(settings.certificateHosts == ["localhost", "127.0.0.1", "::1"])
        #expect(ServiceKind.allCases.allSatisfy { settings.instances[$0] == 1 })
    }

    @Test("flags take precedence over the environment")
    func precedence() throws {
        let environment = ["STRATA_HTTP_PORT": "9080", "STRATA_HTTPS_PORT": "9443", "STRATA_LOG_LEVEL": "debug"]
        let settings = try DevSettings(flags: .init(gateways: 3, httpPort: 7080), environment: environment)
        #expect(settings.instances[.gateway] == 3)
        #expect(settings.httpPort == 7080)
        #expect(settings.httpsPort == 9443)
        #expect(settings.publicURL == "https://localhost:9443")
        #expect(settings.logLevel == "debug")
    }

    @Test("STRATA_CONSOLE=false leaves the console out", arguments: ["false", "FALSE", "no", "off", "0"])
    func withoutConsole(value: String) throws {
        let environment = ["STRATA_CONSOLE": value, "STRATA_CONSOLE_PORT": "7090"]
        let settings = try DevSettings(flags: .init(), environment: environment)
        #expect(settings.consolePort == nil)
        #expect(settings.kinds == ServiceKind.allCases.filter { $0 != .console })
        let on = try DevSettings(flags: .init(), environment: environment.merging(["STRATA_CONSOLE": "true"]) { $1 })
        #expect(on.consolePort == 7090 && on.kinds == ServiceKind.allCases)
        #expect(try DevSettings(flags: .init(consolePort: 6090), environment: [:]).consolePort == 6090)
    }

    @Test("a public URL loses its trailing slash, and its name is in the certificate")
    func publicURL() throws {
        let settings = try DevSettings(flags: .init(publicURL: "https://chat.example.org/"), environment: [:])
        #expect(settings.publicURL == "https://chat.example.org")
        #expect(settings.certificateHosts.last == "chat.example.org")
        let address = try DevSettings(flags: .init(publicURL: "https://[2001:db8::1]:8443"), environment: [:])
        #expect(address.certificateHosts.last == "2001:db8::1")
    }

    @Test(
        "an error names the wrong setting",
        arguments: [
            (DevSettings.Flags(databases: 9), [:], "--databases"),
            (DevSettings.Flags(gateways: 0), [:], "--gateways"),
            (DevSettings.Flags(metadata: 17), [:], "--metadata"),
            (DevSettings.Flags(httpPort: 70_000), [:], "--http-port"),
            (DevSettings.Flags(), ["STRATA_HTTP_PORT": "http"], "STRATA_HTTP_PORT"),
            (DevSettings.Flags(httpPort: 8443), [:], "--https-port"),
            (DevSettings.Flags(consolePort: 0), [:], "--console-port"),
            (DevSettings.Flags(), ["STRATA_CONSOLE_PORT": "console"], "STRATA_CONSOLE_PORT"),
            (DevSettings.Flags(), ["STRATA_CONSOLE": "perhaps"], "STRATA_CONSOLE"),
            (DevSettings.Flags(publicURL: "chat.example.org"), [:], "--public-url"),
            (DevSettings.Flags(publicURL: "https://user@chat.example.org"), [:], "--public-url"),
            (DevSettings.Flags(logLevel: "loud"), [:], "--log-level"),
            (DevSettings.Flags(host: "example.org"), [:], "--host"),
        ] as [(DevSettings.Flags, [String: String], String)])
    func wrong(flags: DevSettings.Flags, environment: [String: String], named: String) throws {
        let failure = #expect(throws: CommandFailure.self) { try DevSettings(flags: flags, environment: environment) }
        #expect(failure?.message.contains(named) == true)
    }
}
