// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCluster
import Testing

@testable import StrataCommand

/// One wrong argument on a command line, with the expected error message.
struct WrongInput: CustomTestStringConvertible, Sendable {
    /// The command, such as `app create`.
    let command: String
    /// The wrong option, or `<value>`.
    let option: String
    /// The arguments after the command. Names in braces stand for paths and ids.
    let words: [String]
    /// A part of the expected error message.
    let says: String
    let status: CommandFailure.Status
    var environment: [String: String] = [:]

    var testDescription: String {
        "strata \(command) \(words.map { $0.count > 60 ? "\($0.prefix(20))…" : $0 }.joined(separator: " "))"
    }

    /// Returns the arguments with their placeholders replaced. Creates the files they name: one with useless content,
    /// one with a password, and one with a private key.
    func words(in directory: String) async throws -> [String] {
        try Data("nonsense\n".utf8).write(to: URL(fileURLWithPath: directory + "/nonsense"))
        try Data("correct horse battery\n".utf8).write(to: URL(fileURLWithPath: directory + "/password"))
        let values = [
            "{password}": directory + "/password",
            "{directory}": directory, "{nonsense}": directory + "/nonsense",
            "{key}": try await TestApp.key.value.privateKeyFile,
            "{uuid}": "6a1f0e0c-6f1b-4d3b-9a53-8b8d8c6c2d11",
        ]
        return command.split(separator: " ").map(String.init)
            + words.map { word in values.reduce(word) { $0.replacingOccurrences(of: $1.key, with: $1.value) } }
    }

    private init(
        _ command: String, _ option: String, _ words: [String], _ says: String,
        _ status: CommandFailure.Status = .usage,
        _ environment: [String: String] = [:]
    ) {
        self.command = command
        self.option = option
        self.words = words
        self.says = says
        self.status = status
        self.environment = environment
    }

    /// A URL on which nothing listens.
    private static let nobody = "postgresql://127.0.0.1:1/strata"
    private static let elsewhere = "https://127.0.0.1:1"
    private static let own = ["--key", "{key}", "--key-id", "{uuid}", "--provider", "{uuid}"]
    private static let long = String(repeating: "x", count: 129)

    /// All cases: at least one for each option of each command.
    static let all: [WrongInput] = [
        database, dev, apps, tokens, operators, serverAPI, users, announcements, demo, secrets, others,
    ]
    .flatMap { $0 }

    private static let database: [WrongInput] = {
        let app = ["{uuid}"]
        let commands: [(String, [String])] = [
            ("migrate", []), ("app create", []), ("app list", []), ("app suspend", app), ("app resume", app),
            ("app delete", app),
            ("app token create", ["--name", "bot"] + app), ("app token list", app), ("app token revoke", app),
            ("app index add", ["metadata.status"] + app), ("app index list", app),
            ("app index remove", ["metadata.status"] + app),
            ("operator create", ["ana", "--password-file", "{password}"]), ("operator list", []),
            ("operator disable", ["ana"]), ("operator enable", ["ana"]),
            ("operator password", ["ana", "--password-file", "{password}"]), ("operator link", ["ana"]),
            ("app webhook list", app), ("app webhook remove", ["00000000-0000-4000-8000-000000000001"] + app),
            ("app move", app + ["main"]),
        ]
        var rows: [WrongInput] = []
        for (command, words) in commands {
            rows.append(
                WrongInput(
                    command, "--database", ["--database", "nonsense://"] + words, "The database's URL cannot be used",
                    .configuration))
            rows.append(
                WrongInput(
                    command, "--database", ["--database", nobody] + words, "The database cannot be reached: connection",
                    .unavailable))
            rows.append(WrongInput(command, "--database", words, "No system runs in", .unavailable))
            rows.append(WrongInput(command, "--database", words + ["--database"], "Missing value for '--database"))
        }
        return rows
    }()

