// SPDX-License-Identifier: Apache-2.0

/// Puts the changes of one transaction in order: creates before updates before deletes, and conversations before their messages.
struct ChangeCollector {
    private var creates: [ObjectChange] = []
    private var updates: [ObjectChange] = []
    private var deletes: [ObjectChange] = []

    /// The changes of one object, given as it was shown before and as it is shown now; nil: not shown.
    mutating func addChange<Value>(
        before: Value?, after: Value?, wrap: (Value) -> ObjectChange.Object, differences: (Value, Value) -> [PropertyChange],
        markDeleted: (inout Value) -> Void
    ) {
        switch (before, after) {
        case (nil, nil): break
        case (nil, let after?): creates.append(ObjectChange(wrap(after), .create))
        case (var before?, nil):
            markDeleted(&before)
            deletes.append(ObjectChange(wrap(before), .delete))
        case (let before?, let after?):
            for property in differences(before, after) { updates.append(ObjectChange(wrap(after), .update(property))) }
        }
    }

    /// All changes, in order.
    var batch: [ObjectChange] { Self.sorted(creates) + Self.sorted(updates) + Self.sorted(deletes) }

    /// Identities come before conversations, conversations before messages, and messages before announcements; otherwise the order is kept.
    private static func sorted(_ changes: [ObjectChange]) -> [ObjectChange] {
        let ranked = changes.enumerated().map { (rank: rank(of: $1.object), place: $0, change: $1) }
        return ranked.sorted { ($0.rank, $0.place) < ($1.rank, $1.place) }.map(\.change)
    }

    private static func rank(of object: ObjectChange.Object) -> Int {
        switch object {
        case .identity: 0
        case .conversation: 1
        case .message: 2
        case .announcement: 3
        }
    }
}
