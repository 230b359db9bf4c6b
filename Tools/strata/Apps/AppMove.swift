// SPDX-License-Identifier: Apache-2.0

import DatabaseKit
import Foundation
import Postgres
import StrataModel

/// The move of an app to another database while it is used. The state of the move is in both databases, so that it can
/// be repeated from any machine after an interruption, or undone until the switch.
///
/// | State in the source | in the target | Next |
/// |---|---|---|
/// | `copying` | `arriving` | copy all rows, then those that have changed since, until few are left |
/// | `paused` | `arriving` | copy the last changes, wait until no process serves the app, switch |
/// | `paused` | none | the app lives in the target: note it in the source |
/// | `moved` | none | delete the rows of the source |
///
/// If both databases have the app without a state, the source was restored to a time before a move. Its copy is deleted
/// if the app has arrived in the target later.
struct AppMove: Sendable {
    /// A step that is complete.
    enum Step: String, CaseIterable, Sendable {
        case begun, copied, caughtUp, paused, drained, switched, cleaned
    }

    enum Progress: Sendable {
        /// The number of rows that the present step has copied or deleted so far.
        case rows(Int64)
        case complete(Step)
    }

    let app: UUID
    let source: AppStores.Member
    let target: AppStores.Member
    /// The time from the copy to the pause, in which every service reads that the target records the app's changes for
    /// its webhooks.
    var recording = RecordedApps.lifetime
    /// The time from the pause to the switch, in which the directories of all processes expire.
    var lease = AppDirectory.lifetime + .milliseconds(200)
    /// The time from the switch to the deletion of the source's rows, in which gateways close the app's sockets.
    var grace = Duration.seconds(45)
    /// Called with the progress. An error that it throws interrupts the move.
    var report: @Sendable (Progress) async throws -> Void = { _ in }

    /// The number of noted changes below which the app is paused.
    private static let fewChanges: Int64 = 500
    /// The number of rows in one copy, and about their size in bytes.
    private static let (mostRows, mostBytes): (Int64, Int64) = (1000, 4 << 20)
    /// The maximum difference of the databases' clocks. A replay begins by time, with a margin of 30 s.
    private static let clockSkew = Duration.seconds(2)
    /// The timeout of statements that copy rows.
    private static let patience = Duration.seconds(120)
    /// The timeout of statements for which others wait, and the number of attempts.
    private static let (shortPatience, attempts) = (Duration.seconds(2), 30)

    /// A connection to each of the databases.
    private struct Link {
        let source: PostgresPool
        let target: PostgresPool
    }

    /// Moves the app, or continues an interrupted move.
    /// - Throws: ``CommandFailure`` that says why the app cannot be moved.
    func run() async throws {
        try await withLink { link in
            try await lock(link)
            let (from, to) = (try await state(link.source), try await state(link.target))
            if to.livesHere {
                try await accept(link, from: from, to: to)
            } else {
                try await begin(link, from: from, to: to)
                try await copy(link)
                let copiedAt = ContinuousClock.now
                try await catchUp(link, below: Self.fewChanges)
                try await Task.sleep(until: copiedAt + recording, clock: .continuous)
                try await catchUp(link, below: Self.fewChanges)
                try await report(.complete(.caughtUp))
                try await lock(link)
                try await setState("paused")
                let pausedAt = ContinuousClock.now
                try await report(.complete(.paused))
                try await drain(link)
                try await Task.sleep(until: pausedAt + lease, clock: .continuous)
                try await lock(link)
                try await receive(link)
            }
            if from.state != "moved" { try await setState("moved") }
            try await report(.complete(.switched))
            try await clean(link)
            try await report(.complete(.cleaned))
        }
    }

    /// Checks that the app has come to the target, where it lives. A restored source leaves it.
    private func accept(_ link: Link, from: MoveState, to: MoveState) async throws {
        if from.state == "paused" || from.state == "moved" { return }
        let (came, stays) = (to.arrivedAt?.microseconds ?? .min, from.arrivedAt?.microseconds ?? .min)
        let wasCopied = from.state == "copying" && from.other == target.name.description
        guard from.livesHere || wasCopied, came > stays else {
            throw CommandFailure(.usage, "\(source.name) and \(target.name) both have an app with this id.")
        }
        let rows = try await link.source.query(
            LeaveApp(app: app, target: target.name.description), deadline: .now + Self.patience)
        guard rows.first?.isLeft == true else {
            throw CommandFailure(.temporary, "Another command has changed the app's state. Repeat this one.")
        }
    }