    private static let dev: [WrongInput] = {
        var rows: [WrongInput] = []
        for (option, number) in [
            ("--gateways", "0"), ("--conversations", "17"), ("--metadata", "-1"), ("--presence", "100"),
            ("--webhooks", "0"),
        ] {
            rows.append(WrongInput("dev", option, ["\(option)=\(number)"], "\(option) must be between 1 and 16."))
        }
        rows.append(WrongInput("dev", "--databases", ["--databases=9"], "--databases must be between 1 and 8."))
        for option in [
            "--gateways", "--conversations", "--metadata", "--presence", "--webhooks", "--http-port", "--https-port",
            "--console-port",
        ] {
            rows.append(WrongInput("dev", option, [option, "many"], "The value 'many' is invalid for '\(option)"))
        }
        rows.append(
            WrongInput(
                "dev", "--console-port", ["--console-port", "0"], "--console-port must be a port number",
                .configuration))
        rows.append(WrongInput("dev", "--host", ["--host", "localhost"], "--host", .configuration))
        rows.append(
            WrongInput(
                "dev", "--http-port", ["--http-port", "65536"], "--http-port must be a port number", .configuration))
        rows.append(
            WrongInput(
                "dev", "--https-port", ["--https-port", "0"], "--https-port must be a port number", .configuration))
        rows.append(
            WrongInput(
                "dev", "--https-port", ["--http-port", "8443"], "HTTP and HTTPS cannot share port 8443", .configuration)
        )
        rows.append(
            WrongInput("dev", "--public-url", ["--public-url", "chat.example.org"], "--public-url", .configuration))
        rows.append(WrongInput("dev", "--log-level", ["--log-level", "loud"], "--log-level", .configuration))
        return rows
    }()

    private static let apps: [WrongInput] = {
        var rows = [
            WrongInput(
                "app create", "--name", ["--name", " ", "--database", nobody], "--name must have 1 to 200 characters."),
            WrongInput(
                "app create", "--public-key", ["--public-key", "{directory}/none", "--database", nobody],
                "cannot be read", .noInput),
            WrongInput(
                "app create", "--public-key", ["--public-key", "{nonsense}", "--database", nobody],
                "does not contain an RSA public key"),
            WrongInput(
                "app create", "--public-key", ["--public-key", "{key}", "--database", nobody],
                "contains a private key"),
        ]
        rows.append(WrongInput("app token create", "--name", ["{uuid}"], "Missing expected argument '--name <name>'"))
        rows.append(
            WrongInput(
                "app token create", "--name", ["--name", long, "--database", nobody, "{uuid}"],
                "--name must have 1 to 128 characters."))
        rows.append(
            WrongInput(
                "app token create", "<app>", ["--name", "bot", "nonsense"],
                "The app must be a UUID or look like layer:///apps"))
        rows.append(WrongInput("app token revoke", "<id>", ["nonsense"], "The id of the token must be a UUID."))
        rows.append(
            WrongInput(
                "app token revoke", "--end-webhooks", ["00000000-0000-4000-8000-000000000001", "--end-webhooks=much"],
                "--end-webhooks"))
        rows.append(
            WrongInput("app webhook remove", "<id>", ["nonsense", "{uuid}"], "The id of the webhook must be a UUID."))
        rows.append(
            WrongInput(
                "app webhook remove", "<app>", ["00000000-0000-4000-8000-000000000001"],
                "Missing expected argument '<app>'"))
        rows.append(WrongInput("app move", "<app>", ["nonsense", "main"], "The app must be a UUID or look like"))
        rows.append(WrongInput("app move", "<target>", ["{uuid}"], "Missing expected argument '<target>'"))
        rows.append(
            WrongInput(
                "app move", "<target>", ["--database", nobody, "{uuid}", "third"],
                "There is no database with the name third."))
        rows.append(WrongInput("app move", "--undo", ["--undo=much", "{uuid}", "main"], "--undo"))
        for command in [
            "app suspend", "app resume", "app delete", "app token list", "app index list", "app webhook list",
        ] {
            rows.append(WrongInput(command, "<app>", ["nonsense"], "The app must be a UUID or look like layer:///apps"))
            rows.append(WrongInput(command, "<app>", [], "Missing expected argument '<app>'"))
        }
        for command in ["app index add", "app index remove"] {
            rows.append(
                WrongInput(
                    command, "<app>", ["metadata.status", "nonsense"],
                    "The app must be a UUID or look like layer:///apps"))
            rows.append(WrongInput(command, "<app>", ["metadata.status"], "Missing expected argument '<app>'"))
            rows.append(
                WrongInput(command, "<property>", ["status", "{uuid}"], "The key path must begin with metadata."))
            rows.append(
                WrongInput(
                    command, "<property>", ["metadata.a..b", "{uuid}"],
                    "The property metadata.a..b has an empty key in its path."))
            rows.append(
                WrongInput(command, "<property>", ["metadata.__proto__", "{uuid}"], "has a key that is reserved"))
        }
        return rows
    }()

