// SPDX-License-Identifier: Apache-2.0

import StrataCommand

@main
struct Main {
    static func main() async {
        await StrataCommand.launch()
    }
}
