// SPDX-License-Identifier: Apache-2.0

/// The number of a method on the wire.
///
/// The transport assigns no meaning to numbers. The module that defines the messages also defines the numbers, and
/// never reuses one.
public struct RPCMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public let rawValue: UInt16

    /// Creates a method from any number. Only the callee knows whether the method exists.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The number in decimal digits.
    public var description: String { String(rawValue) }
}
