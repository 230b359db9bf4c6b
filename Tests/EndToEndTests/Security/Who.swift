// SPDX-License-Identifier: Apache-2.0

/// The callers: the columns of the authorization matrix.
enum Who: String, CaseIterable, Sendable {
    /// A participant who created all objects.
    case sender = "sender"
    case participant = "participant"
    /// A former participant. The conversation changed after the removal.
    case former = "former"
    /// A user of the same app who was never a participant.
    case never = "never in it"
    case otherApp = "other app"
    case noSession = "no session"
    /// A session token that was never issued.
    case invented = "invented token"
    /// This and the next three are participants whose sessions are not valid any more.
    case expired = "expired"
    case ended = "signed out"
    case suspendedUser = "suspended"
    case suspendedApp = "suspended app"

    /// Callers with a valid session.
    static let signedIn: [Who] = [.sender, .participant, .former, .never, .otherApp]
    /// Callers with a token, valid or not.
    static let named: [Who] = allCases.filter { $0 != .noSession && $0 != .invented }

    var isSignedIn: Bool { Self.signedIn.contains(self) }
    /// The status and error of requests with an invalid session.
    var refusal: String { self == .suspendedUser ? "403 user_suspended" : "401 authentication_required" }
    /// True for callers who must not even learn that an object exists.
    var isStranger: Bool { self == .never || self == .otherApp }

    var user: String {
        switch self {
        case .sender: "ana"
        case .participant: "benjamin"
        case .former: "cleo"
        case .never: "dora"
        case .otherApp: "eve"
        case .noSession: "nobody"
        case .invented: "somebody"
        case .expired: "gil"
        case .ended: "hal"
        case .suspendedUser: "ivy"
        case .suspendedApp: "zed"
        }
    }
}
