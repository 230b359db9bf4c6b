// SPDX-License-Identifier: Apache-2.0
import FanOut
import NIOCore
import NetKit
import StrataModel
import StrataWire
import Synchronization

/// The packets of one user's sockets on their way to an operator. About ``backlogBytes`` may wait for a slow reader;
/// later entries are dropped and counted. A single entry of any size is accepted if nothing waits before it.
final class PacketTrace: Sendable {
    /// An event on a socket.
    enum Event: Sendable {
        case opened, closed
        /// The text of a client's packet, which need not be JSON.
        case received(ByteBuffer)
        /// The JSON of a packet to the client.
        case sent(ByteBuffer)
        /// A number of entries that were dropped.
        case dropped(Int)
    }

    struct Entry: Sendable {
        let time: Timestamp
        let socket: UInt64
        let event: Event
    }

    /// The maximum number of waiting bytes.
    static let backlogBytes = 1 << 20

    /// The user whose sockets are traced.
    let key: UserKey
    private let mailbox = Mailbox<Entry>(limit: .init(items: .max, bytes: backlogBytes))
    private let wakeup = Wakeup()
    /// The number of dropped entries that have not been reported, by socket.
    private let dropped = Mutex<[UInt64: Int]>([:])

    init(of key: UserKey) { self.key = key }

    // MARK: Writing, from any thread

    func record(_ event: Event, of socket: UInt64) {
        let entry = Entry(time: .now(), socket: socket, event: event)
        switch mailbox.put(entry, cost: entry.cost) {
        case .wake: wakeup.signal()
        case .full: dropped.withLock { $0[socket, default: 0] += 1 }
        case .queued, .refused: break
        }
    }

    /// Ends the trace. Waiting entries can still be read.
    func end() {
        mailbox.drain()
        wakeup.signal()
    }

    // MARK: Reading, by one task

    /// Waits for entries. Each must be given back with ``written(_:)``.
    /// - Returns: nil after the end of the trace, or if the task is cancelled.
    func next() async -> [Entry]? {
        while !Task.isCancelled {
            let isOpen = mailbox.isOpen
            let entries = mailbox.take() + takeDropped()
            if !entries.isEmpty { return entries }
            guard isOpen else { return nil }
            await wakeup.wait()
        }
        return nil
    }

    func written(_ entry: Entry) { mailbox.release(entry.cost) }

    private func takeDropped() -> [Entry] {
        let counts = dropped.withLock { dropped in
            defer { dropped = [:] }
            return dropped
        }
        return counts.map { Entry(time: .now(), socket: $0, event: .dropped($1)) }
    }
}

extension PacketTrace.Entry {
    fileprivate var cost: Mailbox<PacketTrace.Entry>.Cost {
        let overhead = 128
        return switch event {
        case .received(let text), .sent(let text): .init(items: 1, bytes: text.readableBytes + overhead)
        case .opened, .closed: .init(items: 1, bytes: overhead)
        // It was never in the mailbox.
        case .dropped: .init()
        }
    }

    /// The entry as one line of JSON.
    var line: ByteBuffer {
        var line = ByteBuffer(string: #"{"at":""#)
        TimestampText(time).write(into: &line)
        line.writeString(#"","socket":"\#(String(socket, radix: 16))","#)
        switch event {
        case .opened: line.writeString(#""event":"opened"}"#)
        case .closed: line.writeString(#""event":"closed"}"#)
        case .dropped(let count): line.writeString(#""event":"dropped","count":\#(count)}"#)
        case .received(let text):
            line.writeString(#""direction":"in","packet":"#)
            line.writeImmutableBuffer(Self.onOneLine(text))
            line.writeString("}")
        case .sent(let packet):
            line.writeString(#""direction":"out","packet":"#)
            line.writeImmutableBuffer(packet)
            line.writeString("}")
        }
        line.writeString("\n")
        return line
    }

    /// Returns JSON without line breaks, which stand between its values only; a text that is not JSON as a JSON string.
    private static func onOneLine(_ text: ByteBuffer) -> ByteBuffer {
        guard (try? JSONReader.parsedBytes(of: text)) != nil else {
            var writer = JSONWriter()
            writer.string(String(buffer: text))
            return writer.buffer
        }
        let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
        return ByteBuffer(
            bytes: text.readableBytesView.lazy.map {
                $0 == lineFeed || $0 == carriageReturn ? UInt8(ascii: " ") : $0
            })
    }
}
