// SPDX-License-Identifier: Apache-2.0
import Contracts
import FoundationEssentials
import NIOCore
public import NIOSSL
import NetKit
public import RPC
public import ServiceKit
import StrataModel

/// What can be set about a gateway. Each value names its key; the common keys stand in ServiceKit.
public struct GatewaySettings: ServiceSettings {
    /// The base of every URL inside an object: `https://host[:port][/prefix]`, without a trailing slash. `STRATA_PUBLIC_URL`, required.
    public var publicURL: String
    /// Where plain HTTP and WebSocket are served. `STRATA_HTTP_HOST`, default `0.0.0.0`.
    public var host = "0.0.0.0"
    /// `STRATA_HTTP_PORT`, 0 to 65535, default 8080; 0 takes a free one.
    public var httpPort = 8080
    /// `STRATA_HTTPS_PORT`; none: a proxy in front of the gateway does TLS. Needs the certificate and key of ``tls``.
    public var httpsPort: Int?
    /// From `STRATA_TLS_CERTIFICATE` and `STRATA_TLS_KEY`, paths of PEM files.
    public var tls: TLSConfiguration?
    /// Where changes are published. `STRATA_REDIS_URL`, required.
    public var redisURL: String
    /// `STRATA_CONVERSATIONS_ADDRESSES`, required: where accounts, conversations and messages live, as `host:port`, or several with commas.
    public var conversations: RPCClientConfiguration
    /// `STRATA_METADATA_ADDRESSES`, required, in the same form: where metadata trees are read and patched.
    public var metadata: RPCClientConfiguration
    /// `STRATA_PRESENCE_ADDRESSES`, required, in the same form: where typing and presence live.
    public var presence: RPCClientConfiguration
    /// What nonces are made from. `STRATA_CLUSTER_SECRET`.
    public var clusterSecret: String

    /// Participants of a conversation, its creator included. `STRATA_PARTICIPANTS_LIMIT`, 2 to 10,000.
    public var participantLimit = 250
    /// Messages with more recipients name only the sender's and the reader's status. `STRATA_RECEIPT_AUDIENCE_LIMIT`, 2 to 10,000.
    public var receiptRecipients = 25
    /// Bytes that may wait for a socket whose client does not read; beyond it the socket is closed. `STRATA_SOCKET_BACKLOG_BYTES`,
    /// 64 KB to 64 MB.
    public var socketBacklogBytes = 1 << 20
    /// Requests of one socket that are worked on or wait; beyond it they are refused with `service_unavailable`. `STRATA_SOCKET_REQUESTS`,
    /// 1 to 100,000.
    public var requestsPerSocket = 256
    /// Bytes of these requests; beyond it they are refused in the same way. One alone is taken whatever its size. `STRATA_SOCKET_REQUEST_BYTES`,
    /// 64 KB to 1 GB.
    public var requestBytesPerSocket = 4 << 20
    /// Bytes of the bodies of all REST requests that are being read or worked on; beyond it requests are refused with `service_unavailable`.
    /// `STRATA_REQUEST_BYTES`, 1 MB to 64 GB, default 256 MB.
    public var requestBytes = 256 << 20
    /// Bytes of everything on its way to clients: answers of services that are being made into answers, texts that wait for slow readers, and what
    /// connections have not sent yet. Beyond it long answers are refused with `service_unavailable`, and slow sockets closed. `STRATA_ANSWER_BYTES`,
    /// 1 MB to 64 GB, default 256 MB.
    public var answerBytes = 256 << 20
    /// Pieces of long answers that are fetched and rendered at one time, for users who were given one lately; others do not wait for these.
    /// `STRATA_LONG_ANSWERS`, 1 to 1024, by default one for every two processors, at least two.
    public var longAnswers = max(2, System.coreCount / 2)
    /// A client that takes nothing for so long of what it is sent is cut off; sooner, after a twelfth of it, while more than three quarters of
    /// ``answerBytes`` are in use. `STRATA_STALL_TIMEOUT`, 1 s to an hour, default 60 s.
    public var stallTimeout = Duration.seconds(60)
    /// Parts of one message. `STRATA_MESSAGE_PARTS_LIMIT`, 1 to 10,000, the same as the conversations service has.
    public var partsLimit = Limits.partsPerMessage
    /// Connections of clients, sockets among them. `STRATA_CONNECTIONS`, by default as many as the limit of open files leaves beside what the gateway needs
    /// for itself, and never more: beyond it new ones are refused, with 503 where there is no TLS to be agreed on first.
    /// `STRATA_CONNECTIONS_PER_ADDRESS`, of one client address, default 10,000; `0` is no limit. Behind `STRATA_TRUSTED_PROXIES` only sockets count.
    var connectionLimits = ClientConnections.Limits(total: OpenFileLimit.connections)
    /// How long a change waits for the one before it until that is read from the log. `STRATA_GAP_PATIENCE`, 1 ms to 10 minutes.
    public var gapPatience = Duration.milliseconds(100)
    /// How often the log is asked for changes that were not published, while Redis works. `STRATA_HEADS_INTERVAL`, 100 ms to a minute.
    public var headsInterval = Duration.seconds(15)
    /// How long a client may take for the head of its first request, TLS included, and for the body of any request; a body longer only as long as
    /// 500 bytes a second come. `STRATA_REQUEST_TIMEOUT`, 100 ms to 10 minutes, default 15 s.
    public var requestTimeout = Duration.seconds(15)
    /// Where the bytes of rich content are kept: a directory of this machine, or of a volume that all gateways share.
    /// `STRATA_CONTENT_DIRECTORY`; none: no content is taken.
    public var contentDirectory: String?
    /// Bytes of one content. `STRATA_CONTENT_MAX_BYTES`, default 2 GiB.
    public var contentMaxBytes = 2 << 30
    /// Content that has been in no message for so long is removed. `STRATA_CONTENT_UNREFERENCED_AGE`, from 1 second, default a day.
    public var contentUnreferencedAge = Duration.seconds(86_400)
    /// How much one client may ask for. `STRATA_RATE_LIMIT_SESSION`, requests and frames of one session, default `200/4000`: 200 a second for good, 4000 at once.
    /// `STRATA_RATE_LIMIT_ADDRESS`, requests and handshakes from one address, default `2000/20000`. `0` is no limit.
    /// `STRATA_TRUSTED_PROXIES`, 0 to 16, default 0: that many proxies stand in front, whose `X-Forwarded-For` tells the clients' addresses.
    var rateLimits = RateLimiter.Limits()

