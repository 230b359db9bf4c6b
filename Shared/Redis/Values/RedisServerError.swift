// SPDX-License-Identifier: Apache-2.0

/// An error reply of the server.
///
/// Its text may quote arguments of the command, so descriptions show the ``kind`` only.
public struct RedisServerError: Error, Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The text as sent, for example `WRONGTYPE Operation against a key…`. May quote arguments: keep it out of logs.
    public let text: String

    /// Creates an error from the text of the reply, without the leading `-`.
    public init(text: String) { self.text = text }

    /// The first word: `ERR`, `MOVED`, `NOSCRIPT`, …, or the code a script chose.
    public var kind: Substring { text.prefix { $0 != " " } }

    /// The ``kind``.
    public var description: String { String(kind) }

    /// The ``kind``.
    public var debugDescription: String { description }
}
