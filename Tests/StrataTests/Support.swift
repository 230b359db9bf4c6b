// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization

/// Runs a test with its own directory, which servers that run as another user can enter.
func withTemporaryDirectory(_ body: (String) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "strata-unit-\(getpid())-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

/// A thread-safe collector for values from closures.
final class Collected<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func add(_ element: Element) {
        elements.withLock { $0.append(element) }
    }

    var all: [Element] {
        elements.withLock { $0 }
    }
}
