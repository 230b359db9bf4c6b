// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import NetKit
import ServiceKit

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
