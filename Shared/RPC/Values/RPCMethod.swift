// SPDX-License-Identifier: Apache-2.0

/// The number by which a caller names what it wants done.
///
/// The transport gives numbers no meaning: the module that defines the messages also defines the numbers, and never gives one a second meaning.
public struct RPCMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number as it travels.
    public let rawValue: UInt16

    /// Every number is a method; only the callee knows whether it has an answer for it.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The number in decimal.
    public var description: String { String(rawValue) }
}
