// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import NIOCore
public import NIOSSL
import NetKit
public import RPC
public import ServiceKit
public import StrataModel

/// The settings of a gateway. Each value names its environment variable. ServiceKit documents the settings common to
/// all services.
public struct GatewaySettings: ServiceSettings {
    /// The base of every URL inside an object: `https://host[:port][/prefix]`, without a trailing slash.
    /// `STRATA_PUBLIC_URL`: required.
    public var publicURL: String
    /// The secret from which nonces are derived. `STRATA_CLUSTER_SECRET`.
    public var clusterSecret: String
    /// The Redis server on which changes are published. `STRATA_REDIS_URL`: required. A gateway only subscribes, so the
    /// command queue keeps its defaults.
    public var redis: RedisSettings
    /// The addresses of the other services.
    public var backends: Backends
    /// The names of the databases, as in `STRATA_POSTGRES_URL` of the other services. `STRATA_DATABASES`: names
    /// separated by commas, default `main`.
    public var databases = [DatabaseName.main]
    /// The listening addresses and ports for clients.
    public var listeners = Listeners()
    /// The limits on a single request or object.
    public var objects = ObjectLimits()
    /// The limits on clients' use of the gateway's memory and time.
    public var load = LoadLimits()
    /// The limits on one socket.
    public var sockets = SocketLimits()
    /// The intervals for reading unpublished changes from the log.
    public var changes = ChangeIntervals()
    /// The settings of rich content.
    public var content = Content()
    /// True to serve the demo page under `/demo/`. `STRATA_DEMO_PAGE`: default false.
    public var servesDemo = false

    /// Makes settings from the required values. All others have their defaults.
    public init(publicURL: String, redisURL: String, clusterSecret: String, backends: Backends) {
        self.publicURL = publicURL
        redis = RedisSettings(url: redisURL)
        self.clusterSecret = clusterSecret
        self.backends = backends
    }

    /// Reads the settings from the environment.
    /// - Throws: `SettingsError`, which names the environment variable.
    public init(_ settings: Settings, common: CommonSettings) throws {
        self.init(
            publicURL: try Self.publicURL(settings), redisURL: try settings.secret("STRATA_REDIS_URL").value,
            clusterSecret: common.serviceSecret.value, backends: try Backends(settings, common: common))
        databases = try Self.databases(settings)
        listeners = try Listeners(settings)
        objects = try ObjectLimits(settings)
        load = try LoadLimits(settings)
        sockets = try SocketLimits(settings)
        changes = try ChangeIntervals(settings)
        content = try Content(settings)
        servesDemo = try settings.bool("STRATA_DEMO_PAGE", default: servesDemo)
    }

    private static func databases(_ settings: Settings) throws -> [DatabaseName] {
        let key = "STRATA_DATABASES"
        let texts = try settings.strings(key, default: [DatabaseName.main.description])
        let names = texts.compactMap { DatabaseName($0) }
        guard names.count == texts.count, Set(names).count == names.count, !names.isEmpty else {
            throw SettingsError(
                key: key, problem: .invalid,
                expected: "different names separated by commas, each with \(DatabaseName.rule)")
        }
        return names
    }

    private static func publicURL(_ settings: Settings) throws -> String {
        var url = try settings.string("STRATA_PUBLIC_URL", expected: "https://host[:port]")
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.count > 8 else {
            throw SettingsError(
                key: "STRATA_PUBLIC_URL", problem: .invalid, expected: "https://host[:port], as clients reach it")
        }
        return url
    }

    /// The base URL for sockets, with the scheme `wss` or `ws`.
    public var webSocketURL: String {
        publicURL.hasPrefix("https://") ? "wss://" + publicURL.dropFirst(8) : "ws://" + publicURL.dropFirst(7)
    }
}

extension GatewaySettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description without the cluster secret and the Redis URL, which can hold passwords. Libraries may log objects
    /// that hold settings.
    public var description: String { "GatewaySettings(publicURL: \(publicURL), httpPort: \(listeners.httpPort))" }
    /// A description without secrets, like ``description``.
    public var debugDescription: String { description }
    /// A mirror without children, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

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
        /// `STRATA_CONTENT_DIRECTORY`: default none. Without it and ``store``, rich content is disabled.
        public var directory: String?
        /// The object store for the bytes of rich content. It replaces ``directory``.
        var store: S3Settings?
        /// The maximum size of one content. `STRATA_CONTENT_MAX_BYTES`: bytes, 1 to 2^50, default 2 GiB. With
        /// ``store``, at most 83,886,080,000.
        public var maxBytes = 2 << 30
        /// The age at which content without a message is removed. `STRATA_CONTENT_UNREFERENCED_AGE`: 1 second to 365
        /// days, default 1 day.
        public var unreferencedAge = Duration.seconds(86_400)

        init() {}

        init(_ settings: Settings) throws {
            directory = try settings.optionalString("STRATA_CONTENT_DIRECTORY")
            store = try S3Settings(settings)
            let largest = store == nil ? 1 << 50 : S3ContentStore.largestBytes
            maxBytes = try settings.int("STRATA_CONTENT_MAX_BYTES", default: maxBytes, in: 1...largest)
            unreferencedAge = try settings.duration(
                "STRATA_CONTENT_UNREFERENCED_AGE", default: unreferencedAge, in: .seconds(1) ... .seconds(365 * 86_400))
        }
    }
}

