// SPDX-License-Identifier: Apache-2.0

import Metadata
import ServiceKit

/// The `metadata` executable.
@main
enum Main {
    static func main() async { await MetadataService.main() }
}
