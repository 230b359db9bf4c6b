// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import NIOCore
import NetKit
import ServiceKit

extension GatewaySettings {
    /// What clients may use of the gateway's memory and time.
    public struct LoadLimits: Sendable {
        /// The memory that input of clients takes: bodies and messages that are arriving, requests that wait, and parsed requests (``InputBudget``). Beyond it
        /// requests are refused with `service_unavailable`, and sockets with half a message closed. `STRATA_REQUEST_BYTES`, 32 MB to 64 GB, default 256 MB.
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
        /// How long a client may take for the head of its first request, TLS included, and for the body of any request; a body longer only as long as
        /// 500 bytes a second come. `STRATA_REQUEST_TIMEOUT`, 100 ms to 10 minutes, default 15 s.
        public var requestTimeout = Duration.seconds(15)
        /// Connections of clients, sockets among them. `STRATA_CONNECTIONS`, by default as many as the limit of open files leaves beside what the gateway
        /// needs for itself, and never more: beyond it new ones are refused, with 503 where there is no TLS to be agreed on first.
        /// `STRATA_CONNECTIONS_PER_ADDRESS`, of one client address, default 10,000; `0` is no limit. Behind `STRATA_TRUSTED_PROXIES` only sockets count.
        var connections = ClientConnections.Limits(total: OpenFileLimit.connections)
        /// How much one client may ask for. `STRATA_RATE_LIMIT_SESSION`, requests and frames of one session, default `200/4000`: 200 a second for good, 4000 at once.
        /// `STRATA_RATE_LIMIT_ADDRESS`, requests and handshakes from one address, default `2000/20000`. `STRATA_RATE_LIMIT_SERVER`, requests of one token of an
        /// app's own server, default `500/5000`. `0` is no limit.
        /// `STRATA_TRUSTED_PROXIES`, 0 to 16, default 0: that many proxies stand in front, whose `X-Forwarded-For` tells the clients' addresses.
        var rates = RateLimiter.Limits()

        init() {}

        init(_ settings: Settings) throws {
            requestBytes = try settings.int("STRATA_REQUEST_BYTES", default: requestBytes, in: 32 << 20...1 << 36)
            answerBytes = try settings.int("STRATA_ANSWER_BYTES", default: answerBytes, in: 1 << 20...1 << 36)
            longAnswers = try settings.int("STRATA_LONG_ANSWERS", default: longAnswers, in: 1...1024)
            stallTimeout = try settings.duration("STRATA_STALL_TIMEOUT", default: stallTimeout, in: .seconds(1) ... .seconds(3600))
            requestTimeout = try settings.duration("STRATA_REQUEST_TIMEOUT", default: requestTimeout, in: .milliseconds(100) ... .seconds(600))
            connections.total = try settings.int("STRATA_CONNECTIONS", default: connections.total, in: 1...10_000_000)
            let perAddress = try settings.int("STRATA_CONNECTIONS_PER_ADDRESS", default: 10_000, in: 0...10_000_000)
            connections.perAddress = perAddress == 0 ? nil : perAddress
            rates.session = try Self.rateLimit("STRATA_RATE_LIMIT_SESSION", in: settings, default: rates.session)
            rates.address = try Self.rateLimit("STRATA_RATE_LIMIT_ADDRESS", in: settings, default: rates.address)
            rates.server = try Self.rateLimit("STRATA_RATE_LIMIT_SERVER", in: settings, default: rates.server)
            rates.trustedProxies = try settings.int("STRATA_TRUSTED_PROXIES", default: rates.trustedProxies, in: 0...16)
        }

        private static func rateLimit(_ key: String, in settings: Settings, default fallback: RateLimit?) throws -> RateLimit? {
            guard let text = try settings.optionalString(key) else { return fallback }
            if text == "0" { return nil }
            guard let limit = RateLimit(setting: text) else {
                throw SettingsError(key: key, problem: .invalid, expected: "requests a second and at once, such as 200/4000, or 0 for no limit")
            }
            return limit
        }
    }
}
