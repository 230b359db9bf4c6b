// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import StrataCommand
import TestCluster

/// `soak receive`: a receiver of webhooks that records each delivery and accepts it.
struct ReceiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receive", abstract: "Receives the webhooks of `soak --receiver`, until Ctrl-C.",
        discussion: "Answers each verification challenge, and each event with 200 after it is recorded.")

    @Option(help: "The port to listen on.")
    var port = 8080
    // An argument, because `soak` has an option of the same name that would consume the value.
    @Argument(help: "The directory in which deliveries are recorded: that of `soak --journal`.")
    var journal: String

    func run() async throws {
        let signals = TerminationSignals()
        let file = try DeliveryFile.Writer(directory: journal)
        let receiver = try await WebhookReceiver.start(host: "0.0.0.0", port: port) { event in
            do { try file.append(HookDelivery(event, time: Date().timeIntervalSince1970)) } catch {
                // An event that was not recorded must not be accepted.
                return .answer(500)
            }
            return .accept
        }
        print("receives on port \(receiver.port)")
        for await _ in signals.stream { break }
        await receiver.stop()
    }
}
