// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The client that a snapshot came from, so that it can offer calls such as `conversation.send(…)`. It is not part of the snapshot's value: two snapshots
/// with equal properties are equal.
struct SnapshotOwner: Sendable, Hashable {
    private let link: SessionLink?

    init(_ link: SessionLink?) { self.link = link }

    static func == (a: SnapshotOwner, b: SnapshotOwner) -> Bool { true }
    func hash(into hasher: inout Hasher) {}

    /// The client.
    /// - Throws: ``StrataError/Code/notAuthenticated`` if it is gone, or works for another session now.
    func get() throws -> StrataClient {
        guard let client = link?.client else {
            throw StrataError(.notAuthenticated, "The session that this object came from is not the current one any more.")
        }
        return client
    }
}

/// A weak reference to an object. The object sets it when it has been initialized.
final class WeakReference<Object: AnyObject & Sendable>: Sendable {
    private struct Weak: Sendable { weak var object: Object? }

    private let weak = Mutex(Weak())

    var object: Object? { weak.withLock { $0.object } }
    func set(_ object: Object) { weak.withLock { $0.object = object } }
}
