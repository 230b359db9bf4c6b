// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A thread outside Swift's cooperative pool, for blocking work.
enum OwnThread {
    fileprivate final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new thread. Throws ``PostgresError/Code/configuration`` if the system cannot start a thread.
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

    /// Runs blocking work on its own thread and returns its result without blocking the caller's thread.
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

/// The main function of every such thread. It is no closure because that would crash the Swift 6.3 compiler in the call
/// of `pthread_create`.
private func ownThreadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    pthread_detach(pthread_self())
    // Leave signals to the threads that handle them.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    if let context { Unmanaged<OwnThread.Body>.fromOpaque(context).takeRetainedValue().run() }
    return nil
}
