// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import NIOCore
public import NIOSSL
import NetKit
public import RPC
import ServiceKit
import StrataModel

extension GatewaySettings {
    /// The addresses of the other services. Each value is `host:port`, or a comma-separated list.
    public struct Backends: Sendable {
        /// The service for accounts, conversations, and messages. `STRATA_CONVERSATIONS_ADDRESSES`: required.
        public var conversations: RPCClientConfiguration
        /// The service for metadata trees. `STRATA_METADATA_ADDRESSES`: required.
        public var metadata: RPCClientConfiguration
        /// The service for typing and presence. `STRATA_PRESENCE_ADDRESSES`: required.
        public var presence: RPCClientConfiguration
        /// The service that manages webhooks. Without it, requests about webhooks are answered with 503.
        ///
        /// - `STRATA_WEBHOOKS_ADDRESSES`: default none.
        /// - `STRATA_WEBHOOKS_SECRET`: the secret of the webhooks service, at least 32 characters. Required with the
        ///   addresses.
        public var webhooks: RPCClientConfiguration?

        /// Makes the settings from the required addresses, without webhooks.
        public init(
            conversations: RPCClientConfiguration, metadata: RPCClientConfiguration, presence: RPCClientConfiguration
        ) {
            self.conversations = conversations
            self.metadata = metadata
            self.presence = presence
        }

        init(_ settings: Settings, common: CommonSettings) throws {
            conversations =
                try settings.rpcClient("STRATA_CONVERSATIONS_ADDRESSES", name: "conversations", common: common)
                .withMethodNames
            metadata = try settings.rpcClient("STRATA_METADATA_ADDRESSES", name: "metadata", common: common)
                .withMethodNames
            presence = try settings.rpcClient("STRATA_PRESENCE_ADDRESSES", name: "presence", common: common)
                .withMethodNames
            if try settings.optionalString("STRATA_WEBHOOKS_ADDRESSES") != nil {
                let secret = try settings.secret("STRATA_WEBHOOKS_SECRET", minimumLength: 32)
                webhooks =
                    try settings.rpcClient(
                        "STRATA_WEBHOOKS_ADDRESSES", name: "webhooks", common: common, secret: secret
                    )
                    .withMethodNames
            }
        }
    }

    /// The listening addresses and ports for clients.
    public struct Listeners: Sendable {
        /// The address for HTTP and WebSocket. `STRATA_HTTP_HOST`: default `0.0.0.0`.
        public var host = "0.0.0.0"
        /// The port for plain HTTP and WebSocket. `STRATA_HTTP_PORT`: 0 to 65535, default 8080. 0 selects a free port.
        public var httpPort = 8080
        /// The port for HTTPS. It requires ``tls``. `STRATA_HTTPS_PORT`: 0 to 65535, default none: a proxy in front of
        /// the gateway terminates TLS.
        public var httpsPort: Int?
        /// The TLS certificate and key. `STRATA_TLS_CERTIFICATE`, `STRATA_TLS_KEY`: paths of PEM files.
        public var tls: TLSConfiguration?

        init() {}

        init(_ settings: Settings) throws {
            host = try settings.string("STRATA_HTTP_HOST", default: host)
            httpPort = try settings.int("STRATA_HTTP_PORT", default: httpPort, in: 0...65_535)
            if try settings.optionalString("STRATA_HTTPS_PORT") != nil {
                httpsPort = try settings.int("STRATA_HTTPS_PORT", in: 0...65_535)
                tls = try Self.tls(settings)
            }
        }

        private static func tls(_ settings: Settings) throws -> TLSConfiguration {
            let certificate = try settings.string("STRATA_TLS_CERTIFICATE", expected: "the path of a PEM file")
            let key = try settings.string("STRATA_TLS_KEY", expected: "the path of a PEM file")
            do {
                var configuration = TLSConfiguration.makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
                configuration.minimumTLSVersion = .tlsv12
                return configuration
            } catch {
                throw SettingsError(
                    key: "STRATA_TLS_CERTIFICATE", problem: .invalid,
                    expected: "PEM files of a certificate and of its key")
            }
        }
    }

