// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

@main
enum Main {
    static func main() async {
        await SoakCommand.main()
    }
}
