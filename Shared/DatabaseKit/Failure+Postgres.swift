// SPDX-License-Identifier: Apache-2.0

public import Postgres
public import StrataModel

extension Failure {
    /// The failure for an internal error. It tells the client no details.
    public static let unexpected = Failure(.internalServerError, "An internal error occurred.")

    /// Creates the failure that a client receives for a database error. nil if the error is an internal one. The
    /// failure contains nothing of the server's message.
    ///
    /// An error that a retry may overcome becomes `service_unavailable`. This includes a write whose outcome is
    /// unknown: creates carry ids and can be retried; for other writes, the client decides.
    public init?(expected error: PostgresError) {
        switch error.code {
        case .deadlineExceeded, .cancelled, .connectionUnavailable, .queueFull, .closed, .fateUnknown:
            self = .unavailable
        case .invalidParameter:
            self = Failure(.invalidRequest, "The request contains a character that cannot be stored.")
        case _ where error.isRetryable: self = .unavailable
        default: return nil
        }
    }

    /// Creates the failure for a database error, and ``unexpected`` if the error is an internal one.
    public init(postgres error: PostgresError) { self = Failure(expected: error) ?? .unexpected }

    /// Creates the failure for an error from a block that reads rows. A ``StrataModel/Failure`` stays as it is, a
    /// ``Postgres/PostgresError`` is converted, and any other error becomes ``unexpected``.
    public init(reading error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as PostgresError: self.init(postgres: error)
        default: self = .unexpected
        }
    }
}

extension PostgresError {
    /// The error that a handler throws: the failure for the client, or the error itself if it is an internal one, which
    /// the call router logs.
    public var refusal: any Error {
        if code == .cancelled { return CancellationError() }
        if let failure = Failure(expected: self) { return failure }
        return self
    }
}
