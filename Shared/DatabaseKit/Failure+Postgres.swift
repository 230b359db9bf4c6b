// SPDX-License-Identifier: Apache-2.0

public import Postgres
public import StrataModel

extension Failure {
    /// A fault of ours, of which a client is told nothing more.
    public static let unexpected = Failure(.internalServerError, "Something went wrong on our side.")

    /// What a client is told when the database did not do what it was asked; nil if that is a fault of ours. Carries nothing of the server's message.
    ///
    /// What may succeed when it is tried again is `service_unavailable`, also a write whose fate is unknown: creates carry ids and can be repeated, and of the
    /// rest the client decides.
    public init?(expected error: PostgresError) {
        switch error.code {
        case .deadlineExceeded, .cancelled, .connectionUnavailable, .queueFull, .closed, .fateUnknown: self = .unavailable
        case .invalidParameter: self = Failure(.invalidRequest, "The request holds a character that cannot be stored.")
        case _ where error.isRetryable: self = .unavailable
        default: return nil
        }
    }

    /// The same, and ``unexpected`` for a fault of ours.
    public init(postgres error: PostgresError) { self = Failure(expected: error) ?? .unexpected }

    /// The same for a block that reads rows: what is no `PostgresError` is a failure already, or unexpected.
    public init(reading error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as PostgresError: self.init(postgres: error)
        default: self = .unexpected
        }
    }
}

extension PostgresError {
    /// What a handler throws: the failure that a client is told, or the error itself if it is a fault of ours, which the call router logs.
    public var refusal: any Error {
        if code == .cancelled { return CancellationError() }
        if let failure = Failure(expected: self) { return failure }
        return self
    }
}