    /// Undoes a move that has not come to the switch.
    /// - Throws: ``CommandFailure`` if the app already lives in the target.
    func undo() async throws {
        try await withLink { link in
            try await lock(link)
            let (from, to) = (try await state(link.source), try await state(link.target))
            if let other = from.other, other != target.name.description {
                throw CommandFailure(.usage, "The app is being moved to \(other), not to \(target.name).")
            }
            let refused = try await link.target.query(RefuseApp(app: app), deadline: .now + Self.patience)
            guard refused.first?.isRefused == true, from.state != "moved" else {
                throw CommandFailure(
                    .usage, "The app lives in \(target.name). Move it back instead: \(OwnCommand.name) app move.")
            }
            // The app is served again from now on.
            _ = try await link.source.query(EndMove(app: app), deadline: .now + Self.patience)
            try await stopTracking(in: source, link.source)
            if to.state == "arriving" { try await discard(in: target, link.target) }
        }
    }

    private func withLink(_ body: (Link) async throws -> Void) async throws {
        try await source.store.withConnection(patience: Self.patience) { from in
            try await target.store.withConnection(patience: Self.patience) { to in
                try await body(Link(source: from, target: to))
            }
        }
    }

    /// Excludes other commands until the connection ends. A new connection has to lock again.
    private func lock(_ link: Link) async throws {
        let rows = try await link.source.query(LockMove(app: app), deadline: .now + Self.patience)
        guard rows.first?.isLocked == true else {
            throw CommandFailure(.temporary, "Another command is moving this app.")
        }
    }

    private func state(_ database: PostgresPool) async throws -> MoveState {
        let rows = try await database.query(ReadMoveState(app: app), deadline: .now + Self.patience)
        guard let row = rows.first else { throw CommandFailure(.software, "The state of the move cannot be read.") }
        return row
    }

    // MARK: Begin

    private func begin(_ link: Link, from: MoveState, to: MoveState) async throws {
        // Remains of a move that was undone, or of an earlier stay of the app.
        if to.state == "arriving", from.state == nil { try await discard(in: target, link.target) }
        if to.state == "moved", to.hasApp { try await discard(in: target, link.target) }
        try await checkAgreement(link)
        let begun = try await briefly(in: source, BeginMove(app: app, target: target.name.description))
        guard begun.first?.isBegun == true else {
            throw CommandFailure(
                .usage,
                from.other.map { "The app is being moved to \($0). Finish that move, or undo it." }
                    ?? "The app is being deleted, or does not live in \(source.name).")
        }
        let facts = try await facts(link.source)
        let expected = try await link.target.query(
            ExpectApp(app: app, source: source.name.description, epoch: facts.epoch), deadline: .now + Self.patience)
        guard expected.first?.isExpected == true else {
            throw CommandFailure(.usage, "\(target.name) has an app with this id.")
        }
        try await startTracking(in: target, link.target)
        try await startTracking(in: source, link.source)
        _ = try await link.source.query(NoteMoveParts(app: app), deadline: .now + Self.patience)
        try await report(.complete(.begun))
    }

    /// Checks that the databases have the same tables and nearly the same time.
    private func checkAgreement(_ link: Link) async throws {
        let shapes = (
            try await link.source.query(ReadMoveShape(), deadline: .now + Self.patience).first?.shape,
            try await link.target.query(ReadMoveShape(), deadline: .now + Self.patience).first?.shape
        )
        guard let shape = shapes.0, shape == shapes.1 else {
            throw CommandFailure(
                .configuration, "The databases have different tables. First run: \(OwnCommand.name) migrate")
        }
        let (before, own, after) = (
            try await clock(link.source), try await clock(link.target), try await clock(link.source)
        )
        guard own > before - Self.clockSkew, own < after + Self.clockSkew else {
            throw CommandFailure(
                .configuration,
                "The clocks of the databases differ by more than \(Self.clockSkew.components.seconds) s. Correct them.")
        }
    }

    /// Returns the time of a database, since 1970.
    private func clock(_ database: PostgresPool) async throws -> Duration {
        .microseconds(try await facts(database).clock.microseconds)
    }

    private func facts(_ database: PostgresPool) async throws -> MoveFacts {
        let rows = try await database.query(ReadMoveFacts(app: app), deadline: .now + Self.patience)
        guard let row = rows.first else { throw CommandFailure(.software, "The epoch cannot be read.") }
        return row
    }

    // MARK: Copy

    private func copy(_ link: Link) async throws {
        var rows: Int64 = 0
        for part in try await link.source.query(ListMoveParts(app: app), deadline: .now + Self.patience) {
            var isComplete = false
            while !isComplete {
                let pages = try await link.source.query(
                    ExportPart(app: app, relation: part.relation, limit: Self.mostRows, bytes: Self.mostBytes),
                    deadline: .now + Self.patience)
                guard let page = pages.first else { break }
                if let root = page.root, page.rows != "[]" {
                    _ = try await link.target.query(
                        ImportRows(app: app, root: root, keys: nil, rows: page.rows), deadline: .now + Self.patience)
                }
                _ = try await link.source.query(
                    MovePartCopied(app: app, relation: part.relation, next: page.nextRow, file: page.file),
                    deadline: .now + Self.patience)
                rows += page.count
                isComplete = page.nextRow == nil
                try await report(.rows(rows))
            }
        }
        try await report(.complete(.copied))
    }

