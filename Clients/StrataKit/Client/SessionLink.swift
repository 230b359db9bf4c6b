// SPDX-License-Identifier: Apache-2.0
import Synchronization

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
