// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The client that a snapshot came from. It makes calls such as `conversation.send(…)` possible. It does not take part
/// in comparisons: two snapshots with equal properties are equal.
struct SnapshotOwner: Sendable, Hashable {
    private let link: SessionLink?

    init(_ link: SessionLink?) { self.link = link }

    static func == (a: SnapshotOwner, b: SnapshotOwner) -> Bool { true }
    func hash(into hasher: inout Hasher) {}

    /// Returns the client.
    /// - Throws: ``StrataError/Code/notAuthenticated`` if the client was released or switched to another session.
    func get() throws -> StrataClient {
        guard let client = link?.client else {
            throw StrataError(
                .notAuthenticated, "The session that this object came from is no longer the current one.")
        }
        return client
    }
}

/// A weak reference to an object. The object sets it at the end of its initializer.
final class WeakReference<Object: AnyObject & Sendable>: Sendable {
    private struct Weak: Sendable { weak var object: Object? }

    private let weak = Mutex(Weak())

    var object: Object? { weak.withLock { $0.object } }
    func set(_ object: Object) { weak.withLock { $0.object = object } }
}

/// The connection between the engine and snapshots of one session and their client. The link is cut when another
/// session becomes the current one. Code that still holds snapshots of the previous user can then no longer act for the
/// next user.
final class SessionLink: Sendable {
    private let reference: WeakReference<StrataClient>
    private let isCut = Atomic<Bool>(false)
    /// The changes of this session's store only. The stream ends when the link is cut.
    let changes = Broadcaster<[ObjectChange]>()

    init(_ reference: WeakReference<StrataClient>) { self.reference = reference }

    /// The client; nil if the link is cut or the client was released.
    var client: StrataClient? { isOpen ? reference.object : nil }
    var isOpen: Bool { !isCut.load(ordering: .acquiring) }

    func cut() {
        isCut.store(true, ordering: .releasing)
        changes.finish()
    }
}
