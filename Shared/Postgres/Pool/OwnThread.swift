// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A thread outside Swift's cooperative pool, for work that blocks.
enum OwnThread {
    fileprivate final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new thread. Throws ``PostgresError/Code/configuration`` if the system has no thread left.
    static func start(_ body: @escaping @Sendable () -> Void) throws(PostgresError) {
        guard create(Unmanaged.passRetained(Body(body)).toOpaque()) else {
            throw PostgresError(code: .configuration, reason: "no thread can be started")
        }
    }

    private static func create(_ context: UnsafeMutableRawPointer) -> Bool {
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        guard pthread_create(&thread, nil, ownThreadMain, context) == 0 else {
            Unmanaged<Body>.fromOpaque(context).release()
            return false
        }
        return true
    }

    /// Runs blocking work on a thread of its own and waits for its result without blocking the caller's.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let result: Result<Value, PostgresError> = await withCheckedContinuation { continuation in
            do throws(PostgresError) {
                try start { continuation.resume(returning: Result(catching: work)) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }
}

/// What every such thread runs. (A closure in the call of `pthread_create` crashes the compiler of Swift 6.3.)
private func ownThreadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    pthread_detach(pthread_self())
    // Signals are for the threads that expect them.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    if let context { Unmanaged<OwnThread.Body>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