    /// The required ones; everything else has its default.
    public init(
        publicURL: String, redisURL: String, clusterSecret: String, conversations: RPCClientConfiguration, metadata: RPCClientConfiguration,
        presence: RPCClientConfiguration
    ) {
        self.publicURL = publicURL
        self.redisURL = redisURL
        self.clusterSecret = clusterSecret
        self.conversations = conversations
        self.metadata = metadata
        self.presence = presence
    }

    /// From the environment.
    /// - Throws: `SettingsError` naming the key.
    public init(_ settings: Settings, _ common: CommonSettings) throws {
        self.init(
            publicURL: try Self.publicURL(settings), redisURL: try settings.secret("STRATA_REDIS_URL").value,
            clusterSecret: common.clusterSecret.value,
            conversations: try settings.rpcClient("STRATA_CONVERSATIONS_ADDRESSES", name: "conversations", common).withMethodNames,
            metadata: try settings.rpcClient("STRATA_METADATA_ADDRESSES", name: "metadata", common).withMethodNames,
            presence: try settings.rpcClient("STRATA_PRESENCE_ADDRESSES", name: "presence", common).withMethodNames)
        host = try settings.string("STRATA_HTTP_HOST", default: host)
        httpPort = try settings.int("STRATA_HTTP_PORT", default: httpPort, in: 0...65_535)
        participantLimit = try settings.int("STRATA_PARTICIPANTS_LIMIT", default: participantLimit, in: 2...10_000)
        receiptRecipients = try settings.int("STRATA_RECEIPT_AUDIENCE_LIMIT", default: receiptRecipients, in: 2...10_000)
        socketBacklogBytes = try settings.int("STRATA_SOCKET_BACKLOG_BYTES", default: socketBacklogBytes, in: 1 << 16...1 << 26)
        requestsPerSocket = try settings.int("STRATA_SOCKET_REQUESTS", default: requestsPerSocket, in: 1...100_000)
        requestBytesPerSocket = try settings.int("STRATA_SOCKET_REQUEST_BYTES", default: requestBytesPerSocket, in: 1 << 16...1 << 30)
        requestBytes = try settings.int("STRATA_REQUEST_BYTES", default: requestBytes, in: 1 << 20...1 << 36)
        answerBytes = try settings.int("STRATA_ANSWER_BYTES", default: answerBytes, in: 1 << 20...1 << 36)
        longAnswers = try settings.int("STRATA_LONG_ANSWERS", default: longAnswers, in: 1...1024)
        stallTimeout = try settings.duration("STRATA_STALL_TIMEOUT", default: stallTimeout, in: .seconds(1) ... .seconds(3600))
        partsLimit = try settings.int("STRATA_MESSAGE_PARTS_LIMIT", default: partsLimit, in: 1...10_000)
        let connections = try settings.int("STRATA_CONNECTIONS", default: connectionLimits.total, in: 1...10_000_000)
        connectionLimits.total = connections
        let perAddress = try settings.int("STRATA_CONNECTIONS_PER_ADDRESS", default: 10_000, in: 0...10_000_000)
        connectionLimits.perAddress = perAddress == 0 ? nil : perAddress
        gapPatience = try settings.duration("STRATA_GAP_PATIENCE", default: gapPatience, in: .milliseconds(1) ... .seconds(600))
        headsInterval = try settings.duration("STRATA_HEADS_INTERVAL", default: headsInterval, in: .milliseconds(100) ... .seconds(60))
        requestTimeout = try settings.duration("STRATA_REQUEST_TIMEOUT", default: requestTimeout, in: .milliseconds(100) ... .seconds(600))
        contentDirectory = try settings.optionalString("STRATA_CONTENT_DIRECTORY")
        contentMaxBytes = try settings.int("STRATA_CONTENT_MAX_BYTES", default: contentMaxBytes, in: 1...1 << 50)
        contentUnreferencedAge = try settings.duration(
            "STRATA_CONTENT_UNREFERENCED_AGE", default: contentUnreferencedAge, in: .seconds(1) ... .seconds(365 * 86_400))
        rateLimits.session = try Self.rateLimit(settings, "STRATA_RATE_LIMIT_SESSION", default: rateLimits.session)
        rateLimits.address = try Self.rateLimit(settings, "STRATA_RATE_LIMIT_ADDRESS", default: rateLimits.address)
        rateLimits.trustedProxies = try settings.int("STRATA_TRUSTED_PROXIES", default: rateLimits.trustedProxies, in: 0...16)
        if try settings.optionalString("STRATA_HTTPS_PORT") != nil {
            httpsPort = try settings.int("STRATA_HTTPS_PORT", in: 0...65_535)
            tls = try Self.tls(settings)
        }
    }

