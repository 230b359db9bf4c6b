// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import StrataCommand

@Suite("the secrets of a deployment")
struct DeploymentSecretsTests {
    private func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test(
        "gateways and webhooks have separate secrets; an existing directory gets missing secrets and keeps the others")
    func complete() async throws {
        try await withTemporaryDirectory { directory in
            let secrets = DeploymentSecrets(directory: directory, places: .init())
            #expect(try secrets.ensure().contains("\(directory)/webhook-calls/secret"))
            #expect(try secrets.ensure() == [])
            let (cluster, own) = (
                try read("\(directory)/cluster/secret"), try read("\(directory)/webhook-calls/secret")
            )
            #expect(cluster != own && own.count >= 32)
            try FileManager.default.removeItem(atPath: "\(directory)/webhook-calls")
            #expect(try secrets.ensure() == ["\(directory)/webhook-calls/secret"])
            #expect(try read("\(directory)/cluster/secret") == cluster)
            try "short".write(toFile: "\(directory)/webhook-calls/secret", atomically: false, encoding: .utf8)
            let failure = #expect(throws: CommandFailure.self) { try secrets.ensure() }
            #expect(failure?.message == "\(directory)/webhook-calls/secret must hold at least 32 characters.")
        }
    }

    @Test("each service has a separate file with its own database URL and role; files of older versions stay")
    func urls() async throws {
        try await withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(atPath: "\(directory)/services", withIntermediateDirectories: true)
            try "older".write(toFile: "\(directory)/services/conversations-url", atomically: false, encoding: .utf8)
            _ = try DeploymentSecrets(directory: directory, places: .init()).ensure()
            for service in ["conversations", "metadata", "webhooks", "console"] {
                let password = try read("\(directory)/owner/\(service)-password")
                #expect(
                    try read("\(directory)/\(service)/url")
                        == "postgresql://strata_\(service):\(password)@postgres:5432/strata")
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/\(service)") == ["url"])
            }
            #expect(try read("\(directory)/services/conversations-url") == "older")
        }
    }

    @Test("with several databases, each URL is a list")
    func lists() async throws {
        try await withTemporaryDirectory { directory in
            var places = DeploymentSecrets.Places()
            places.databases = ["main=one:5432/strata", "second=two:5433/strata"]
                .compactMap { DeploymentSecrets.Database($0) }
            _ = try DeploymentSecrets(directory: directory, places: places).ensure()
            let login = "postgresql://strata_metadata:\(try read("\(directory)/owner/metadata-password"))"
            #expect(
                try read("\(directory)/metadata/url")
                    == "main=\(login)@one:5432/strata second=\(login)@two:5433/strata")
        }
    }

    @Test("each directory has a separate group, and only that group can read it", .enabled(if: getuid() == 0))
    func groups() async throws {
        try await withTemporaryDirectory { directory in
            let secrets = DeploymentSecrets(directory: directory, places: .init())
            _ = try secrets.ensure()
            // Changed permissions are restored.
            chmod("\(directory)/webhook-calls/secret", 0o444)
            chown("\(directory)/webhooks", 0, 10_001)
            _ = try secrets.ensure()
            #expect(Set(DeploymentSecrets.Group.allCases.map(\.id)).count == DeploymentSecrets.Group.allCases.count)
            for group in DeploymentSecrets.Group.allCases {
                let place = "\(directory)/\(group.rawValue)"
                let own = try FileManager.default.attributesOfItem(atPath: place)
                #expect(
                    own[.posixPermissions] as? Int == 0o750 && own[.groupOwnerAccountID] as? Int == Int(group.id),
                    "\(group)")
                for name in try FileManager.default.contentsOfDirectory(atPath: place)
                where group != .tls || name == "edge.pem" {
                    let file = try FileManager.default.attributesOfItem(atPath: "\(place)/\(name)")
                    #expect(
                        file[.posixPermissions] as? Int == 0o440 && file[.groupOwnerAccountID] as? Int == Int(group.id),
                        "\(group)/\(name)")
                }
            }
        }
    }
}