    private static let tokens: [WrongInput] = [
        WrongInput("token", "--app", ["--user", "ana", "--app", "nonsense"], "--app must be a UUID"),
        WrongInput(
            "token", "--app", ["--user", "ana", "--app", "{uuid}"],
            "There is no private key for layer:///apps/production/", .noInput),
        WrongInput("token", "--app", ["--user", "ana"], "No app has been created", .noInput),
        WrongInput("token", "--user", [], "Missing expected argument '--user <user>'"),
        WrongInput("token", "--user", ["--user", ""], "--user must have 1 to 128 bytes"),
        WrongInput("token", "--user", ["--user", long], "--user must have 1 to 128 bytes"),
        WrongInput("token", "--user", ["--user", "a\nb"], "no control characters"),
        WrongInput("token", "--nonce", ["--user", "ana", "--nonce", ""], "--nonce must not be empty."),
        WrongInput(
            "token", "--display-name", ["--user", "ana", "--display-name", long],
            "--display-name must have 1 to 128 characters."),
        WrongInput(
            "token", "--valid-for", ["--user", "ana", "--valid-for", "86401"], "--valid-for must be between 1 and 86400"
        ),
        WrongInput(
            "token", "--valid-for", ["--user", "ana", "--valid-for", "ever"],
            "The value 'ever' is invalid for '--valid-for"),
        WrongInput(
            "token", "--key", ["--user", "ana"] + own + ["--key", "{directory}/none"], "cannot be read", .noInput),
        WrongInput(
            "token", "--key", ["--user", "ana"] + own + ["--key", "{nonsense}"], "does not contain an RSA private key"),
        WrongInput(
            "token", "--key", ["--user", "ana", "--key", "{key}"], "--key, --key-id and --provider go together."),
        WrongInput(
            "token", "--key-id", ["--user", "ana"] + own + ["--key-id", "nonsense"], "--key-id must be a UUID"),
        WrongInput(
            "token", "--provider", ["--user", "ana"] + own + ["--provider", "nonsense"], "--provider must be a UUID"),
        WrongInput(
            "token", "--gateway", ["--user", "ana"] + own + ["--gateway", "nonsense"],
            "nonsense is not the base URL of a gateway"),
        WrongInput(
            "token", "--gateway", ["--user", "ana"] + own + ["--gateway", "http://127.0.0.1:1"], "does not answer",
            .unavailable),
        WrongInput("token", "--gateway", ["--user", "ana"] + own, "No system runs in", .unavailable),
        WrongInput(
            "token", "--ca", ["--user", "ana", "--gateway", elsewhere, "--ca", "{directory}/none"] + own,
            "cannot be read", .noInput),
        WrongInput(
            "token", "--ca", ["--user", "ana", "--gateway", elsewhere, "--ca", "{key}"] + own,
            "does not contain certificates"),
        WrongInput("token", "--insecure", ["--user", "ana", "--insecure=much"], "--insecure"),
        WrongInput("token", "--json", ["--user", "ana", "--json=much"], "--json"),
    ]

    private static let operators: [WrongInput] = {
        var rows: [WrongInput] = []
        for command in ["create", "disable", "enable", "password", "link"] {
            for name in ["", "Ana", "-ana", String(repeating: "x", count: 65)] {
                rows.append(
                    WrongInput("operator \(command)", "<name>", ["--", name], "name must have 1 to 64 characters"))
            }
        }
        for command in ["operator create", "operator password"] {
            let database = ["ana", "--database", nobody]
            rows += [
                WrongInput(
                    command, "--password-file", database + ["--password-file", "{directory}/none"], "cannot be read",
                    .noInput),
                WrongInput(
                    command, "--password-file", database + ["--password-file", "{nonsense}"],
                    "The password must have 12 to 1,024 bytes."),
                WrongInput(command, "--password-file", database, "run the command in a terminal"),
            ]
        }
        for command in ["operator create", "operator enable"] {
            rows.append(
                WrongInput(command, "--role", ["ana", "--role", "admin"], "The value 'admin' is invalid for '--role"))
        }
        rows.append(
            WrongInput(
                "operator link", "--url", ["ana", "--url", "nonsense"], "must look like http://localhost:8090",
                .configuration))
        rows.append(WrongInput("operator list", "--json", ["--json=much"], "--json"))
        return rows
    }()

    private static let serverToken = ["STRATA_SERVER_TOKEN": "a-token-of-this-test"]

