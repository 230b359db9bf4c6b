// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import SeededRandom
import TestSupport

/// Damages the files of a store, and determines which changes become unreadable.
enum StoreDamage: Sendable {
    case overwritten
    case truncated

    static let block = 4096

    /// Damages a store.
    /// - Returns: the unsent changes that have become unreadable, as stored records.
    func inject(below folder: String, _ generator: inout SeededGenerator) throws -> [String] {
        guard let store = try Self.store(below: folder) else { return [] }
        let before = try Self.unsent(in: store)
        // Most of a young store is in its log. Move it into the file, as in a store that has been in use for some time.
        if generator.chance(70) { try Self.moveLog(of: store) }
        let files = [store, store + "-wal"].filter { Self.size($0) > 0 }
        guard !files.isEmpty else { return [] }
        try damage(generator.pick(files), &generator)
        let after = Set(try Self.unsent(in: store))
        return before.filter { !after.contains($0) }
    }

    private func damage(_ file: String, _ generator: inout SeededGenerator) throws {
        let handle = try FileHandle(forUpdating: URL(filePath: file))
        defer { try? handle.close() }
        let blocks = max(1, Self.size(file) / Self.block)
        switch self {
        case .truncated: try handle.truncate(atOffset: UInt64(generator.int(0...Self.size(file) - 1)))
        case .overwritten:
            for _ in 0..<generator.int(1...max(1, blocks / 4)) {
                try handle.seek(toOffset: UInt64(Self.block * generator.int(0...blocks - 1)))
                let words = (0..<Self.block / 8).map { _ in generator.next() }
                try handle.write(contentsOf: words.withUnsafeBytes { Data($0) })
            }
        }
    }

    private static func size(_ path: String) -> Int {
        ((try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber)?.intValue ?? 0
    }

    private static func store(below folder: String) throws -> String? {
        try FileManager.default.subpathsOfDirectory(atPath: folder).first { $0.hasSuffix(".sqlite") }
            .map { "\(folder)/\($0)" }
    }

    private static func moveLog(of store: String) throws {
        let queue = try DatabaseQueue(path: store)
        _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        try queue.close()
    }

    /// Returns the queued changes in a copy of the store. Each is looked up by its number, independently of the
    /// library.
    private static func unsent(in store: String) throws -> [String] {
        let copy = try TestDirectory.make("copy") + "/store"
        for suffix in ["", "-wal"] where size(store + suffix) > 0 {
            try FileManager.default.copyItem(atPath: store + suffix, toPath: copy + suffix)
        }
        guard let queue = try? DatabaseQueue(path: copy) else { return [] }
        defer { try? queue.close() }
        var found: [String] = []
        try? queue.read { db in
            let last =
                (try? DatabaseValue.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'operation'"))
                ?? nil
            for number in 0...min(max(last.flatMap { Int.fromDatabaseValue($0) } ?? 0, 0), 10_000) {
                let record = try? DatabaseValue.fetchOne(
                    db, sql: "SELECT record FROM operation WHERE sequence = ?", arguments: [number])
                if let record, let text = String.fromDatabaseValue(record) { found.append(text) }
            }
        }
        return found
    }
}
