// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The services' executables, found beside our own.
struct ServiceBinaries: Sendable {
    /// Absolute path of the directory.
    let directory: String

    /// - Parameter directory: where they are; nil is where our own executable is.
    init(directory: String? = nil) {
        self.directory = directory ?? Self.own
    }

    func path(of kind: ServiceKind) -> String {
        "\(directory)/\(kind.rawValue)"
    }

    /// The services whose executable is missing.
    var missing: [ServiceKind] {
        ServiceKind.allCases.filter { !FileManager.default.isExecutableFile(atPath: path(of: $0)) }
    }

    /// - Throws: ``CommandFailure`` naming what is missing.
    func check() throws {
        guard !missing.isEmpty else { return }
        let names = missing.map(\.rawValue).joined(separator: ", ")
        throw CommandFailure(.unavailable, "The executables of these services are not in \(directory): \(names). Build them with: swift build")
    }

    private static var own: String {
        let link = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return (link as NSString).deletingLastPathComponent
    }
}
