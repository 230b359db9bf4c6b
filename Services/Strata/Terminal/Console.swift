// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Where the command's words go: results and progress to standard output, complaints to standard error.
///
/// Lines are written whole, from whichever task, and at once also into a pipe.
final class Console: Sendable {
    static let standard = Console(
        // A terminal that has gone away is no reason to stop working.
        out: { try? FileHandle.standardOutput.write(contentsOf: Data($0.utf8)) },
        error: { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) })

    private let out: @Sendable (String) -> Void
    private let error: @Sendable (String) -> Void
    private let oneAtATime = Mutex(())

    /// A console that writes with closures; they get whole lines with their line feed.
    init(out: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void) {
        self.out = out
        self.error = error
    }

    /// Writes a line, or several.
    func say(_ text: String) {
        oneAtATime.withLock { _ in out(text + "\n") }
    }

    /// Says that a step is done.
    func done(_ text: String) {
        say("  ✓ \(text)")
    }

    /// Says that something happened that the operator should see, while everything goes on.
    func warn(_ text: String) {
        say("  ! \(text)")
    }

    /// Says on standard error what is no result of the command.
    func note(_ text: String) {
        oneAtATime.withLock { _ in error("strata: \(text)\n") }
    }

    /// Says on standard error why the command ends without having done its work.
    func fail(_ text: String) {
        note(text)
    }

    /// Writes a value as JSON, keys sorted.
    func say(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        say(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

extension Duration {
    /// Seconds with one decimal, for people: `1.3 s`.
    var brief: String {
        let tenths = (components.seconds * 10) + components.attoseconds / 100_000_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
