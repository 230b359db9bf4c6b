// SPDX-License-Identifier: Apache-2.0

/// A value that must not be shown. It reads `<redacted>` wherever it is printed, logged, dumped or interpolated.
public struct Secret<Value: Sendable>: Sendable {
    /// The value itself. Read it only where it is used.
    public let value: Value

    /// Wraps a value.
    public init(_ value: Value) {
        self.value = value
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `<redacted>`.
    public var description: String { "<redacted>" }
    /// `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Equatable where Value: Equatable {}
