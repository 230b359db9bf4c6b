// SPDX-License-Identifier: Apache-2.0

/// Who asks: the columns of the authorization matrix.
enum Who: String, CaseIterable, Sendable {
    /// A participant who made the objects: creator, sender, owner.
    case sender = "sender"
    case participant = "participant"
    /// Removed from the conversation, after which more happened in it.
    case former = "former"
    /// A user of the same app who was never a participant.
    case never = "never in it"
    case otherApp = "other app"
    case noSession = "no session"
    /// A session token that was never given out.
    case invented = "invented token"
    /// These five are participants whose sessions are good for nothing.
    case expired = "expired"
    case ended = "signed out"
    case suspendedUser = "suspended"
    case suspendedApp = "suspended app"

    /// Those whose sessions are valid.
    static let signedIn: [Who] = [.sender, .participant, .former, .never, .otherApp]
    /// Those who have a token, good or not.
    static let named: [Who] = allCases.filter { $0 != .noSession && $0 != .invented }

    var isSignedIn: Bool { Self.signedIn.contains(self) }
    /// Status and error with which a request is refused whose session is good for nothing.
    var refusal: String { self == .suspendedUser ? "403 user_suspended" : "401 authentication_required" }
    /// Strangers must not even learn that something exists.
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
