// SPDX-License-Identifier: Apache-2.0

import Contracts
import Foundation
import Logging
import Model
import NIOCore
import NIOPosix
import RPC
import SwiftProtobuf

/// A line to the conversations service, for what only an operator or the application's own server may ask.
struct ServiceLine {
    private static let service = "conversations"
    private let configuration: RPCClientConfiguration

    /// - Parameters:
    ///   - home: of the system that runs, if no address is given.
    ///   - address: `host:port`, or what `STRATA_CONVERSATIONS_ADDRESSES` says; the cluster secret then comes from `STRATA_CLUSTER_SECRET`.
    init(home: StrataHome, address: String?) throws {
        let settings = OperatorSettings()
        if let address = try address ?? settings.value("STRATA_CONVERSATIONS_ADDRESSES") {
            guard let secret = try settings.value("STRATA_CLUSTER_SECRET") else {
                throw CommandFailure(.configuration, "A service elsewhere needs the secret of the cluster in STRATA_CLUSTER_SECRET.")
            }
            configuration = Self.configuration([try Self.endpoint(address)], secret)
            return
        }
        let endpoints = try RunningState.ofRunning(in: home).instances(of: Self.service)
            .compactMap { $0.port.map { RPCEndpoint(host: "127.0.0.1", port: $0) } }
        configuration = Self.configuration(endpoints, try Secrets.ensure(in: home).cluster)
    }

    private static func configuration(_ endpoints: [RPCEndpoint], _ secret: String) -> RPCClientConfiguration {
        var configuration = RPCClientConfiguration(target: .fixed(endpoints), clusterSecret: secret, name: service)
        configuration.service = service
        return configuration
    }

    private static func endpoint(_ text: String) throws -> RPCEndpoint {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = Int(parts[1]), (1...65_535).contains(port) else {
            throw CommandFailure(.usage, "--service must look like host:port.")
        }
        return RPCEndpoint(host: String(parts[0]), port: port)
    }

    func announce(
        _ id: AnnouncementID, in app: AppID, from sender: String, to recipients: [String], text: String, mimeType: String
    ) async throws {
        let part = MessagePart(id: UUID(), mimeType: mimeType, body: text, size: text.utf8.count)
        let request = ProtoSendAnnouncementRequest.with {
            $0.appID = Data(app)
            $0.id = Data(id)
            $0.senderName = sender
            $0.recipients = recipients
            $0.parts = [ProtoMessagePart(part)]
        }
        try await call { client in
            _ = try await client.call(AccountAPI.sendAnnouncement, request, deadline: .now + .seconds(30), trace: .random())
        }
    }

    private func call(_ body: @Sendable (RPCClient) async throws -> Void) async throws {
        var logger = Logger(label: "strata")
        logger.logLevel = .critical
        let client = RPCClient(configuration: configuration, eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await client.run() }
                defer { group.cancelAll() }
                try await body(client)
            }
        } catch let failure as Failure {
            let status: CommandFailure.Status = failure.code == .serviceUnavailable ? .unavailable : .usage
            throw CommandFailure(status, failure.code == .serviceUnavailable ? "The conversations service cannot be reached." : failure.message)
        }
    }
}
