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
    /// Where the other services are, each as `host:port`, or several with commas.
    public struct Backends: Sendable {
        /// `STRATA_CONVERSATIONS_ADDRESSES`, required: where accounts, conversations and messages live.
        public var conversations: RPCClientConfiguration
        /// `STRATA_METADATA_ADDRESSES`, required: where metadata trees are read and patched.
        public var metadata: RPCClientConfiguration
        /// `STRATA_PRESENCE_ADDRESSES`, required: where typing and presence live.
        public var presence: RPCClientConfiguration
        /// `STRATA_WEBHOOKS_ADDRESSES` (none): where webhooks are administered. Without it these requests are answered with 503, and nothing else is missing.
        /// With it `STRATA_WEBHOOKS_SECRET` is required, at least 32 characters: the secret of the webhooks service.
        public var webhooks: RPCClientConfiguration?

        /// These addresses.
        public init(conversations: RPCClientConfiguration, metadata: RPCClientConfiguration, presence: RPCClientConfiguration) {
            self.conversations = conversations
            self.metadata = metadata
            self.presence = presence
        }

        init(_ settings: Settings, common: CommonSettings) throws {
            conversations = try settings.rpcClient("STRATA_CONVERSATIONS_ADDRESSES", name: "conversations", common: common).withMethodNames
            metadata = try settings.rpcClient("STRATA_METADATA_ADDRESSES", name: "metadata", common: common).withMethodNames
            presence = try settings.rpcClient("STRATA_PRESENCE_ADDRESSES", name: "presence", common: common).withMethodNames
            if try settings.optionalString("STRATA_WEBHOOKS_ADDRESSES") != nil {
                let secret = try settings.secret("STRATA_WEBHOOKS_SECRET", minimumLength: 32)
                webhooks = try settings.rpcClient("STRATA_WEBHOOKS_ADDRESSES", name: "webhooks", common: common, secret: secret).withMethodNames
            }
        }
    }

    /// Where clients connect.
    public struct Listeners: Sendable {
        /// Where plain HTTP and WebSocket are served. `STRATA_HTTP_HOST`, default `0.0.0.0`.
        public var host = "0.0.0.0"
        /// `STRATA_HTTP_PORT`, 0 to 65535, default 8080; 0 takes a free one.
        public var httpPort = 8080
        /// `STRATA_HTTPS_PORT`; none: a proxy in front of the gateway does TLS. Needs the certificate and key of ``tls``.
        public var httpsPort: Int?
        /// From `STRATA_TLS_CERTIFICATE` and `STRATA_TLS_KEY`, paths of PEM files.
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
                throw SettingsError(key: "STRATA_TLS_CERTIFICATE", problem: .invalid, expected: "PEM files of a certificate and of its key")
            }
        }
    }

    /// What one request or one object may contain.
    public struct ObjectLimits: Sendable {
        /// Participants of a conversation, its creator included. `STRATA_PARTICIPANTS_LIMIT`, 2 to 10,000.
        public var participants = 250
        /// Messages with more recipients name only the sender's and the reader's status. `STRATA_RECEIPT_AUDIENCE_LIMIT`, 2 to 10,000.
        public var receiptRecipients = 25
        /// Parts of one message. `STRATA_MESSAGE_PARTS_LIMIT`, 1 to 10,000, the same as the conversations service has.
        public var parts = Limits.partsPerMessage

        init() {}

        init(_ settings: Settings) throws {
            participants = try settings.int("STRATA_PARTICIPANTS_LIMIT", default: participants, in: 2...10_000)
            receiptRecipients = try settings.int("STRATA_RECEIPT_AUDIENCE_LIMIT", default: receiptRecipients, in: 2...10_000)
            parts = try settings.int("STRATA_MESSAGE_PARTS_LIMIT", default: parts, in: 1...10_000)
        }
    }

    /// What one socket may use.
    public struct SocketLimits: Sendable {
        /// Bytes that may wait for a socket whose client does not read; beyond it the socket is closed. `STRATA_SOCKET_BACKLOG_BYTES`,
        /// 64 KB to 64 MB.
        public var backlogBytes = 1 << 20
        /// Requests of one socket that are worked on or wait; beyond it they are refused with `service_unavailable`. `STRATA_SOCKET_REQUESTS`,
        /// 1 to 100,000.
        public var requests = 256
        /// Bytes of these requests; beyond it they are refused in the same way. One alone is taken whatever its size. `STRATA_SOCKET_REQUEST_BYTES`,
        /// 64 KB to 1 GB.
        public var requestBytes = 4 << 20

        init() {}

        init(_ settings: Settings) throws {
            backlogBytes = try settings.int("STRATA_SOCKET_BACKLOG_BYTES", default: backlogBytes, in: 1 << 16...1 << 26)
            requests = try settings.int("STRATA_SOCKET_REQUESTS", default: requests, in: 1...100_000)
            requestBytes = try settings.int("STRATA_SOCKET_REQUEST_BYTES", default: requestBytes, in: 1 << 16...1 << 30)
        }
    }

    /// When the log is read for changes that were not published.
    public struct ChangeIntervals: Sendable {
        /// How long a change waits for the one before it until that is read from the log. `STRATA_GAP_PATIENCE`, 1 ms to 10 minutes.
        public var gapPatience = Duration.milliseconds(100)
        /// How often the log is asked for changes that were not published, while Redis works. `STRATA_HEADS_INTERVAL`, 100 ms to a minute.
        public var headsInterval = Duration.seconds(15)

        init() {}

        init(_ settings: Settings) throws {
            gapPatience = try settings.duration("STRATA_GAP_PATIENCE", default: gapPatience, in: .milliseconds(1) ... .seconds(600))
            headsInterval = try settings.duration("STRATA_HEADS_INTERVAL", default: headsInterval, in: .milliseconds(100) ... .seconds(60))
        }
    }

    /// Rich content.
    public struct Content: Sendable {
        /// Where the bytes of rich content are kept: a directory of this machine, or of a volume that all gateways share.
        /// `STRATA_CONTENT_DIRECTORY`; none: no content is taken.
        public var directory: String?
        /// Bytes of one content. `STRATA_CONTENT_MAX_BYTES`, default 2 GiB.
        public var maxBytes = 2 << 30
        /// Content that has been in no message for so long is removed. `STRATA_CONTENT_UNREFERENCED_AGE`, from 1 second, default a day.
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
