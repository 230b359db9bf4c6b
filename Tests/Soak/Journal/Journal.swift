// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A record of connections, requests and packets that helps to explain a failure: one line for each, with its time in
/// UTC.
///
/// The size is bounded. A full file is renamed to `<name>.old.log` and replaces the earlier file of that name.
final class Journal: Sendable {
    private struct State {
        var handle: FileHandle
        var buffer = Data()
        var bytes = 0
    }

    private let path: String
    private let oldPath: String
    private let limit: Int
    private let state: Mutex<State>

    /// The number of bytes that are written together.
    private static let chunk = 32 << 10

    /// - Parameters:
    ///   - limit: The maximum size of one file in bytes.
    /// - Throws: An error if the file cannot be created.
    init(directory: String, name: String, limit: Int = 128 << 20) throws {
        path = "\(directory)/\(name).log"
        oldPath = "\(directory)/\(name).old.log"
        self.limit = limit
        state = Mutex(State(handle: try Self.makeFile(path)))
    }

    func write(_ line: String) {
        let data = Data("\(Self.time(Date().timeIntervalSince1970)) \(line)\n".utf8)
        state.withLock { state in
            state.buffer += data
            if state.buffer.count >= Self.chunk { flush(&state) }
        }
    }

    /// Writes the buffered lines. If the disk is full, they are lost.
    func flush() { state.withLock { flush(&$0) } }

    private func flush(_ state: inout State) {
        try? state.handle.write(contentsOf: state.buffer)
        state.bytes += state.buffer.count
        state.buffer.removeAll(keepingCapacity: true)
        guard state.bytes >= limit else { return }
        rename(path, oldPath)
        guard let handle = try? Self.makeFile(path) else { return }
        try? state.handle.close()
        state.handle = handle
        state.bytes = 0
    }

    private static func makeFile(_ path: String) throws -> FileHandle {
        let url = URL(fileURLWithPath: path)
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }

    /// Returns the time of day, `22:41:03.123` for example.
    static func time(_ secondsSince1970: Double) -> String {
        let milliseconds = Int(secondsSince1970 * 1000) % 86_400_000
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let (hours, minutes, seconds) = (milliseconds / 3_600_000, milliseconds / 60_000 % 60, milliseconds / 1000 % 60)
        return "\(digits(hours, 2)):\(digits(minutes, 2)):\(digits(seconds, 2)).\(digits(milliseconds % 1000, 3))"
    }
}