    /// Copies changed rows until fewer than `few` changes are left.
    private func catchUp(_ link: Link, below few: Int64) async throws {
        var (rows, left): (Int64, Int64) = (0, .max)
        while left >= few {
            let changes = try await link.source.query(
                ExportChanges(app: app, limit: Self.mostRows), deadline: .now + Self.patience)
            for change in changes {
                _ = try await link.target.query(
                    ImportRows(app: app, root: change.root, keys: change.keys, rows: change.rows),
                    deadline: .now + Self.patience)
                rows += Int64(change.numbers.count)
            }
            let copied = try await link.source.query(
                ChangesCopied(app: app, numbers: changes.flatMap(\.numbers), most: few), deadline: .now + Self.patience)
            left = copied.first?.left ?? 0
            try await report(.rows(rows))
        }
    }

    /// Copies the last changes of the paused app, and the nonces that sign-ins have used.
    private func drain(_ link: Link) async throws {
        try await catchUp(link, below: 1)
        var after: [UInt8]? = []
        while let digest = after {
            let page = try await link.source.query(
                ExportNonces(after: digest, limit: 5000), deadline: .now + Self.patience)
            after = page.first?.last
            if let rows = page.first?.rows, rows != "[]" {
                _ = try await link.target.query(
                    ImportRows(app: app, root: "conversations.used_nonce", keys: nil, rows: rows),
                    deadline: .now + Self.patience)
            }
        }
        try await report(.complete(.drained))
    }

    private func receive(_ link: Link) async throws {
        let facts = try await facts(link.source)
        let received = try await link.target.query(
            ReceiveApp(app: app, facts: facts), deadline: .now + Self.patience)
        guard received.first?.isReceived == true else {
            throw CommandFailure(
                .unavailable,
                """
                The history of a database changed during the move, so the copy is of no use. The app is paused. Let it \
                go on with --undo, and begin anew.
                """)
        }
    }

    // MARK: End

    /// Deletes the app's rows from the source.
    private func clean(_ link: Link) async throws {
        let state = try await state(link.source)
        guard state.state == "moved" else { return }
        let rest = grace - .seconds(state.seconds ?? 0)
        if rest > .zero { try await Task.sleep(for: rest) }
        try await discard(in: source, link.source)
        try await stopTracking(in: target, link.target)
    }

    /// Deletes the app's rows from a database in which it does not live.
    private func discard(in member: AppStores.Member, _ database: PostgresPool) async throws {
        var rows: Int64 = 0
        // Rows go before those through which they are found.
        for table in try await tables(database).reversed() {
            var block: Int64? = 0
            while let next = block {
                let cleaned = try await database.query(
                    CleanMove(app: app, relation: table.relation, key: table.key, block: next),
                    deadline: .now + Self.patience)
                rows += cleaned.first?.removed ?? 0
                block = cleaned.first?.nextBlock
                try await report(.rows(rows))
            }
        }
        try await stopTracking(in: member, database)
        _ = try await database.query(EndMove(app: app), deadline: .now + Self.patience)
    }

    // MARK: Statements for which others wait

    /// Changes the state of the source, when no write of the app is under way.
    private func setState(_ state: String) async throws {
        try await briefly(in: source, SetMoveState(app: app, state: state))
    }

    private func startTracking(in member: AppStores.Member, _ database: PostgresPool) async throws {
        for table in try await roots(database) {
            try await briefly(in: member, BeginTracking(app: app, table: table.root, key: table.key))
        }
    }

    private func stopTracking(in member: AppStores.Member, _ database: PostgresPool) async throws {
        for table in try await roots(database) {
            try await briefly(in: member, EndTracking(app: app, table: table.root))
        }
    }

    private func tables(_ database: PostgresPool) async throws -> [MoveTable] {
        try await database.query(ListMoveTables(), deadline: .now + Self.patience)
    }

    /// Returns the tables in order, without partitions.
    private func roots(_ database: PostgresPool) async throws -> [MoveTable] {
        var known: Set<String> = []
        return try await tables(database).filter { known.insert($0.root).inserted }
    }

    /// Runs a statement that waits for locks. Others wait for it meanwhile, so it gives up soon, and is repeated.
    @discardableResult
    private func briefly<Query: PostgresQuery>(
        in member: AppStores.Member, _ query: Query
    ) async throws -> [Query.Row] {
        var attempt = 1
        while true {
            do {
                return try await member.store.withConnection(patience: Self.shortPatience) { connection in
                    try await connection.query(query, deadline: .now + Self.shortPatience * 2)
                }
            } catch let error as PostgresError where error.isRetryable && attempt < Self.attempts {
                attempt += 1
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}
