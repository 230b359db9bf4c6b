// SPDX-License-Identifier: Apache-2.0

/// The reason why a server or a program of this machine could not be run. The description is a sentence for the person
/// at the terminal; it never contains a password.
public struct LocalServerError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The class of a failure. More may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case missingProgram, spawnFailed, startFailed, timedOut, unusableDirectory, portInUse, commandFailed
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        /// A program is neither in `PATH` nor in Debian's directories.
        public static let missingProgram = Code(.missingProgram)
        /// The operating system refused to spawn the process.
        public static let spawnFailed = Code(.spawnFailed)
        /// The server ended before it was ready.
        public static let startFailed = Code(.startFailed)
        /// The server did not become ready, or did not end, in time.
        public static let timedOut = Code(.timedOut)
        /// A directory cannot be created, or the user the server runs as cannot reach it.
        public static let unusableDirectory = Code(.unusableDirectory)
        /// Another process listens on the port.
        public static let portInUse = Code(.portInUse)
        /// A helper program ended with a status other than zero.
        public static let commandFailed = Code(.commandFailed)

        /// The code's name.
        public var description: String {
            value.rawValue
        }
    }

    /// The class of the failure.
    public let code: Code
    /// A description of the failure, with the remedy if there is one.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    public var description: String {
        message
    }
}
