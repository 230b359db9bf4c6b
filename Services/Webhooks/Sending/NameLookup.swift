// SPDX-License-Identifier: Apache-2.0
import NIOPosix
import StrataModel
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Looks up names on dedicated threads.
///
/// Concurrent requests for a name share one look-up. A name that was not found is not looked up again for some seconds.
/// An unresponsive name server blocks one thread for each of its names. So the number of concurrent look-ups per app is
/// limited, which leaves most threads to other apps.
final class NameLookup: Sendable {
    enum Answer: Hashable, Sendable {
        /// The addresses, in the order of preference.
        case found([IPAddress])
        /// The name has no addresses.
        case unknown
        /// The look-up was not started, because the app has the maximum number of look-ups or the threads have ended.
        /// This says nothing about the name.
        case notAsked
    }

    private enum Entry {
        case underWay(Task<Answer, Never>)
        case unknown(until: ContinuousClock.Instant)
    }

    private struct State {
        var names: [String: Entry] = [:]
        /// The number of running look-ups for each app.
        var underWay: [AppID: Int] = [:]
    }

    /// The maximum number of concurrent look-ups for one app.
    static let mostOfApp = 4
    /// The time for which a name that was not found is not looked up again.
    private static let unknownFor = Duration.seconds(10)
    /// The number of names after which expired entries are removed.
    private static let mostNames = 1024

    private let threads = NIOThreadPool(numberOfThreads: 32)
    private let find: @Sendable (String) throws -> [IPAddress]
    private let state = Mutex(State())

    /// - Parameter find: resolves a name, and may block its thread.
    init(find: @escaping @Sendable (String) throws -> [IPAddress] = { try NameResolution.addresses(of: $0) }) {
        self.find = find
        threads.start()
    }

    /// Returns the addresses of a host. The name server determines the duration.
    /// - Parameter app: the app whose limit applies.
    func addresses(of host: String, for app: AppID) async -> Answer {
        if let address = IPAddress(host) { return .found([address]) }
        let entry = state.withLock { state -> Entry? in
            switch state.names[host] {
            case .underWay(let lookup)?: return .underWay(lookup)
            case .unknown(let until)? where .now < until: return .unknown(until: until)
            default:
                let underWay = state.underWay[app] ?? 0
                guard underWay < Self.mostOfApp else { return nil }
                if state.names.count >= Self.mostNames {
                    state.names = state.names.filter {
                        if case .unknown(let until) = $0.value { .now < until } else { true }
                    }
                }
                let lookup = Task { await self.lookUp(host, for: app) }
                state.names[host] = .underWay(lookup)
                state.underWay[app] = underWay + 1
                return .underWay(lookup)
            }
        }
        switch entry {
        case .underWay(let lookup)?: return await lookup.value
        case .unknown?: return .unknown
        case nil: return .notAsked
        }
    }

    private func lookUp(_ host: String, for app: AppID) async -> Answer {
        let answer: Answer
        do {
            answer = .found(try await threads.runIfActive { [find] in try find(host) })
        } catch is CancellationError {
            answer = .notAsked
        } catch {
            answer = .unknown
        }
        state.withLock { state in
            state.names[host] = answer == .unknown ? .unknown(until: .now + Self.unknownFor) : nil
            state.underWay[app] = state.underWay[app].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
        return answer
    }

    func shutDown() async { try? await threads.shutdownGracefully() }
}

/// Name resolution by the operating system.
enum NameResolution {
    struct UnknownName: Error {}

    /// Returns all addresses of a name, in the order of preference. Blocks the thread.
    /// - Throws: ``UnknownName`` if the system finds no address.
    static func addresses(of host: String) throws -> [IPAddress] {
        var hints = addrinfo()
        #if canImport(Glibc)
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0, let head = first else { throw UnknownName() }
        defer { freeaddrinfo(head) }
        var addresses: [IPAddress] = []
        for info in sequence(first: head, next: { $0.pointee.ai_next }) {
            guard let socket = info.pointee.ai_addr else { continue }
            let address: IPAddress
            switch info.pointee.ai_family {
            case AF_INET:
                address = socket.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { v4 in
                    var bytes = v4.pointee.sin_addr
                    return IPAddress(withUnsafeBytes(of: &bytes) { Array($0) })
                }
            case AF_INET6:
                address = socket.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { v6 in
                    var bytes = v6.pointee.sin6_addr
                    return IPAddress(withUnsafeBytes(of: &bytes) { Array($0) })
                }
            default: continue
            }
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
