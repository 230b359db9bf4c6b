// SPDX-License-Identifier: Apache-2.0

import ServiceKit
import Webhooks

/// The `webhooks` executable.
@main
enum Main {
    static func main() async { await WebhooksService.main() }
}
