// SPDX-License-Identifier: Apache-2.0

/// Sorts the changes of one transaction: creates before updates before deletes, and conversations before their
/// messages.
struct ChangeCollector {
    private var creates: [ObjectChange] = []
    private var updates: [ObjectChange] = []
    private var deletes: [ObjectChange] = []

    /// Adds the changes of one object, given its state before and after the transaction. nil: the object is not visible
    /// to the app.
    mutating func addChange<Value>(
        before: Value?, after: Value?, wrap: (Value) -> ObjectChange.Object,
        differences: (Value, Value) -> [PropertyChange],
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

    var batch: [ObjectChange] { Self.sorted(creates) + Self.sorted(updates) + Self.sorted(deletes) }

    /// Sorts by object type: identities, conversations, messages, announcements. Changes of one type keep their order.
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
