// SPDX-License-Identifier: Apache-2.0

import Conversations
import ServiceKit

@main
enum Main {
    static func main() async { await ConversationsService.main() }
}
