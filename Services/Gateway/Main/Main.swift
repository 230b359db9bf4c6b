// SPDX-License-Identifier: Apache-2.0

import Gateway
import ServiceKit

/// The `gateway` executable.
@main
enum Main {
    static func main() async { await GatewayService.main() }
}
