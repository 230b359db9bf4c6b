// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Glibc
import RPC
import Schema
import StrataModel

/// The credentials of a deployment's containers: one directory, with a subdirectory for each group of readers.
///
/// | File | Read by | |
/// |---|---|---|
/// | `cluster/secret` | every service except webhooks | secret between services |
/// | `cluster/redis-url` | every service except webhooks | |
/// | `webhook-calls/secret` | the webhooks service, gateways, the console | secret of calls to the webhooks service |
/// | `conversations/url`, `metadata/url`, `webhooks/url`, `console/url` | the service of this name | database URL |
/// | `owner/url`, `owner/password` | PostgreSQL, `strata` | the database's owner |
/// | `owner/conversations-password` | `strata migrate` | password of the role |
/// | `owner/metadata-password` | `strata migrate` | password of the role |
/// | `owner/webhooks-password` | `strata migrate` | password of the role |
/// | `owner/console-password` | `strata migrate` | password of the role |
/// | `redis/password` | Redis | |
/// | `tls/edge.pem` | the edge | certificate and key |
/// | `certificate.pem` | every user | certificate for clients to trust |
///
/// Existing secrets are kept, so an operator may provide passwords. URLs are rewritten each time. Directories of older
/// versions are left unchanged, because instances that still run may read them again. `services` belongs to a group of
/// which no container of this version is a member.
struct DeploymentSecrets {
    /// The groups that may read a directory, in addition to root.
    enum Group: String, CaseIterable {
        case cluster, owner, redis, tls, webhooks, conversations, metadata, console
        case webhookCalls = "webhook-calls"

        /// The id of the group in the containers. `docker-compose.yml` assigns the members.
        var id: gid_t {
            switch self {
            case .cluster: 10_001
            case .owner: 10_003
            case .redis: 10_004
            case .tls: 10_005
            case .webhooks: 10_006
            case .webhookCalls: 10_007
            case .conversations: 10_008
            case .metadata: 10_009
            case .console: 10_010
            }
        }

        init(_ role: Schema.ServiceRole) {
            switch role {
            case .conversations: self = .conversations
            case .metadata: self = .metadata
            case .webhooks: self = .webhooks
            case .console: self = .console
            }
        }
    }

    struct Places {
        /// The address of PostgreSQL, `host:port`.
        var postgres = "postgres:5432"
        var database = "strata"
        /// Several databases, in place of `database`.
        var databases: [Database] = []
        var owner = "strata"
        /// The address of Redis, `host:port`.
        var redis = "redis:6379"
        /// The names and addresses that the certificate covers.
        var hosts = ["localhost", "127.0.0.1", "::1", "edge"]
    }

    /// One of several databases.
    struct Database: Equatable {
        let name: DatabaseName
        /// The address of PostgreSQL, `host:port`.
        let postgres: String
        let database: String

        /// Parses `name=host:port/database`; nil: the text is none.
        init?(_ text: some StringProtocol) {
            let parts = text.split(separator: "=", maxSplits: 1)
            let place = parts.last.map { $0.split(separator: "/", maxSplits: 1) } ?? []
            guard parts.count == 2, place.count == 2, let name = DatabaseName(String(parts[0])) else { return nil }
            (self.name, postgres, database) = (name, String(place[0]), String(place[1]))
        }
    }

    let directory: String
    let places: Places

    /// Creates the missing files.
    /// - Returns: The paths of the created files.
    /// - Throws: ``CommandFailure`` that names the file that cannot be read or written.
    func ensure() throws -> [String] {
        for group in Group.allCases { try makeDirectory(group) }
        var made: [String] = []
        for group in [Group.cluster, .webhookCalls] {
            guard try secret("secret", in: group, made: &made).count >= 32 else {
                throw CommandFailure(
                    .configuration, "\(path(of: "secret", in: group)) must hold at least 32 characters.")
            }
        }
        let owner = try secret("password", in: .owner, made: &made)
        let redis = try secret("password", in: .redis, made: &made)
        try writeFile(databaseURL(user: places.owner, password: owner), named: "url", in: .owner)
        for role in Schema.ServiceRole.allCases {
            let password = try secret("\(role.rawValue)-password", in: .owner, made: &made)
            try writeFile(databaseURL(user: role.name, password: password), named: "url", in: Group(role))
        }
        try writeFile("redis://:\(Self.escaped(redis))@\(places.redis)", named: "redis-url", in: .cluster)
        try certificate(&made)
        return made
    }

    private func certificate(_ made: inout [String]) throws {
        let tls = directory + "/tls"
        let certificate = try TLSCertificate.ensure(in: tls, hosts: places.hosts)
        if certificate.isNew { made.append(certificate.certificate) }
        let (chain, key) = (try readFile(certificate.certificate), try readFile(certificate.key))
        try writeFile(chain + key, named: "edge.pem", in: .tls)
        try PrivateFile.write(chain, to: directory + "/certificate.pem")
        guard chmod(directory + "/certificate.pem", 0o444) == 0 else { throw failure("certificate.pem") }
    }

    // MARK: Files

