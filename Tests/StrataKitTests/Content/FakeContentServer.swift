// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

@testable import StrataKit

/// A content server with scripted behaviour.
final class FakeContentServer: ContentServer {
    /// A fault that replaces the success of a request.
    enum Fault: Sendable {
        case fails(RequestFailure)
        /// Ends the download or upload after this many bytes.
        case breaksOff(after: Int)
        case refuses
        case beyondEnd
        /// Sends all bytes although only a part was requested.
        case sendsAll
        case hangs
        /// Sends this many bytes in chunks of 7, waits until the task is cancelled, and records the call `broken off`.
        case hangsAfter(Int)
    }

    struct State {
        var contents: [ContentID: Data] = [:]
        /// The requests: `announce`, `upload`, `locate`, `download <url> <offset>`.
        var calls: [String] = []
        /// The faults of the next requests by kind, in order.
        var faults: [String: [Fault]] = [:]
        var announced: [UUID: ContentID] = [:]
        var isUploaded = true
    }

    static let busy = RequestFailure.transient(StrataError(.networkRequestFailed, "busy"), retryAfter: nil)

    let state = Mutex(State())
    private let (callStream, callContinuation) = AsyncStream.makeStream(of: String.self)

    var calls: [String] { state.withLock { $0.calls } }

    func add(_ data: Data) -> ContentID {
        let id = ContentID.random()
        state.withLock { $0.contents[id] = data }
        return id
    }

    func addFaults(_ kind: String, _ faults: Fault...) { state.withLock { $0.faults[kind, default: []] += faults } }

    func waitForCall(_ expected: String) async {
        for await call in callStream where call == expected { return }
    }

    private func called(_ kind: String, _ details: String = "") throws -> Fault? {
        let fault = state.withLock { state -> Fault? in
            state.calls.append(kind + details)
            return state.faults[kind]?.isEmpty == false ? state.faults[kind]?.removeFirst() : nil
        }
        callContinuation.yield(kind + details)
        if case .fails(let failure) = fault { throw failure }
        return fault
    }

    private func hang() async throws -> Never {
        while true { try await Task.sleep(for: .seconds(3600)) }
    }

    func announce(mimeType: String, size: Int, name: UUID) async throws -> ContentLocation {
        _ = try called("announce")
        let id = state.withLock { state in
            let id = state.announced[name] ?? .random()
            state.announced[name] = id
            return id
        }
        return ContentLocation(id: id, size: size, uploadURL: "up:\(id)", downloadURL: nil, expires: nil)
    }

    func upload(
        _ file: URL, size: Int, mimeType: String, to url: String, sent: @escaping @Sendable (Int) -> Void
    ) async throws {
        let fault = try called("upload")
        if case .hangs = fault { try await hang() }
        let data = try Data(contentsOf: file)
        sent(0)
        if case .breaksOff(let count) = fault {
            sent(count)
            throw Self.busy
        }
        sent(data.count)
        state.withLock { state in
            for id in state.announced.values where url == "up:\(id)" { state.contents[id] = data }
        }
    }

    func locate(_ id: ContentID) async throws -> ContentLocation {
        _ = try called("locate")
        let (data, isUploaded) = state.withLock { ($0.contents[id], $0.isUploaded) }
        return ContentLocation(
            id: id, size: data?.count ?? 0, uploadURL: nil, downloadURL: isUploaded ? "fresh:\(id)" : nil, expires: nil)
    }

    func download(
        _ url: String, from offset: Int, receive: @escaping @Sendable (Int, Data) async throws -> Void
    ) async throws -> DownloadEnd {
        let scheme = url.prefix { $0 != ":" }
        let fault = try called("download", " \(scheme) \(offset)")
        let data = state.withLock { state in state.contents.first { url.hasSuffix("\($0.key)") }?.value } ?? Data()
        var rest = data.dropFirst(offset)
        var place = offset
        var isBroken = false
        switch fault {
        case .refuses: return .refused
        case .beyondEnd: return .beyondEnd
        case .hangs: try await hang()
        case .sendsAll: (rest, place) = (data[...], 0)
        case .breaksOff(let count):
            rest = rest.prefix(count)
            isBroken = true
        case .hangsAfter(let count): rest = rest.prefix(count / 7 * 7)
        case .fails, nil: break
        }
        while !rest.isEmpty {
            let piece = rest.prefix(7)
            try await receive(place, Data(piece))
            place += piece.count
            rest = rest.dropFirst(piece.count)
        }
        if case .hangsAfter = fault {
            defer { callContinuation.yield("broken off") }
            try await hang()
        }
        if isBroken { throw Self.busy }
        return .complete
    }
}
