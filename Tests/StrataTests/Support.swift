// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import Testing

/// Runs a test with a directory of its own, which servers running as another user can enter.
func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "strata-unit-\(getpid())-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// Waits for something outside this process, which cannot tell us: asks every few milliseconds, and gives up only when it is hopeless.
func until(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool) async throws {
    for _ in 0..<3000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("what was waited for did not happen", sourceLocation: sourceLocation)
    throw CancellationError()
}

/// What closures have handed over.
final class Collected<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func add(_ element: Element) {
        elements.withLock { $0.append(element) }
    }

    var all: [Element] {
        elements.withLock { $0 }
    }
}
