// SPDX-License-Identifier: Apache-2.0

import Presence
import ServiceKit

/// The `presence` executable.
@main
enum Main {
    static func main() async { await PresenceService.main() }
}
