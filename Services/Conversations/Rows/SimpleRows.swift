// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Postgres
import StrataModel

/// The row of a statement whose result is a Boolean.
struct AnswerRow: Decodable {
    let answer: Bool
}

/// The row of a statement that finds the apps with work for a background task.
struct AppsRow: Decodable {
    let apps: [AppID]
}

/// The row of a writing function that returns only its outcome.
struct OutcomeRow: Decodable {
    let outcome: String
}

/// The columns of an entry in a log.
struct LogPlace: Decodable {
    let position: Position
    let createdAt: StrataModel.Timestamp
}

/// The row of a writing function that appends at most one entry to the calling user's own log.
struct UserEntryRow: Decodable {
    let outcome: String
    let place: LogPlace?
}

/// The columns of a write that appends to the logs of several users: parallel arrays of users, positions, and times in
/// microseconds since 1970.
struct UserLogEntries: Decodable {
    private let toldUsers: [UserID]
    private let toldPositions: [Position]
    private let toldAt: [Int64]

    /// An entry of a user's own log.
    struct Entry {
        let user: UserID
        let position: Position
        let createdAt: StrataModel.Timestamp
    }

    var entries: [Entry] {
        get throws(PostgresError) {
            guard toldPositions.count == toldUsers.count, toldAt.count == toldUsers.count else {
                throw PostgresError(
                    code: .decoding, column: "told_users",
                    reason: "has another number of elements than told_positions or told_at")
            }
            return toldUsers.indices.map { index in
                Entry(
                    user: toldUsers[index], position: toldPositions[index],
                    createdAt: StrataModel.Timestamp(microseconds: toldAt[index]))
            }
        }
    }
}

/// The columns of the changed counts of users: parallel arrays of users and their new counts. nil: none.
struct ChangedCounts: Decodable {
    private let numberUsers: [UserID]?
    private let numberUncounted: [Int64]?
    private let numberHidden: [Int64]?

    /// Returns the counts, which hold at `position`.
    func counts(at position: Position) -> [UserID: UserCounts] {
        let (uncounted, hidden) = (numberUncounted ?? [], numberHidden ?? [])
        var counts: [UserID: UserCounts] = [:]
        for (index, user) in (numberUsers ?? []).enumerated() where index < uncounted.count && index < hidden.count {
            counts[user] = UserCounts(excluded: uncounted[index], hidden: hidden[index], position: position)
        }
        return counts
    }
}

/// The columns of the users from whom a block hides a new message, with their new counts: parallel arrays.
struct HiddenFrom: Decodable {
    private let hiddenFrom: [UserID]
    private let numberUncounted: [Int64]
    private let numberHidden: [Int64]

    /// Returns the users and their counts.
    /// - Parameter position: the position of the change.
    func counts(at position: Position) throws(PostgresError) -> [(user: UserID, counts: UserCounts)] {
        guard numberUncounted.count == hiddenFrom.count, numberHidden.count == hiddenFrom.count else {
            throw PostgresError(
                code: .decoding, column: "hidden_from", reason: "has another number of elements than what belongs to it"
            )
        }
        return hiddenFrom.indices.map { index in
            let counts = UserCounts(
                excluded: numberUncounted[index], hidden: numberHidden[index], position: position)
            return (hiddenFrom[index], counts)
        }
    }
}

/// The columns of former participants in whose own logs a write appended an entry: parallel arrays of users, positions,
/// and times in microseconds since 1970. nil: none.
struct FormerParticipants: Decodable {
    private let formerUsers: [UserID]?
    private let formerPositions: [Position]?
    private let formerTimes: [Int64]?

    /// Returns the notices for the gateways of these users.
    func notices(in app: AppID) -> [UserNotice] {
        zip(formerUsers ?? [], zip(formerPositions ?? [], formerTimes ?? []))
            .map { user, place in
                UserNotice(
                    appID: app, user: user,
                    content: .logged(place.0, at: StrataModel.Timestamp(microseconds: place.1)))
            }
    }
}
