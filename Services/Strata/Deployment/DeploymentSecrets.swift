// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// What the containers of a deployment sign in to each other with: one directory, in it one for each group of those who may read it.
///
/// | File | Read by | |
/// |---|---|---|
/// | `cluster/secret` | every service but webhooks | what services prove to each other |
/// | `cluster/redis-url` | the same | |
/// | `webhook-calls/secret` | gateways, the webhooks service | the same between these two |
/// | `conversations/url`, `metadata/url`, `webhooks/url` | the service of this name | the database, with the service's own role |
/// | `owner/url`, `owner/password` | PostgreSQL, `strata` | the database's owner |
/// | `owner/conversations-password`, `owner/metadata-password`, `owner/webhooks-password` | `strata migrate` | what the roles are given |
/// | `redis/password` | Redis | |
/// | `tls/edge.pem` | the edge | certificate and key |
/// | `certificate.pem` | every user | for clients to trust |
///
/// What is there stays, so an operator may bring passwords of their own; URLs are written anew each time. Directories that older versions made are left as they
/// are: instances that still run may read them once more. `services` belongs to a group that no container of this version is in.
struct DeploymentSecrets {
    /// Those who may read a directory, beside root.
    enum Group: String, CaseIterable {
        case cluster, owner, redis, tls, webhooks, conversations, metadata
        case webhookCalls = "webhook-calls"

        /// The id of the group in the containers; `docker-compose.yml` says who belongs to it.
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
            }
        }
    }

    struct Places {
        /// `host:port`.
        var postgres = "postgres:5432"
        var database = "strata"
        var owner = "strata"
        /// `host:port`.
        var redis = "redis:6379"
        /// What the certificate covers.
        var hosts = ["localhost", "127.0.0.1", "::1", "edge"]
    }

    let directory: String
    let places: Places

    /// Makes what is missing.
    /// - Returns: the files that were not there before.
    /// - Throws: ``CommandFailure`` naming the file that cannot be read or written.
    func ensure() throws -> [String] {
        for group in Group.allCases { try makeDirectory(group) }
        var made: [String] = []
        for group in [Group.cluster, .webhookCalls] {
            guard try secret("secret", in: group, made: &made).count >= 32 else {
                throw CommandFailure(.configuration, "\(path(of: "secret", in: group)) must hold at least 32 characters.")
            }
        }
        let owner = try secret("password", in: .owner, made: &made)
        let conversations = try secret("conversations-password", in: .owner, made: &made)
        let metadata = try secret("metadata-password", in: .owner, made: &made)
        let webhooks = try secret("webhooks-password", in: .owner, made: &made)
        let redis = try secret("password", in: .redis, made: &made)
        try writeFile(databaseURL(user: places.owner, password: owner), named: "url", in: .owner)
        try writeFile(databaseURL(user: "strata_conversations", password: conversations), named: "url", in: .conversations)
        try writeFile(databaseURL(user: "strata_metadata", password: metadata), named: "url", in: .metadata)
        try writeFile(databaseURL(user: "strata_webhooks", password: webhooks), named: "url", in: .webhooks)
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
            throw CommandFailure(.cannotCreate, "The directory \(path) cannot be made: \(error.localizedDescription)")
        }
        // Only the group may look into it, whatever umask made of it.
        try protect(path, for: group, mode: 0o750)
        _ = chmod(directory, 0o755)
    }

    /// The content of a file; a random one if there is no such file.
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

    /// Gives it to its group; who is not root has no others to give it to.
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

    private func databaseURL(user: String, password: String) -> String {
        "postgresql://\(user):\(Self.escaped(password))@\(places.postgres)/\(Self.escaped(places.database))"
    }

    /// Ours need no escaping; an operator's may.
    private static func escaped(_ text: String) -> String {
        let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: plain) ?? text
    }
}