    /// Wrong input to commands that use the Server API.
    private static let serverAPI: [WrongInput] = {
        let commands: [(String, [String], [String])] = [
            ("announce", ["--to", "ana", "--app", "{uuid}"], ["Hello"]),
            ("user erase", ["--user", "ana", "--yes", "--app", "{uuid}"], []),
        ]
        var rows: [WrongInput] = []
        for (command, first, last) in commands {
            func row(
                _ option: String, _ words: [String], _ says: String, _ status: CommandFailure.Status = .usage,
                _ environment: [String: String] = [:]
            ) {
                rows.append(WrongInput(command, option, first + words + last, says, status, environment))
            }
            row("--url", ["--url", "nonsense"], "nonsense is not the base URL of a gateway")
            row(
                "--url", ["--url", "http://127.0.0.1:1"], "The gateway at http://127.0.0.1:1 does not answer.",
                .unavailable, serverToken)
            row("--url", [], "No system runs in", .unavailable)
            row("--ca", ["--url", elsewhere, "--ca", "{directory}/none"], "cannot be read", .noInput)
            row("--ca", ["--url", elsewhere, "--ca", "{nonsense}"], "does not contain certificates in PEM form")
            row("--insecure", ["--url", elsewhere, "--insecure=much"], "--insecure")
            row(
                "--database", ["--url", elsewhere, "--database", "nonsense://"], "The database's URL cannot be used",
                .configuration)
            row(
                "--database", ["--url", elsewhere, "--database", nobody], "The database cannot be reached: connection",
                .unavailable)
            row("--json", ["--json=much"], "--json")
        }
        return rows
    }()

    private static let users: [WrongInput] = [
        WrongInput("user erase", "--app", ["--user", "ana", "--yes", "--app", "nonsense"], "--app must be a UUID"),
        WrongInput("user erase", "--app", ["--user", "ana", "--yes"], "No app has been created", .noInput),
        WrongInput("user erase", "--user", ["--app", "{uuid}"], "Missing expected argument '--user"),
        WrongInput("user erase", "--user", ["--app", "{uuid}", "--user", long], "--user must have 1 to 128 bytes"),
        WrongInput(
            "user erase", "--yes", ["--app", "{uuid}", "--user", "ana"], "No user was erased. Confirm with --yes"),
        WrongInput("user erase", "--yes", ["--app", "{uuid}", "--user", "ana", "--yes=much"], "--yes"),
    ]

    private static let announcements: [WrongInput] = [
        WrongInput("announce", "--app", ["--to", "ana", "--app", "nonsense", "Hello"], "--app must be a UUID"),
        WrongInput("announce", "--app", ["--to", "ana", "Hello"], "No app has been created", .noInput),
        WrongInput(
            "announce", "--from", ["--to", "ana", "--from", "", "Hello"], "--from must have 1 to 128 characters."),
        WrongInput(
            "announce", "--from", ["--to", "ana", "--from", long, "Hello"], "--from must have 1 to 128 characters."),
        WrongInput("announce", "--to", ["Hello"], "--to"),
        WrongInput("announce", "--to", ["--to", long, "Hello"], "is not the id of a user"),
        WrongInput(
            "announce", "--mime-type", ["--to", "ana", "--mime-type", "bogus", "Hello"],
            "--mime-type must look like text/plain"),
        WrongInput(
            "announce", "--mime-type", ["--to", "ana", "--mime-type", "text/plain; x", "Hello"],
            "--mime-type must look like text/plain"),
        WrongInput(
            "announce", "--mime-type", ["--to", "ana", "--mime-type", "text/plain\n", "Hello"],
            "--mime-type must look like text/plain"),
        WrongInput("announce", "--json", ["--to", "ana", "--json=much", "Hello"], "--json"),
        WrongInput("announce", "<text>", ["--to", "ana"], "Missing expected argument '<text>'"),
        WrongInput("announce", "<text>", ["--to", "ana", ""], "The text must have 1 to 2048 characters."),
        WrongInput(
            "announce", "<text>", ["--to", "ana", String(repeating: "x", count: 2049)],
            "The text must have 1 to 2048 characters."),
    ]

