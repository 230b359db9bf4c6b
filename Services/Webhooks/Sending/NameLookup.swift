// SPDX-License-Identifier: Apache-2.0

import NIOPosix
import Synchronization

/// Looks names up on threads of its own.
///
/// A name is looked up once at a time for all that ask, so that a name server that does not answer uses up one thread; and one that could not be found is not
/// asked for again for some seconds.
final class NameLookup: Sendable {
    private enum Entry {
        case underWay(Task<[IPAddress]?, Never>)
        case unknown(until: ContinuousClock.Instant)
    }

    /// For how long a name that could not be found is not asked for again.
    private static let unknownFor = Duration.seconds(10)
    /// How many names are remembered before those that may be asked for again are forgotten.
    private static let mostNames = 1024

    private let threads = NIOThreadPool(numberOfThreads: 32)
    private let find: @Sendable (String) throws -> [IPAddress]
    private let names = Mutex<[String: Entry]>([:])

    /// - Parameter find: asks for the addresses of a name, and blocks its thread meanwhile.
    init(find: @escaping @Sendable (String) throws -> [IPAddress] = { try NameResolution.addresses(of: $0) }) {
        self.find = find
        threads.start()
    }

    /// The addresses of a host, in the order in which they are to be tried; nil if it could not be found. How long that takes is up to the name server.
    func addresses(of host: String) async -> [IPAddress]? {
        if let address = IPAddress(host) { return [address] }
        let lookup = names.withLock { names -> Task<[IPAddress]?, Never>? in
            switch names[host] {
            case .underWay(let lookup)?: return lookup
            case .unknown(let until)? where .now < until: return nil
            default:
                if names.count >= Self.mostNames {
                    names = names.filter { if case .unknown(let until) = $0.value { .now < until } else { true } }
                }
                let lookup = Task { await self.lookUp(host) }
                names[host] = .underWay(lookup)
                return lookup
            }
        }
        return await lookup?.value
    }

    private func lookUp(_ host: String) async -> [IPAddress]? {
        let found = try? await threads.runIfActive { [find] in try find(host) }
        names.withLock { $0[host] = found == nil ? .unknown(until: .now + Self.unknownFor) : nil }
        return found
    }

    /// Ends the threads.
    func shutDown() async { try? await threads.shutdownGracefully() }
}
