// SPDX-License-Identifier: Apache-2.0

import NIOPosix
import StrataModel
import Synchronization

/// Looks names up on threads of its own.
///
/// A name is looked up once at a time for all that ask, and one that could not be found is not asked for again for some seconds. A name server that does not
/// answer uses up a thread for each of its names. So an app has few names looked up at a time: one that registers many such names leaves most threads to the others.
final class NameLookup: Sendable {
    /// What came of a look-up.
    enum Answer: Hashable, Sendable {
        /// In the order in which they are to be tried.
        case found([IPAddress])
        /// There are none.
        case unknown
        /// The app has as many names looked up as it may have at a time, or the threads have ended. It says nothing about the name.
        case notAsked
    }

    private enum Entry {
        case underWay(Task<Answer, Never>)
        case unknown(until: ContinuousClock.Instant)
    }

    private struct State {
        var names: [String: Entry] = [:]
        /// How many names are looked up now for each app.
        var underWay: [AppID: Int] = [:]
    }

    /// How many names of one app are looked up at a time.
    static let mostOfApp = 4
    /// For how long a name that could not be found is not asked for again.
    private static let unknownFor = Duration.seconds(10)
    /// How many names are remembered before those that may be asked for again are forgotten.
    private static let mostNames = 1024

    private let threads = NIOThreadPool(numberOfThreads: 32)
    private let find: @Sendable (String) throws -> [IPAddress]
    private let state = Mutex(State())

    /// - Parameter find: asks for the addresses of a name, and blocks its thread meanwhile.
    init(find: @escaping @Sendable (String) throws -> [IPAddress] = { try NameResolution.addresses(of: $0) }) {
        self.find = find
        threads.start()
    }

    /// The addresses of a host. How long that takes is up to the name server.
    /// - Parameter app: for which they are looked up.
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
                    state.names = state.names.filter { if case .unknown(let until) = $0.value { .now < until } else { true } }
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
            // The threads have ended.
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