    private static let demo: [WrongInput] = [
        WrongInput("demo", "--url", ["--url", "nonsense"], "nonsense is not the base URL of a gateway"),
        WrongInput("demo", "--url", ["--url", "ftp://localhost"], "ftp://localhost is not the base URL of a gateway"),
        WrongInput(
            "demo", "--url", ["--url", "http://127.0.0.1:1"], "The gateway at http://127.0.0.1:1 does not answer.",
            .unavailable),
        WrongInput("demo", "--url", [], "No system runs in", .unavailable),
        WrongInput("demo", "--url2", ["--url2", "http://127.0.0.1:1"], "--url2 needs --url."),
        WrongInput(
            "demo", "--url2", ["--url", "http://127.0.0.1:1", "--url2", "nonsense"],
            "nonsense is not the base URL of a gateway"),
        WrongInput(
            "demo", "--ca", ["--url", "https://127.0.0.1:1", "--ca", "{directory}/none"], "cannot be read", .noInput),
        WrongInput(
            "demo", "--ca", ["--url", "https://127.0.0.1:1", "--ca", "{nonsense}"],
            "does not contain certificates in PEM form"),
        WrongInput("demo", "--insecure", ["--url", "https://127.0.0.1:1", "--insecure=much"], "--insecure"),
        WrongInput("demo", "--app", ["--url", "http://127.0.0.1:1", "--app", "nonsense"], "--app must be a UUID"),
        WrongInput(
            "demo", "--app", ["--url", "http://127.0.0.1:1", "--app", "{uuid}"],
            "There is no private key for layer:///apps", .noInput),
        WrongInput(
            "demo", "--key", ["--url", "http://127.0.0.1:1", "--app", "{uuid}"] + own + ["--key", "{nonsense}"],
            "an RSA private key"),
        WrongInput(
            "demo", "--key", ["--url", "http://127.0.0.1:1"] + own, "--app, --key, --key-id and --provider go together."
        ),
        WrongInput(
            "demo", "--key-id", ["--url", "http://127.0.0.1:1", "--app", "{uuid}"] + own + ["--key-id", "x"],
            "--key-id must be a UUID"),
        WrongInput(
            "demo", "--provider", ["--url", elsewhere, "--app", "{uuid}"] + own + ["--provider", "x"],
            "--provider must be a UUID"),
        WrongInput("demo", "--database", ["--database"], "Missing value for '--database"),
        WrongInput(
            "demo", "--typing-seconds", ["--typing-seconds", "0"], "--typing-seconds must be between 0.1 and 600."),
        WrongInput(
            "demo", "--typing-seconds", ["--typing-seconds", "nan"], "--typing-seconds must be between 0.1 and 600."),
        WrongInput(
            "demo", "--typing-seconds", ["--typing-seconds", "long"],
            "The value 'long' is invalid for '--typing-seconds"),
    ]

    private static let secrets: [WrongInput] = [
        WrongInput("secrets", "<directory>", [], "Missing expected argument '<directory>'"),
        WrongInput("secrets", "<directory>", ["{nonsense}/secrets"], "cannot be created", .cannotCreate),
        WrongInput(
            "secrets", "--postgres", ["{directory}/secrets", "--postgres", "nonsense"],
            "--postgres must look like host:port."),
        WrongInput(
            "secrets", "--postgres", ["{directory}/secrets", "--postgres", "a/b:1"],
            "--postgres must look like host:port."),
        WrongInput(
            "secrets", "--redis", ["{directory}/secrets", "--redis", "redis:0"], "--redis must look like host:port."),
        WrongInput(
            "secrets", "--database", ["{directory}/secrets", "--database", ""], "--database must have 1 to 63 bytes"),
        WrongInput(
            "secrets", "--databases", ["{directory}/secrets", "--databases", "nonsense"],
            "--databases must look like name=host:port/database"),
        WrongInput(
            "secrets", "--tls-hosts", ["{directory}/secrets", "--tls-hosts", "chat.test,not a name"],
            "not a name is neither"),
    ]

    private static let others: [WrongInput] = [
        WrongInput("app create", "--json", ["--json=much"], "--json"),
        WrongInput("app list", "--json", ["--json=much"], "--json"),
        WrongInput("app token create", "--json", ["--json=much", "--name", "bot", "{uuid}"], "--json"),
        WrongInput("app token list", "--json", ["--json=much", "{uuid}"], "--json"),
        WrongInput("app index add", "--json", ["--json=much", "metadata.status", "{uuid}"], "--json"),
        WrongInput("app index list", "--json", ["--json=much", "{uuid}"], "--json"),
        WrongInput("app webhook list", "--json", ["--json=much", "{uuid}"], "--json"),
        WrongInput("app delete", "--json", ["--json=much", "{uuid}"], "--json"),
        WrongInput("app delete", "--yes", ["--yes=much", "{uuid}"], "--yes"),
        WrongInput("doctor", "--json", ["--json=much"], "--json"),
        WrongInput("bench", "<words>", ["nonsense"], "nonsense"),
    ]
}