    private static func publicURL(_ settings: Settings) throws -> String {
        var url = try settings.string("STRATA_PUBLIC_URL", expected: "https://host[:port]")
        while url.hasSuffix("/") { url.removeLast() }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.count > 8 else {
            throw SettingsError(key: "STRATA_PUBLIC_URL", problem: .invalid, expected: "https://host[:port], as clients reach it")
        }
        return url
    }

    private static func rateLimit(_ settings: Settings, _ key: String, default fallback: RateLimit?) throws -> RateLimit? {
        guard let text = try settings.optionalString(key) else { return fallback }
        if text == "0" { return nil }
        guard let limit = RateLimit(setting: text) else {
            throw SettingsError(key: key, problem: .invalid, expected: "requests a second and at once, such as 200/4000, or 0 for no limit")
        }
        return limit
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

    /// The same base for sockets.
    public var webSocketURL: String {
        publicURL.hasPrefix("https://") ? "wss://" + publicURL.dropFirst(8) : "ws://" + publicURL.dropFirst(7)
    }
}

extension GatewaySettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Leaves out the cluster secret and the URL of Redis, which can hold passwords: what holds settings may be printed whole, as libraries do in their logs.
    public var description: String { "GatewaySettings(publicURL: \(publicURL), httpPort: \(httpPort))" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children, so that `dump` shows no secret either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