extension GatewaySettings {
    /// The limits on clients' use of the gateway's memory and time.
    public struct LoadLimits: Sendable {
        /// The memory for client input: arriving bodies and messages, queued requests, and parsed requests
        /// (``InputBudget``). Beyond it, requests are refused with `service_unavailable`, and sockets with an
        /// incomplete message are closed.
        ///
        /// `STRATA_REQUEST_BYTES`: bytes, 32 MB to 64 GB, default 256 MB.
        public var requestBytes = 256 << 20
        /// The memory for output to clients: service responses being converted, texts queued for slow readers, and
        /// unsent bytes of connections (``AnswerBudget``). Beyond it, long answers are refused with
        /// `service_unavailable`, and slow sockets are closed.
        ///
        /// `STRATA_ANSWER_BYTES`: bytes, 1 MB to 64 GB, default 256 MB.
        public var answerBytes = 256 << 20
        /// The number of long answers fetched and rendered at the same time, for users who recently received one. Other
        /// users do not wait.
        ///
        /// `STRATA_LONG_ANSWERS`: 1 to 1024, default half the number of processors, at least 2.
        public var longAnswers = max(2, System.coreCount / 2)
        /// The time after which a client that reads nothing is disconnected. A twelfth of it applies while more than
        /// three quarters of ``answerBytes`` are in use.
        ///
        /// `STRATA_STALL_TIMEOUT`: 1 s to 1 hour, default 60 s.
        public var stallTimeout = Duration.seconds(60)
        /// The time limit for the head of the first request, including TLS, and for the body of any request. For a body
        /// it is extended while at least 500 bytes per second arrive.
        ///
        /// `STRATA_REQUEST_TIMEOUT`: 100 ms to 10 minutes, default 15 s.
        public var requestTimeout = Duration.seconds(15)
        /// The limits on client connections, including sockets. Further ones are refused, with 503 unless they require
        /// a TLS handshake.
        ///
        /// - `STRATA_CONNECTIONS`: the total, 1 to 10,000,000. Default and effective maximum: the limit of open files
        ///   minus those reserved for the gateway itself (``OpenFileLimit``).
        /// - `STRATA_CONNECTIONS_PER_ADDRESS`: the number for one client address, 0 to 10,000,000, default 10,000. 0:
        ///   no limit. With `STRATA_TRUSTED_PROXIES`, only sockets count.
        var connections = ClientConnections.Limits(total: OpenFileLimit.connections)
        /// The rate limits of clients, as `rate/burst` in requests per second and requests. 0: no limit.
        ///
        /// - `STRATA_RATE_LIMIT_SESSION`: requests and frames of one session, default `200/4000`.
        /// - `STRATA_RATE_LIMIT_ADDRESS`: requests and handshakes from one address, default `2000/20000`.
        /// - `STRATA_RATE_LIMIT_SERVER`: requests with one token of an app's own server, default `500/5000`.
        /// - `STRATA_TRUSTED_PROXIES`: the number of proxies in front of the gateway, whose `X-Forwarded-For` names the
        ///   clients' addresses. 0 to 16, default 0.
        var rates = RateLimiter.Limits()

        init() {}

        init(_ settings: Settings) throws {
            requestBytes = try settings.int("STRATA_REQUEST_BYTES", default: requestBytes, in: 32 << 20...1 << 36)
            answerBytes = try settings.int("STRATA_ANSWER_BYTES", default: answerBytes, in: 1 << 20...1 << 36)
            longAnswers = try settings.int("STRATA_LONG_ANSWERS", default: longAnswers, in: 1...1024)
            stallTimeout = try settings.duration(
                "STRATA_STALL_TIMEOUT", default: stallTimeout, in: .seconds(1) ... .seconds(3600))
            requestTimeout = try settings.duration(
                "STRATA_REQUEST_TIMEOUT", default: requestTimeout, in: .milliseconds(100) ... .seconds(600))
            connections.total = try settings.int("STRATA_CONNECTIONS", default: connections.total, in: 1...10_000_000)
            let perAddress = try settings.int("STRATA_CONNECTIONS_PER_ADDRESS", default: 10_000, in: 0...10_000_000)
            connections.perAddress = perAddress == 0 ? nil : perAddress
            rates.session = try Self.rateLimit("STRATA_RATE_LIMIT_SESSION", in: settings, default: rates.session)
            rates.address = try Self.rateLimit("STRATA_RATE_LIMIT_ADDRESS", in: settings, default: rates.address)
            rates.server = try Self.rateLimit("STRATA_RATE_LIMIT_SERVER", in: settings, default: rates.server)
            rates.trustedProxies = try settings.int("STRATA_TRUSTED_PROXIES", default: rates.trustedProxies, in: 0...16)
        }

        /// Reads a rate limit.
        /// - Returns: nil for the value `0`, which means no limit; `fallback` if the setting is absent.
        private static func rateLimit(
            _ key: String, in settings: Settings, default fallback: RateLimit?
        ) throws -> RateLimit? {
            guard let text = try settings.optionalString(key) else { return fallback }
            if text == "0" { return nil }
            guard let limit = RateLimit(setting: text) else {
                throw SettingsError(
                    key: key, problem: .invalid,
                    expected: "requests a second and at once, such as 200/4000, or 0 for no limit")
            }
            return limit
        }
    }
}
