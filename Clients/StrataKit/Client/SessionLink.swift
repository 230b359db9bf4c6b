// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Connects the engine of one session, and the snapshots from its store, with the client. It is cut when the session is no longer the current one: code that
/// still holds snapshots of that user must not act for the next user.
final class SessionLink: Sendable {
    private let reference: WeakReference<StrataClient>
    private let isCut = Atomic<Bool>(false)
    /// The changes of this session's store alone. They end with the link.
    let changes = Broadcaster<[ObjectChange]>()

    init(_ reference: WeakReference<StrataClient>) { self.reference = reference }

    /// Nil after the link was cut, or if the client is gone.
    var client: StrataClient? { isOpen ? reference.object : nil }
    var isOpen: Bool { !isCut.load(ordering: .acquiring) }

    /// Ends the link for good.
    func cut() {
        isCut.store(true, ordering: .releasing)
        changes.finish()
    }
}
