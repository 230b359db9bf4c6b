// SPDX-License-Identifier: Apache-2.0

import KitClient

/// One change that a client was told to make, and what came of it.
struct KitRecord: Sendable {
    enum Outcome: Sendable, Equatable {
        /// StrataKit has accepted it: it has to arrive once, or to be told as failed.
        case accepted
        /// StrataKit has thrown an error: nothing may arrive.
        case thrown
        /// The process ended meanwhile.
        case open
    }

    /// Of the app on one device; several may be one user's.
    let device: String
    let user: String
    let number: Int
    let action: KitCommand.Action
    /// The ids it is about, as far as the client gave or chose them.
    var objects: [String] = []
    var outcome = Outcome.open
    /// It was not sent when the store was damaged, and could not be read any more.
    var isUnreadable = false

    /// The conversation, as far as that is known.
    var conversation: String? {
        switch action {
        case .create: objects.first
        case .send(let id, _), .set(let id, _, _), .add(let id, _), .remove(let id, _), .read(let id), .delete(let id): id
        case .signIn, .limitFiles, .state: nil
        }
    }

    /// Texts by which it is found in a store: ids as the store writes them, values, users.
    var marks: [String] {
        switch action {
        case .set(_, _, let value): [value]
        case .add(_, let user), .remove(_, let user): [user]
        default: objects.compactMap { $0.split(separator: "/").last?.uppercased() }
        }
    }
}

/// A change that was accepted, and later told as failed.
struct KitFailure: Sendable {
    let device: String
    let operation: String
    let conversation: String?
    let messages: [String]
    let error: String
}

/// What all devices of a trial did and were told.
struct KitStory: Sendable {
    var records: [KitRecord] = []
    var failures: [KitFailure] = []
    /// What is wrong already, such as a client that does not answer.
    var faults: [String] = []
    /// Why stores could not be opened.
    var notOpened: [String] = []
    /// How often a process ended itself at a boundary of its store, or was killed from outside.
    var kills = 0
    /// Stores that were put aside and made anew.
    var rebuilt = 0
    /// Errors of the store that apps were told of.
    var storeFailures = 0
}
