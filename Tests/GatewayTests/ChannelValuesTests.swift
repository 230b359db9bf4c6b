// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOEmbedded
import Testing

@testable import FanOut
@testable import Gateway

@Suite("values of channels")
struct ChannelValuesTests {
    private let values = ChannelValues<String>()

    private func connected() throws -> EmbeddedChannel {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    @Test("each channel's value is taken once")
    func taken() throws {
        let (one, other) = (try connected(), try connected())
        #expect(values.keep("one", for: one) && values.keep("other", for: other))
        #expect(values.take(for: one) == "one")
        #expect(values.take(for: one) == nil)
        #expect(values.take(for: other) == "other")
        #expect(values.count == 0)
    }

    @Test("ending a channel discards its untaken value")
    func ended() throws {
        let channel = try connected()
        #expect(values.keep("session", for: channel))
        _ = try channel.finish()
        #expect(values.count == 0)
    }

    @Test("a channel that has already ended stores no value")
    func endedBefore() throws {
        let channel = try connected()
        _ = try channel.finish()
        #expect(!values.keep("session", for: channel))
        #expect(values.count == 0)
    }
}
