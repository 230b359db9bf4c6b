// SPDX-License-Identifier: Apache-2.0

/// An error reply of the server.
///
/// Its text may quote arguments of the command. Descriptions therefore contain only the ``kind``.
public struct RedisServerError: Error, Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The text of the reply, for example `WRONGTYPE Operation against a key…`. It may quote arguments, so keep it out
    /// of logs.
    public let text: String

    /// Creates an error from the text of the reply, without the leading `-`.
    public init(text: String) { self.text = text }

    /// The first word: `ERR`, `MOVED`, `NOSCRIPT`, …, or the code chosen by a script.
    public var kind: Substring { text.prefix { $0 != " " } }

    /// The ``kind``.
    public var description: String { String(kind) }

    /// The ``kind``.
    public var debugDescription: String { description }
}
