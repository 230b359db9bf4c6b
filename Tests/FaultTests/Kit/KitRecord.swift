// SPDX-License-Identifier: Apache-2.0

import KitClient

/// A change that a client was commanded to make, with its outcome.
struct KitRecord: Sendable {
    enum Outcome: Sendable, Equatable {
        /// StrataKit accepted the change: it must arrive exactly once, or be reported as failed.
        case accepted
        /// StrataKit threw an error: the change must not arrive.
        case thrown
        /// The process ended before the outcome was reported.
        case open
    }

    /// The device of the app. A user may have several devices.
    let device: String
    let user: String
    let number: Int
    let action: KitCommand.Action
    /// The ids of the objects concerned, as far as the client assigned or selected them.
    var objects: [String] = []
    var outcome = Outcome.open
    /// True if the change was unsent when the store was damaged, and became unreadable.
    var isUnreadable = false

    var conversation: String? { isCreation ? objects.first : action.conversation }

    /// Strings that identify the change in a store: ids in the store's format, values, users.
    var marks: [String] {
        switch action {
        case .set(_, _, let value): [value]
        case .add(_, let user), .remove(_, let user): [user]
        default: objects.compactMap { $0.split(separator: "/").last?.uppercased() }
        }
    }
}

/// A change that was accepted and later reported as failed.
struct KitFailure: Sendable {
    let device: String
    let operation: String
    let conversation: String?
    let messages: [String]
    let error: String
}

/// The histories of all devices of a trial.
struct KitStory: Sendable {
    var records: [KitRecord] = []
    var failures: [KitFailure] = []
    /// Faults of the trial itself, such as a client that does not answer.
    var faults: [String] = []
    /// The reasons why stores could not be opened.
    var notOpened: [String] = []
    /// The number of processes that ended themselves at a boundary of their store, or were killed.
    var kills = 0
    /// The number of stores that were rebuilt.
    var rebuilt = 0
    /// The number of store errors that were reported to apps.
    var storeFailures = 0
}