    /// The limits on a single request or object.
    public struct ObjectLimits: Sendable {
        /// The maximum number of participants of a conversation, including its creator. `STRATA_PARTICIPANTS_LIMIT`: 2
        /// to 10,000, default 250.
        public var participants = 250
        /// The maximum number of recipients whose statuses a message shows. With more recipients it shows only those of
        /// the sender and the reader. `STRATA_RECEIPT_AUDIENCE_LIMIT`: 2 to 10,000, default 25.
        public var receiptRecipients = 25
        /// The maximum number of parts of a message. `STRATA_MESSAGE_PARTS_LIMIT`: 1 to 10,000. The conversations
        /// service must use the same value.
        public var parts = Limits.partsPerMessage

        init() {}

        init(_ settings: Settings) throws {
            participants = try settings.int("STRATA_PARTICIPANTS_LIMIT", default: participants, in: 2...10_000)
            receiptRecipients = try settings.int(
                "STRATA_RECEIPT_AUDIENCE_LIMIT", default: receiptRecipients, in: 2...10_000)
            parts = try settings.int("STRATA_MESSAGE_PARTS_LIMIT", default: parts, in: 1...10_000)
        }
    }

    /// The limits on one socket.
    public struct SocketLimits: Sendable {
        /// The maximum backlog of a socket whose client does not read. Beyond it the socket is closed.
        /// `STRATA_SOCKET_BACKLOG_BYTES`: bytes, 64 KB to 64 MB, default 1 MB.
        public var backlogBytes = 1 << 20
        /// The maximum number of a socket's requests that are queued or in progress. Further requests are refused with
        /// `service_unavailable`. `STRATA_SOCKET_REQUESTS`: 1 to 100,000, default 256.
        public var requests = 256
        /// The maximum size of these requests. Further requests are refused with `service_unavailable`, but a single
        /// request of any size is admitted. `STRATA_SOCKET_REQUEST_BYTES`: bytes, 64 KB to 1 GB, default 4 MB.
        public var requestBytes = 4 << 20

        init() {}

        init(_ settings: Settings) throws {
            backlogBytes = try settings.int("STRATA_SOCKET_BACKLOG_BYTES", default: backlogBytes, in: 1 << 16...1 << 26)
            requests = try settings.int("STRATA_SOCKET_REQUESTS", default: requests, in: 1...100_000)
            requestBytes = try settings.int("STRATA_SOCKET_REQUEST_BYTES", default: requestBytes, in: 1 << 16...1 << 30)
        }
    }

    /// The intervals for reading unpublished changes from the log.
    public struct ChangeIntervals: Sendable {
        /// The time for which a change waits for its predecessor, before that is read from the log.
        /// `STRATA_GAP_PATIENCE`: 1 ms to 10 minutes, default 100 ms.
        public var gapPatience = Duration.milliseconds(100)
        /// The interval between queries for unpublished changes while Redis works. `STRATA_HEADS_INTERVAL`: 100 ms to 1
        /// minute, default 15 s.
        public var headsInterval = Duration.seconds(15)

        init() {}

        init(_ settings: Settings) throws {
            gapPatience = try settings.duration(
                "STRATA_GAP_PATIENCE", default: gapPatience, in: .milliseconds(1) ... .seconds(600))
            headsInterval = try settings.duration(
                "STRATA_HEADS_INTERVAL", default: headsInterval, in: .milliseconds(100) ... .seconds(60))
        }
    }

    /// The settings of rich content.
    public struct Content: Sendable {
        /// The directory for the bytes of rich content: on this machine, or on a volume shared by all gateways.
        /// `STRATA_CONTENT_DIRECTORY`: default none, which disables rich content.
        public var directory: String?
        /// The maximum size of one content. `STRATA_CONTENT_MAX_BYTES`: bytes, 1 to 2^50, default 2 GiB.
        public var maxBytes = 2 << 30
        /// The age at which content without a message is removed. `STRATA_CONTENT_UNREFERENCED_AGE`: 1 second to 365
        /// days, default 1 day.
        public var unreferencedAge = Duration.seconds(86_400)

        init() {}

        init(_ settings: Settings) throws {
            directory = try settings.optionalString("STRATA_CONTENT_DIRECTORY")
            maxBytes = try settings.int("STRATA_CONTENT_MAX_BYTES", default: maxBytes, in: 1...1 << 50)
            unreferencedAge = try settings.duration(
                "STRATA_CONTENT_UNREFERENCED_AGE", default: unreferencedAge, in: .seconds(1) ... .seconds(365 * 86_400))
        }
    }
}
