// SPDX-License-Identifier: Apache-2.0
import DatabaseKit
import FoundationEssentials
import Logging
import Metrics
import Postgres
import StrataModel
import Synchronization

/// Gathers receipts that arrive within a short window, so that those of one conversation become one change with one
/// position.
///
/// Clients send one receipt for each message: a page of history causes a hundred receipts, and a message to twenty
/// users causes forty. Each caller still gets its own answer.
final class ReceiptGatherer: Sendable {
    private struct Receipt: Sendable {
        let app: AppID
        let user: UserID
        let message: MessageID
        let kind: ReceiptKind
        let answer: CheckedContinuation<Result<LogPosition, Failure>, Never>
    }

    private struct Place: Hashable {
        let app: AppID
        let conversation: ConversationID
    }

    /// The maximum number of receipts in one change.
    private static let batchLimit = 500
    /// The deadline of a receipt, counted from the end of the window.
    private static let patience = Duration.seconds(10)

    private let database: Database
    private let publisher: Publisher
    private let window: Duration
    private let audienceLimit: Int
    private let recordedApps: RecordedApps?
    private let waiting = Mutex<[Receipt]>([])
    /// The number of receipts asked for, with or without an effect.
    private let receiptCounter = Counter(label: "strata_conversations_receipts_total")
    /// The number of changes published for receipts.
    private let changeCounter = Counter(label: "strata_conversations_receipt_changes_total")

    /// - Parameters:
    ///   - window: the time for which the first receipt waits for others.
    ///   - audienceLimit: the maximum number of participants for which all are notified. Beyond it, only the sender and
    ///     the reader are.
    ///   - recordedApps: the apps whose receipts are recorded for webhooks. nil: none.
    init(
        database: Database, publisher: Publisher, window: Duration, audienceLimit: Int,
        recordedApps: RecordedApps? = nil
    ) {
        self.recordedApps = recordedApps
        self.database = database
        self.publisher = publisher
        self.window = window
        self.audienceLimit = audienceLimit
    }

    /// Returns after the receipt is committed. A receipt without effect has no position in a log.
    /// - Throws: `not_found`, `access_denied` to a former participant, or the failure of the database.
    func give(
        _ kind: ReceiptKind, by user: UserID, in app: AppID, to message: MessageID
    ) async throws(Failure) -> LogPosition {
        receiptCounter.increment()
        let result = await withCheckedContinuation { answer in
            let receipt = Receipt(app: app, user: user, message: message, kind: kind, answer: answer)
            let isFirst = waiting.withLock { waiting in
                waiting.append(receipt)
                return waiting.count == 1
            }
            if isFirst { Task { await self.gather() } }
        }
        return try result.get()
    }

    /// Waits for ``window``, writes all waiting receipts, and answers their callers.
    private func gather() async {
        if window > .zero { try? await Task.sleep(for: window) }
        let receipts = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let deadline = ContinuousClock.now + Self.patience
        do throws(Failure) {
            let located = try await locate(receipts, deadline: deadline)
            await withTaskGroup(of: Void.self) { group in
                for (place, receipts) in located.batches {
                    group.addTask { await self.writeBatch(receipts, at: place, deadline: deadline) }
                }
            }
            for receipt in located.unknown { receipt.answer.resume(returning: .failure(.notFound("message"))) }
        } catch {
            for receipt in receipts { receipt.answer.resume(returning: .failure(error)) }
        }
    }

    /// Receipts grouped by conversation, and those of messages that do not exist or are not visible to the user.
    private typealias Located = (batches: [(Place, [Receipt])], unknown: [Receipt])

    /// Finds the conversations of receipts' messages, and divides the receipts into batches.
    private func locate(_ receipts: [Receipt], deadline: ContinuousClock.Instant) async throws(Failure) -> Located {
        var conversations: [Int: ConversationID] = [:]
        for (app, numbers) in Dictionary(grouping: receipts.indices, by: { receipts[$0].app }) {
            let rows = try await database.run(
                LocateMessages(
                    app: app, users: numbers.map { receipts[$0].user.rawValue },
                    messages: numbers.map { receipts[$0].message.rawValue }),
                deadline: deadline)
            for row in rows {
                // The database counts from one.
                let index = row.number - 1
                guard numbers.indices.contains(index) else { continue }
                conversations[numbers[index]] = row.conversationID
            }
        }
        var located: Located = ([], [])
        var batches: [Place: [Receipt]] = [:]
        for (number, receipt) in receipts.enumerated() {
            guard let conversation = conversations[number] else {
                located.unknown.append(receipt)
                continue
            }
            let place = Place(app: receipt.app, conversation: conversation)
            batches[place, default: []].append(receipt)
            if let full = batches[place], full.count >= Self.batchLimit {
                located.batches.append((place, full))
                batches[place] = nil
            }
        }
        located.batches += batches.map { ($0.key, $0.value) }
        return located
    }

    /// Writes a batch of one conversation and answers each caller.
    private func writeBatch(_ receipts: [Receipt], at place: Place, deadline: ContinuousClock.Instant) async {
        let (outcomes, position): ([String], LogPosition)
        do throws(Failure) {
            (outcomes, position) = try await write(receipts, at: place, deadline: deadline)
        } catch {
            for receipt in receipts { receipt.answer.resume(returning: .failure(error)) }
            return
        }
        for (index, receipt) in receipts.enumerated() {
            let outcome = index < outcomes.count ? outcomes[index] : "not_found"
            let result: Result<LogPosition, Failure>
            do throws(Failure) {
                try Refusal.check(outcome, what: "message")
                result = .success(outcome == "ok" ? position : .empty)
            } catch {
                result = .failure(error)
            }
            receipt.answer.resume(returning: result)
        }
    }

    /// Writes receipts of one conversation and publishes the change, if any.
    /// - Returns: an outcome for each receipt, and the position of the change if any has an effect.
    private func write(
        _ receipts: [Receipt], at place: Place, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ([String], LogPosition) {
        let query = GiveGatheredReceipts(
            app: place.app, conversation: place.conversation, users: receipts.map(\.user.rawValue),
            messages: receipts.map(\.message.rawValue),
            statuses: receipts.map { $0.kind == .read ? 2 : 1 }, audienceLimit: Int64(audienceLimit))
        let rows =
            recordedApps?.mayHaveHooks(place.app) ?? false
            ? try await database.run(
                GiveRecordedReceipts(receipts: query), lockKey: place.conversation.lockKey, deadline: deadline)
            : try await database.run(query, lockKey: place.conversation.lockKey, deadline: deadline)
        do {
            guard let row = rows.first else { throw Failure.unexpected }
            guard let change = try row.change?.change(of: place.conversation, in: place.app) else {
                return (row.results, .empty)
            }
            publish(change)
            return (row.results, LogPosition(position: change.position))
        } catch {
            throw Failure(reading: error)
        }
    }

    private func publish(_ change: Change) {
        changeCounter.increment()
        publisher.publish([change])
    }
}
