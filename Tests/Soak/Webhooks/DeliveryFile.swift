// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The file in which a receiver records deliveries: one JSON object a line, in the order in which they were accepted.
enum DeliveryFile {
    static func path(in directory: String) -> String { "\(directory)/deliveries.jsonl" }

    final class Writer: Sendable {
        private let handle: Mutex<FileHandle>

        /// Creates an empty file.
        init(directory: String) throws {
            let url = URL(fileURLWithPath: DeliveryFile.path(in: directory))
            try Data().write(to: url)
            handle = Mutex(try FileHandle(forWritingTo: url))
        }

        func append(_ delivery: HookDelivery) throws {
            let line = try JSONEncoder().encode(delivery) + Data("\n".utf8)
            try handle.withLock { try $0.write(contentsOf: line) }
        }
    }

    /// A reader of a file that grows.
    struct Reader {
        private let url: URL
        private var offset: UInt64 = 0
        private(set) var deliveries: [HookDelivery] = []

        /// The number of repeated deliveries of an event.
        var repetitions: Int { deliveries.count - Set(deliveries.map { [$0.hook, $0.id] }).count }

        init(directory: String) { url = URL(fileURLWithPath: DeliveryFile.path(in: directory)) }

        /// Reads the added lines.
        /// - Throws: An error if the file does not exist or a line is not a delivery.
        mutating func read() throws {
            let handle = try FileHandle(forReadingFrom: url)
            defer { try? handle.close() }
            try handle.seek(toOffset: offset)
            let data = try handle.readToEnd() ?? Data()
            guard let end = data.lastIndex(of: UInt8(ascii: "\n")) else { return }
            for line in data[...end].split(separator: UInt8(ascii: "\n")) {
                deliveries.append(try JSONDecoder().decode(HookDelivery.self, from: line))
            }
            offset += UInt64(end - data.startIndex + 1)
        }
    }
}
