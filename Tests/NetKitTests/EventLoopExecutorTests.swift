// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOPosix
import NetKit
import Testing

@Suite("event loop executors", .timeLimit(.minutes(1)))
struct EventLoopExecutorTests {
    @Test("a task stays on the loop, also after another thread has resumed it")
    func stays() async {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let task = Task(executorPreference: EventLoopExecutor(loop)) {
            var places = [loop.inEventLoop]
            for _ in 0..<3 {
                try? await NIOThreadPool.singleton.runIfActive {}
                places.append(loop.inEventLoop)
            }
            return places
        }
        #expect(await task.value == [true, true, true, true])
    }
}
