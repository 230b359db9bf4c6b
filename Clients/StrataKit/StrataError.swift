// SPDX-License-Identifier: Apache-2.0
public import StrataModel

/// Why a call of StrataKit did nothing, or why a change that it had accepted was refused later.
///
/// A call that throws has changed nothing. Compare ``code``; ``message`` is for logs.
public struct StrataError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong. Codes have the numbers of LayerKit where LayerKit has one, so that an app that was written for it can keep its comparisons.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// Two domains of LayerKit use some numbers twice; the domain tells them apart.
        public enum Domain: String, Sendable, Hashable { case client = "StrataError", querying = "StrataQueryingError" }

        /// The number in LayerKit's header files; numbers from 20000 on are ours.
        public let number: Int
        /// Which numbers these are.
        public let domain: Domain
        /// The name of the code, as its static member is called.
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

        /// The cause is not known.
        public static let unknown = Code(1000, "unknown")
        /// The server did not accept the session.
        public static let unauthenticated = Code(1001, "unauthenticated")
        /// A message has no parts, too many parts, or was sent before.
        public static let invalidMessage = Code(1002, "invalidMessage")
        /// A conversation would have more participants than ``Limits/participants``.
        public static let tooManyParticipants = Code(1003, "tooManyParticipants")
        /// A part is larger than the server takes.
        public static let dataLengthExceedsMaximum = Code(1004, "dataLengthExceedsMaximum")
        /// The message has not reached the server yet.
        public static let objectNotSent = Code(1006, "objectNotSent")
        /// The content of the part is on this device already.
        public static let contentAlreadyAvailable = Code(1007, "contentAlreadyAvailable")
        /// The content of the part is not on this device.
        public static let contentAlreadyPurged = Code(1008, "contentAlreadyPurged")
        /// The content of the part is stored with the message; there is nothing to download or to purge.
        public static let contentInlined = Code(1009, "contentInlined")
        /// The conversation was deleted before.
        public static let conversationAlreadyDeleted = Code(1010, "conversationAlreadyDeleted")
        /// The user is not a participant of the conversation.
        public static let userNotAParticipant = Code(1011, "userNotAParticipant")
        /// These participants have a distinct conversation; ``StrataError/existing`` is its id.
        public static let distinctConversationExists = Code(1013, "distinctConversationExists")
        /// A user who was to be removed is not a participant.
        public static let participantNotAParticipant = Code(1014, "participantNotAParticipant")
        /// The distinct conversation of these participants was deleted on this device, and the server has not confirmed that yet.
        public static let distinctDeletedConversationExists = Code(1015, "distinctDeletedConversationExists")
        /// The only other participant is a user whom this user has blocked.
        public static let participantsContainBlockedUser = Code(1016, "participantsContainBlockedUser")
        /// A key of metadata is empty, too deep, or has a character other than letters, digits, `-` and `_`.
        public static let invalidKey = Code(2000, "invalidKey")
        /// A value of metadata is longer than ``Limits/metadataValueBytes``, or contains a NUL character.
        public static let invalidValue = Code(2001, "invalidValue")
        /// `execute()` was called on a query controller while it was executing.
        public static let queryControllerExecutionFailure = Code(5000, "queryControllerExecutionFailure")
        /// The client is connected, or is connecting.
        public static let alreadyConnected = Code(6000, "alreadyConnected")
        /// The app id is not one.
        public static let invalidAppID = Code(6001, "invalidAppID")
        /// The server could not be reached, or did not answer in time, as often as it was tried.
        public static let networkRequestFailed = Code(6002, "networkRequestFailed")
        /// No connection within the time allowed.
        public static let connectionTimeout = Code(6003, "connectionTimeout")
        /// What was waited for did not come in time.
        public static let asyncTimeout = Code(6004, "asyncTimeout")
        /// An id is not one of the kind that is needed.
        public static let invalidIdentifier = Code(6005, "invalidIdentifier")
        /// This needs a connection, and there is none.
        public static let notConnected = Code(6006, "notConnected")
        /// There is no user: call ``StrataClient/authenticate(identityToken:)`` first.
        public static let notAuthenticated = Code(7004, "notAuthenticated")
        /// Another user is signed in; ``StrataError/userID`` says which.
        public static let alreadyAuthenticated = Code(7005, "alreadyAuthenticated")
        /// The server did not accept the identity token.
        public static let invalidToken = Code(7006, "invalidToken")
        /// The local store could not be read or written.
        public static let devicePersistenceFailure = Code(9001, "devicePersistenceFailure")
        /// The server's answer could not be understood.
        public static let synchronizationFailure = Code(9002, "synchronizationFailure")
        /// Messages can only be fetched while there is a connection.
        public static let manualSyncFailedNoConnection = Code(9004, "manualSyncFailedNoConnection")
        /// Messages of this conversation are being fetched already; ``StrataError/progress`` says how far.
        public static let manualSyncAlreadyInProgress = Code(9005, "manualSyncAlreadyInProgress")
        /// All messages of this conversation are on this device.
        public static let manualSyncAlreadyFullySynced = Code(9006, "manualSyncAlreadyFullySynced")
        /// There is nothing to fetch, for example no unread message that is not on this device.
        public static let manualSyncNothingToSync = Code(9007, "manualSyncNothingToSync")
        /// The message was deleted.
        public static let messageDeleted = Code(11001, "messageDeleted")
        /// The conversation was deleted, or never existed.
        public static let conversationDeleted = Code(11002, "conversationDeleted")
        /// The client has no such session.
        public static let invalidSession = Code(12001, "invalidSession")
        /// There is a session with this identifier already, or another session of this user.
        public static let duplicateSession = Code(12002, "duplicateSession")
        /// The property cannot stand in a predicate.
        public static let unqueryableProperty = Code(12000, "unqueryableProperty", domain: .querying)
        /// The property cannot be compared with this operator, or with this kind of value.
        public static let unsupportedPredicate = Code(12001, "unsupportedPredicate", domain: .querying)
        /// The property cannot be sorted by.
        public static let unsupportedSort = Code(12002, "unsupportedSort", domain: .querying)
        /// An argument is wrong; the message names it.
        public static let invalidArgument = Code(20000, "invalidArgument")
        /// A second client for the same store in one process.
        public static let storeInUse = Code(20001, "storeInUse")
        /// The app has cancelled a transfer of content, or has ended the connection that it needed.
        public static let transferCancelled = Code(20002, "transferCancelled")
        /// A newer version of the library has written the store. The store is kept: update the app.
        public static let newerStore = Code(20003, "newerStore")
    }

    /// What went wrong.
    public let code: Code
    /// The same in words, for logs. It contains no text of messages and no tokens.
    public let message: String
    /// With ``Code/distinctConversationExists``: the conversation that exists.
    public let existing: ConversationID?
    /// With ``Code/alreadyAuthenticated``: the user who is signed in. With ``Code/duplicateSession``: the user who has a session.
    public let userID: UserID?
    /// With ``Code/manualSyncAlreadyInProgress``: how far the fetch is.
    public let progress: TransferProgress?
    /// The errors that led to this one, such as that of the network or of the database; often none. An error that was stored, such as
    /// ``Message/failure``, has none after it was read again.
    public let underlyingErrors: [any Error]

    init(
        _ code: Code, _ message: String, existing: ConversationID? = nil, userID: UserID? = nil, progress: TransferProgress? = nil,
        underlying: [any Error] = []
    ) {
        self.code = code
        self.message = message
        self.existing = existing
        self.userID = userID
        self.progress = progress
        underlyingErrors = underlying
    }

    /// Code and words.
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
