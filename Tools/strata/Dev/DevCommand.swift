// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Runs everything on this machine, until Ctrl-C.",
        discussion: """
            Starts a PostgreSQL and a Redis of its own, migrates the database, makes a TLS certificate, starts the five services as processes and \
            restarts one that dies. Everything lies in .strata/ of the current directory, or in STRATA_HOME; the next start finds it again.
            """)

    @Option(help: "Gateways to run; each further one takes the next free ports.")
    var gateways = 1
    @Option(help: "Instances of the conversations service.")
    var conversations = 1
    @Option(help: "Instances of the metadata service.")
    var metadata = 1
    @Option(help: "Instances of the presence service.")
    var presence = 1
    @Option(help: "Instances of the webhooks service.")
    var webhooks = 1
    @Option(help: "The address gateways listen on; 0.0.0.0 is all of them. (STRATA_HTTP_HOST; default: 127.0.0.1)")
    var host: String?
    @Option(help: "Port of plain HTTP. (STRATA_HTTP_PORT; default: 8080)")
    var httpPort: Int?
    @Option(help: "Port of HTTPS. (STRATA_HTTPS_PORT; default: 8443)")
    var httpsPort: Int?
    @Option(help: "Base of the URLs inside objects. (STRATA_PUBLIC_URL; default: https://localhost and the HTTPS port)")
    var publicURL: String?
    @Option(help: "Level of the services' logs. (STRATA_LOG_LEVEL; default: info)")
    var logLevel: String?

    func run() async throws {
        let flags = DevSettings.Flags(
            gateways: gateways, conversations: conversations, metadata: metadata, presence: presence,
            webhooks: webhooks, host: host,
            httpPort: httpPort, httpsPort: httpsPort, publicURL: publicURL, logLevel: logLevel)
        let environment = ProcessInfo.processInfo.environment
        let settings = try DevSettings(flags: flags, environment: environment)
        let system = DevSystem(
            home: StrataHome(environment: environment), settings: settings, binaries: ServiceBinaries(),
            environment: environment,
            console: .standard)
        try await DevSession(system: system, console: .standard).run()
    }
}
