// SPDX-License-Identifier: Apache-2.0

import Contracts
import Foundation
import Logging
import NIOCore
import NIOPosix
import RPC
import StrataModel
import SwiftProtobuf

/// A line to the conversations service, for what only an operator or the application's own server may ask.
struct ServiceLine {
    private static let service = "conversations"
    private let configuration: RPCClientConfiguration

    /// - Parameters:
    ///   - home: of the system that runs, if no address is given.
    ///   - addresses: see ``endpoints(_:from:)``, or what `STRATA_CONVERSATIONS_ADDRESSES` says; the cluster secret then comes from `STRATA_CLUSTER_SECRET`.
    init(home: StrataHome, addresses: String?) async throws {
        let (settings, key) = (OperatorSettings(), "STRATA_CONVERSATIONS_ADDRESSES")
        if let text = try addresses ?? settings.value(key) {
            guard let secret = try settings.value("STRATA_CLUSTER_SECRET") else {
                throw CommandFailure(.configuration, "A service elsewhere needs the secret of the cluster in STRATA_CLUSTER_SECRET.")
            }
            configuration = Self.configuration(try Self.endpoints(text, from: addresses == nil ? key : "--service"), secret: secret)
            return
        }
        let endpoints = try await RunningState.ofRunning(in: home).instances(of: Self.service)
            .compactMap { $0.port.map { RPCEndpoint(host: "127.0.0.1", port: $0) } }
        configuration = Self.configuration(endpoints, secret: try Secrets.ensure(in: home).cluster)
    }

    private static func configuration(_ endpoints: [RPCEndpoint], secret: String) -> RPCClientConfiguration {
        var configuration = RPCClientConfiguration(target: .fixed(endpoints), clusterSecret: secret, name: service)
        configuration.service = service
        return configuration
    }

    /// One `host:port`, or several with commas between them, as the gateways take them, too.
    /// - Parameter source: what the text is from, for the error.
    static func endpoints(_ text: String, from source: String) throws -> [RPCEndpoint] {
        try text.split(separator: ",", omittingEmptySubsequences: false)
            .map { address in
                guard let endpoint = RPCEndpoint(address.trimmingCharacters(in: .whitespaces)) else {
                    throw CommandFailure(.usage, "\(source) must look like host:port, or be several of these with commas between them.")
                }
                return endpoint
            }
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
            _ = try await client.call(AccountAPI.sendAnnouncement, with: request, deadline: .now + .seconds(30), trace: .random())
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
