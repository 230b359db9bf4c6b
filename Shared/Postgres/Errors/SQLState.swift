// SPDX-License-Identifier: Apache-2.0

enum SQLState {
    static let deadlockDetected = "40P01"
    static let serializationFailure = "40001"
    static let queryCancelled = "57014"
    static let lockNotAvailable = "55P03"
    static let readOnlyTransaction = "25006"
    static let featureNotSupported = "0A000"
    static let invalidStatementName = "26000"
    static let invalidFunctionDefinition = "42P13"
    static let ambiguousFunction = "42725"
    static let dependentObjectsStillExist = "2BP01"

    /// Returns true if the transaction lost a race and a retry may succeed.
    static func isRace(_ state: String?) -> Bool {
        state == deadlockDetected || state == serializationFailure
    }

    /// Returns true if a prepared statement is unusable and must be prepared again. Either its result type changed with
    /// the schema, which the server reports as "not supported", or it was deallocated.
    static func isStalePlan(_ state: String?) -> Bool {
        state == featureNotSupported || state == invalidStatementName
    }

    /// Returns true if the unchanged statement may succeed later.
    static func isTransient(_ state: String) -> Bool {
        switch state {
        case deadlockDetected, serializationFailure, queryCancelled, lockNotAvailable, readOnlyTransaction: true
        default: state.hasPrefix("08") || state.hasPrefix("53") || state.hasPrefix("57P")
        }
    }
}
