// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// The output of a command: results and progress on standard output, notes and errors on standard error.
///
/// Lines from concurrent tasks are written whole, and without buffering, even into a pipe.
final class Console: Sendable {
    static let standard = Console(
        // A closed terminal must not stop the command.
        out: { try? FileHandle.standardOutput.write(contentsOf: Data($0.utf8)) },
        error: { try? FileHandle.standardError.write(contentsOf: Data($0.utf8)) })

    private let out: @Sendable (String) -> Void
    private let error: @Sendable (String) -> Void
    private let oneAtATime = Mutex(())

    /// Creates a console from closures that receive whole lines with their line feed.
    init(out: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void) {
        self.out = out
        self.error = error
    }

    func say(_ text: String) {
        oneAtATime.withLock { _ in out(text + "\n") }
    }

    func done(_ text: String) {
        say("  ✓ \(text)")
    }

    /// Warns the operator of an event that does not stop the command.
    func warn(_ text: String) {
        say("  ! \(text)")
    }

    /// Writes a text that is no result of the command to standard error.
    func note(_ text: String) {
        oneAtATime.withLock { _ in error("strata: \(text)\n") }
    }

    /// Writes the reason of the command's failure to standard error.
    func fail(_ text: String) {
        note(text)
    }

    func say(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        say(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

extension Duration {
    /// The duration in seconds with one decimal, `1.3 s` for example.
    var brief: String {
        let tenths = (components.seconds * 10) + components.attoseconds / 100_000_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) s"
    }
}
