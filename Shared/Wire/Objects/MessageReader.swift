// SPDX-License-Identifier: Apache-2.0
import StrataModel

/// What a rendered message takes from who reads it: all there is, so that readers with an equal value share one rendering.
enum MessageReader: Hashable, Sendable {
    /// The reader wrote it.
    case sender
    case recipient(RecipientStatus)
    /// Not among the recipients.
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
