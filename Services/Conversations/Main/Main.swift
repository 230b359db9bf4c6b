// SPDX-License-Identifier: Apache-2.0

import Conversations
import ServiceKit

/// The `conversations` executable.
@main
enum Main {
    static func main() async { await ConversationsService.main() }
}
