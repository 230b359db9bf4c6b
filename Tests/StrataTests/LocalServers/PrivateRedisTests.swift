// SPDX-License-Identifier: Apache-2.0

import LocalServers
import Testing

@Suite("a private Redis")
struct PrivateRedisTests {
    @Test("Redis restarts on the same port after a kill")
    func restart() async throws {
        try await withTemporaryDirectory { directory in
            let server = try await PrivateRedis.start(PrivateRedis.Options(directory: directory + "/redis"))
            let first = await server.process.pid
            await server.kill()
            #expect(LoopbackPort.isFree(server.port))
            try await server.restart()
            #expect(await server.process.pid != first)
            #expect(!LoopbackPort.isFree(server.port))
            await server.stop()
            #expect(LoopbackPort.isFree(server.port))
        }
    }

    @Test("an error contains the message of Redis")
    func refusal() async throws {
        try await withTemporaryDirectory { directory in
            let options = PrivateRedis.Options(
                directory: directory + "/redis", port: try LoopbackPort.free(), arguments: ["--no-such-setting", "1"])
            let error = await #expect(throws: LocalServerError.self) { try await PrivateRedis.start(options) }
            #expect(error?.code == .startFailed)
            #expect(error?.message.contains("no-such-setting") == true)
        }
    }
}
