// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// The reason why a call failed, or why the server refused a change that a call had accepted.
///
/// A call that throws has changed nothing. Compare ``code``; ``message`` is for logs.
public struct StrataError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An error code. If LayerKit has the same code, the number is LayerKit's, so that apps written for LayerKit can
    /// keep their comparisons.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The domain of a code. Two domains of LayerKit share some numbers.
        public enum Domain: String, Sendable, Hashable { case client = "StrataError", querying = "StrataQueryingError" }

        /// The number in LayerKit's header files; numbers from 20000 on are Strata's own.
        public let number: Int
        /// The domain of the number.
        public let domain: Domain
        /// The name of the code's static member.
        public let name: String

        init(_ number: Int, _ name: String, domain: Domain = .client) {
            self.number = number
            self.name = name
            self.domain = domain
        }

        /// Compares number and domain, not the name.
        public static func == (a: Code, b: Code) -> Bool { a.number == b.number && a.domain == b.domain }
        /// Hashes number and domain.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(number)
            hasher.combine(domain)
        }
        /// The name and the number, for example `invalidKey (2000)`.
        public var description: String { "\(name) (\(number))" }

        /// The cause is unknown.
        public static let unknown = Code(1000, "unknown")
        /// The server did not accept the session.
        public static let unauthenticated = Code(1001, "unauthenticated")
        /// A message has no parts, too many parts, or was sent before.
        public static let invalidMessage = Code(1002, "invalidMessage")
        /// A conversation would have more participants than ``Limits/participants``.
        public static let tooManyParticipants = Code(1003, "tooManyParticipants")
        /// A part is larger than the server accepts.
        public static let dataLengthExceedsMaximum = Code(1004, "dataLengthExceedsMaximum")
        /// The message has not reached the server yet.
        public static let objectNotSent = Code(1006, "objectNotSent")
        /// The content of the part is already on this device.
        public static let contentAlreadyAvailable = Code(1007, "contentAlreadyAvailable")
        /// The content of the part is not on this device.
        public static let contentAlreadyPurged = Code(1008, "contentAlreadyPurged")
        /// The part is inline in its message; there is nothing to download or to purge.
        public static let contentInlined = Code(1009, "contentInlined")
        /// The conversation was already deleted.
        public static let conversationAlreadyDeleted = Code(1010, "conversationAlreadyDeleted")
        /// The user is not a participant of the conversation.
        public static let userNotAParticipant = Code(1011, "userNotAParticipant")
        /// These participants have a distinct conversation; ``StrataError/existing`` is its id.
        public static let distinctConversationExists = Code(1013, "distinctConversationExists")
        /// A user who was to be removed is not a participant.
        public static let participantNotAParticipant = Code(1014, "participantNotAParticipant")
        /// The distinct conversation of these participants was deleted on this device, and the server has not confirmed
        /// the deletion.
        public static let distinctDeletedConversationExists = Code(1015, "distinctDeletedConversationExists")
        /// The only other participant is a user whom this user has blocked.
        public static let participantsContainBlockedUser = Code(1016, "participantsContainBlockedUser")
        /// A metadata key is empty, too deep, or contains a character other than letters, digits, `-` and `_`.
        public static let invalidKey = Code(2000, "invalidKey")
        /// A metadata value is longer than ``Limits/metadataValueBytes``, or contains a NUL character.
        public static let invalidValue = Code(2001, "invalidValue")
        /// `execute()` was called on a query controller during a previous execution.
        public static let queryControllerExecutionFailure = Code(5000, "queryControllerExecutionFailure")
        /// The client is connected or connecting.
        public static let alreadyConnected = Code(6000, "alreadyConnected")
        /// The app id is malformed.
        public static let invalidAppID = Code(6001, "invalidAppID")
        /// The server was unreachable or did not answer in time, in all attempts.
        public static let networkRequestFailed = Code(6002, "networkRequestFailed")
        /// No connection was established within the time limit.
        public static let connectionTimeout = Code(6003, "connectionTimeout")
        /// The awaited object did not arrive in time.
        public static let asyncTimeout = Code(6004, "asyncTimeout")
        /// The id does not have the required type.
        public static let invalidIdentifier = Code(6005, "invalidIdentifier")
        /// The operation requires a connection.
        public static let notConnected = Code(6006, "notConnected")
        /// No user is signed in: call ``StrataClient/authenticate(identityToken:)`` first.
        public static let notAuthenticated = Code(7004, "notAuthenticated")
        /// Another user is signed in; see ``StrataError/userID``.
        public static let alreadyAuthenticated = Code(7005, "alreadyAuthenticated")
        /// The server did not accept the identity token.
        public static let invalidToken = Code(7006, "invalidToken")
        /// The local store could not be read or written.
        public static let devicePersistenceFailure = Code(9001, "devicePersistenceFailure")
        /// The server's answer is malformed.
        public static let synchronizationFailure = Code(9002, "synchronizationFailure")
        /// Messages can only be fetched while there is a connection.
        public static let manualSyncFailedNoConnection = Code(9004, "manualSyncFailedNoConnection")
        /// Messages of this conversation are already being fetched; see ``StrataError/progress``.
        public static let manualSyncAlreadyInProgress = Code(9005, "manualSyncAlreadyInProgress")
        /// All messages of this conversation are on this device.
        public static let manualSyncAlreadyFullySynced = Code(9006, "manualSyncAlreadyFullySynced")
        /// There is nothing to fetch, for example because all unread messages are on this device.
        public static let manualSyncNothingToSync = Code(9007, "manualSyncNothingToSync")
        /// The message was deleted.
        public static let messageDeleted = Code(11001, "messageDeleted")
        /// The conversation was deleted or never existed.
        public static let conversationDeleted = Code(11002, "conversationDeleted")
        /// The session does not exist.
        public static let invalidSession = Code(12001, "invalidSession")
        /// A session with this identifier exists, or the user has another session.
        public static let duplicateSession = Code(12002, "duplicateSession")
        /// The property cannot be used in a predicate.
        public static let unqueryableProperty = Code(12000, "unqueryableProperty", domain: .querying)
        /// The property does not support the operator, or the type of the value.
        public static let unsupportedPredicate = Code(12001, "unsupportedPredicate", domain: .querying)
        /// The property cannot be sorted by.
        public static let unsupportedSort = Code(12002, "unsupportedSort", domain: .querying)
        /// An argument is invalid; the message names it.
        public static let invalidArgument = Code(20000, "invalidArgument")
        /// Another client in this process uses the store.
        public static let storeInUse = Code(20001, "storeInUse")
        /// The app cancelled a content transfer, or ended the connection that the transfer needed.
        public static let transferCancelled = Code(20002, "transferCancelled")
        /// A newer version of the library wrote the store. The store is kept: update the app.
        public static let newerStore = Code(20003, "newerStore")
    }

    /// The error code.
    public let code: Code
    /// A description of the error for logs. It contains neither message text nor tokens.
    public let message: String
    /// The existing conversation, with ``Code/distinctConversationExists``.
    public let existing: ConversationID?
    /// With ``Code/alreadyAuthenticated``: the signed-in user. With ``Code/duplicateSession``: the user who has another
    /// session.
    public let userID: UserID?
    /// The progress of the running fetch, with ``Code/manualSyncAlreadyInProgress``.
    public let progress: TransferProgress?
    /// The errors that caused this one, such as network or database errors; often none. A stored error, such as
    /// ``Message/failure``, has none after it was read from the store.
    public let underlyingErrors: [any Error]

    init(
        _ code: Code, _ message: String, existing: ConversationID? = nil, userID: UserID? = nil,
        progress: TransferProgress? = nil,
        underlying: [any Error] = []
    ) {
        self.code = code
        self.message = message
        self.existing = existing
        self.userID = userID
        self.progress = progress
        underlyingErrors = underlying
    }

    /// The code and the message.
    public var description: String { "\(code): \(message)" }

    /// Compares everything except the underlying errors.
    public static func == (a: StrataError, b: StrataError) -> Bool {
        a.code == b.code && a.message == b.message && a.existing == b.existing && a.userID == b.userID
    }

    /// Hashes everything except the underlying errors.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
        hasher.combine(existing)
        hasher.combine(userID)
    }
}
