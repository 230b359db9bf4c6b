// SPDX-License-Identifier: Apache-2.0

import LocalServers
import NIOCore
import NIOPosix
import Testing

@testable import StrataCommand

@Suite("the process that listens on a port")
struct PortOwnerTests {
    @Test("the process is read from the kernel's table, without established connections")
    func table() {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
               1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000000000000000 20 4 30 10 -1
               2: 0100007F:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0000000000000000 100 0 0 10 0
            """
        #expect(PortOwner.inodes(listeningOn: 8080, in: table) == ["4711"])
        #expect(PortOwner.inodes(listeningOn: 8443, in: table) == ["4713"])
        #expect(PortOwner.inodes(listeningOn: 80, in: table).isEmpty)
    }

    @Test("the owner of a port is found with its process, also among many listeners")
    func named() async throws {
        let crowd = try await withThrowingTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                        .bind(host: "127.0.0.1", port: 0).get()
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await withTemporaryDirectory { directory in
            let redis = try await PrivateRedis.start(PrivateRedis.Options(directory: directory + "/redis"))
            let pid = await redis.process.pid
            #expect(PortOwner.listening(on: redis.port) == "redis-server (process \(pid))")
            await redis.stop()
            #expect(PortOwner.listening(on: redis.port) == nil)
        }
        for channel in crowd { try await channel.close() }
    }
}
