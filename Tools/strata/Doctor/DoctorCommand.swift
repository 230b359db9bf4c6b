// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Reports what is missing on this machine, and how to install it.",
        discussion: "Ends with status 69 if something will not work.")

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let settings = try DevSettings(flags: DevSettings.Flags(), environment: environment)
        let doctor = Doctor(home: StrataHome(environment: environment), settings: settings, binaries: ServiceBinaries())
        let checks = await doctor.examine()
        if json {
            try Console.standard.say(json: checks)
        } else {
            for check in checks { Console.standard.say(check.text) }
        }
        let bad = checks.filter { $0.verdict == .bad }
        guard bad.isEmpty else {
            throw CommandFailure(
                .unavailable,
                "\(bad.count == 1 ? "One thing is" : "\(bad.count) things are") missing: \(bad.map(\.subject).joined(separator: ", "))."
            )
        }
    }
}