    private func makeDirectory(_ group: Group) throws {
        let path = "\(directory)/\(group.rawValue)"
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "The directory \(path) cannot be created: \(error.localizedDescription)")
        }
        // Only the group may access it, regardless of the umask.
        try protect(path, for: group, mode: 0o750)
        _ = chmod(directory, 0o755)
    }

    /// Returns the content of a file, which is created with a random secret if it does not exist.
    private func secret(_ name: String, in group: Group, made: inout [String]) throws -> String {
        let path = path(of: name, in: group)
        if FileManager.default.fileExists(atPath: path) {
            try protect(path, for: group, mode: 0o440)
            return try readFile(path).trimmingCharacters(in: .newlines)
        }
        let token = RandomToken.make()
        try writeFile(token, named: name, in: group)
        made.append(path)
        return token
    }

    private func writeFile(_ text: String, named name: String, in group: Group) throws {
        let path = path(of: name, in: group)
        try PrivateFile.write(text, to: path)
        try protect(path, for: group, mode: 0o440)
    }

    /// Assigns a file or directory to its group. Requires root; otherwise it does nothing.
    private func protect(_ path: String, for group: Group, mode: mode_t) throws {
        guard getuid() == 0 else { return }
        guard chown(path, 0, group.id) == 0, chmod(path, mode) == 0 else { throw failure(path) }
    }

    private func readFile(_ path: String) throws -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure(.noInput, "The file \(path) cannot be read.")
        }
        return text
    }

    private func path(of name: String, in group: Group) -> String { "\(directory)/\(group.rawValue)/\(name)" }

    private func failure(_ path: String) -> CommandFailure {
        CommandFailure(.cannotCreate, "The permissions of \(path) cannot be set: \(String(cString: strerror(errno)))")
    }

    // MARK: URLs

    /// Returns the URL of the database, or those of several with their names.
    private func databaseURL(user: String, password: String) -> String {
        let login = "postgresql://\(user):\(Self.escaped(password))"
        guard !places.databases.isEmpty else { return "\(login)@\(places.postgres)/\(Self.escaped(places.database))" }
        return places.databases.map { "\($0.name)=\(login)@\($0.postgres)/\(Self.escaped($0.database))" }
            .joined(separator: " ")
    }

    /// Escapes a text for a URL. Generated secrets need no escaping, but an operator's may.
    private static func escaped(_ text: String) -> String {
        let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? text
    }
}

struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract: "Creates the missing passwords and the certificate of a deployment.",
        discussion: """
            `docker compose up` runs it first. What is in the directory already is kept: the database knows the \
            passwords that were in it. Run as root, it gives each file to the group of those who may read it.
            """)

    @Argument(help: "The directory of the secrets.")
    var directory: String
    @Option(help: "host:port of PostgreSQL.")
    var postgres = DeploymentSecrets.Places().postgres
    @Option(help: "The database's name.")
    var database = DeploymentSecrets.Places().database
    @Option(
        help: """
            Several databases in place of --postgres and --database: name=host:port/database of each, separated by \
            spaces. Roles have the same passwords in all.
            """)
    var databases = ""
    @Option(help: "host:port of Redis.")
    var redis = DeploymentSecrets.Places().redis
    @Option(help: "Names and addresses, separated by commas, that the certificate covers beside localhost.")
    var tlsHosts = ""

    func validate() throws {
        for (option, address) in [("--postgres", postgres), ("--redis", redis)] where !Self.isAddress(address) {
            throw ValidationError("\(option) must look like host:port.")
        }
        guard Self.isDatabase(database) else {
            throw ValidationError("--database must have 1 to 63 bytes, and no control characters.")
        }
        let several = several
        guard several.allSatisfy({ Self.isAddress($0.postgres) && Self.isDatabase($0.database) }),
            several.count == items.count, Set(several.map(\.name)).count == several.count
        else {
            throw ValidationError("--databases must look like name=host:port/database, with different names.")
        }
        if let wrong = further.first(where: { IPAddressBytes($0) == nil && !Self.isHostName($0) }) {
            throw ValidationError("--tls-hosts: \(wrong.onOneLine) is neither a host name nor an address.")
        }
    }

    /// Returns true for `host:port` that can be used in a URL without escaping.
    private static func isAddress(_ text: String) -> Bool { RPCEndpoint(text) != nil && isPlain(text) }

    private static func isDatabase(_ text: String) -> Bool {
        (1...63).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    private static func isPlain(_ text: String) -> Bool {
        text.range(of: "^[0-9A-Za-z._:\\[\\]-]+\\z", options: .regularExpression) != nil
    }

    /// Returns true for labels of letters, digits and hyphens. The first label may be `*`, for all names one level
    /// below.
    private static func isHostName(_ text: String) -> Bool {
        let label = "[0-9A-Za-z_]([0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
        return text.utf8.count <= 253
            && text.range(of: "^(\\*\\.)?\(label)(\\.\(label))*\\z", options: .regularExpression) != nil
    }

    private var items: [Substring] { databases.split(whereSeparator: \.isWhitespace) }
    private var several: [DeploymentSecrets.Database] { items.compactMap { DeploymentSecrets.Database($0) } }

    private var further: [String] {
        tlsHosts.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    func run() throws {
        var places = DeploymentSecrets.Places()
        places.postgres = postgres
        places.database = database
        places.databases = several
        places.redis = redis
        places.hosts += further.filter { !places.hosts.contains($0) }
        let made = try DeploymentSecrets(directory: directory, places: places).ensure()
        Console.standard.say(
            made.isEmpty ? "All secrets exist." : "Made:\n" + made.map { "  \($0)" }.joined(separator: "\n"))
    }
}
