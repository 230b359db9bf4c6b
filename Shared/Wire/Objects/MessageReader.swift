// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// The reader's relation to a message. It determines the rendering completely, so that readers with an equal value
/// share one rendering.
enum MessageReader: Hashable, Sendable {
    /// The sender of the message.
    case sender
    case recipient(RecipientStatus)
    /// A reader who is not a recipient.
    case bystander

    init(_ reader: UserID, of message: Message) {
        if message.sender.userID == reader {
            self = .sender
        } else if let status = message.status(of: reader) {
            self = .recipient(status)
        } else {
            self = .bystander
        }
    }

    var isUnread: Bool {
        switch self {
        case .recipient(let status): status < .read
        case .sender, .bystander: false
        }
    }
}
