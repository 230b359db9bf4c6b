// SPDX-License-Identifier: Apache-2.0

/// A reason why a receiver did not accept a request, in words for the app's owner.
enum ReceiverFault: Hashable, Sendable, CustomStringConvertible {
    /// A response with an unexpected status, and its reason phrase.
    case status(Int, String)
    /// A clause, for example "the receiver could not be reached".
    case clause(String)

    /// The reason alone, as shown in the list of deliveries.
    var description: String {
        switch self {
        case .status(let status, let reason):
            "unexpected response status: \(status)\(reason.isEmpty ? "" : " \(reason)")"
        case .clause(let clause): clause
        }
    }

    /// The end of a sentence such as "Verification failed". The protocol defines the wording for statuses, without a
    /// full stop.
    var cause: String {
        switch self {
        case .status: "due to \(self)"
        case .clause(let clause): "because \(clause)\(clause.hasSuffix(".") ? "" : ".")"
        }
    }
}
