// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestTiers
import Testing

@testable import StrataKit

@Suite("the visible page of a result")
struct ResultPageTests {
    /// Creates a store with messages 1 to 9 of one conversation at the positions 10, 20, … 90. Messages in `gone` are
    /// omitted; `more` adds messages at other positions.
    private func store(gone: Set<Int> = [], more: [Int: Int64] = [:]) throws -> QueryStore {
        let store = try QueryStore(isEmpty: true)
        try store.addConversation(1, ["me"])
        for number in 1...9 where !gone.contains(number) {
            try store.addMessage(number, in: 1, position: Int64(number) * 10, from: "ana")
        }
        for (number, position) in more { try store.addMessage(number, in: 1, position: position, from: "ana") }
        return store
    }

    private func page(
        _ store: QueryStore, window: Int?, shown: [Int] = [], limit: Int? = nil, offset: Int = 0
    ) throws -> (labels: String, total: Int, window: Int?) {
        let query = Query<Message>(
            where: { $0.conversationID == Example.conversation(1) }, sortBy: [.ascending(\.position)], limit: limit,
            offset: offset)
        let page = try store.read {
            try $0.page(query, window: ResultWindow(paginationWindow: window), shown: shown.map { Example.message($0) })
        }
        return (page.objects.map(\.object.label).joined(separator: " "), page.totalCount, page.window.paginationWindow)
    }

    @Test(
        "a page has the first, the last, or all objects, and the total", .proves("QC-6"),
        arguments: [
            (nil, "1 2 3 4 5 6 7 8 9"), (2, "1 2"), (-2, "8 9"), (50, "1 2 3 4 5 6 7 8 9"), (-50, "1 2 3 4 5 6 7 8 9"),
        ] as [(Int?, String)])
    func ends(window: Int?, expected: String) throws {
        #expect(try page(store(), window: window) == (expected, 9, window))
    }

    @Test(
        "the limit and offset of the query restrict the window", .proves("QC-6"),
        arguments: [(2, "3 4"), (-2, "5 6"), (-9, "3 4 5 6")])
    func limited(window: Int, expected: String) throws {
        #expect(try page(store(), window: window, limit: 4, offset: 2) == (expected, 4, window))
    }

    @Test(
        "objects inserted between visible ones widen the window, at both ends, with and without a limit",
        .proves("QC-6"))
    func growth() throws {
        #expect(try page(store(more: [20: 15]), window: 3, shown: [1, 2, 3]) == ("1 20 2 3", 10, 4))
        #expect(try page(store(more: [20: 85, 21: 99]), window: -2, shown: [8, 9]) == ("8 20 9 21", 11, -4))
        #expect(try page(store(more: [20: 75]), window: -2, shown: [8, 9]) == ("8 9", 10, -2))
        #expect(try page(store(more: [20: 35]), window: -2, shown: [3, 4], limit: 5) == ("3 20 4", 5, -3))
    }

    @Test("deleted objects are replaced by others")
    func deletion() throws {
        #expect(try page(store(gone: [2]), window: 3, shown: [1, 2, 3]) == ("1 3 4", 8, 3))
        #expect(try page(store(gone: [1, 2, 3]), window: 3, shown: [1, 2, 3]) == ("4 5 6", 6, 3))
        #expect(try page(store(gone: [9]), window: -3, shown: [7, 8, 9]) == ("6 7 8", 8, -3))
    }
}
