// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The executables of the services, in the directory of this executable.
struct ServiceBinaries: Sendable {
    /// The absolute path of the directory.
    let directory: String

    /// - Parameter directory: The directory of the executables. nil: that of this executable.
    init(directory: String? = nil) {
        self.directory = directory ?? Self.own
    }

    func path(of kind: ServiceKind) -> String {
        "\(directory)/\(kind.rawValue)"
    }

    var missing: [ServiceKind] {
        ServiceKind.allCases.filter { !FileManager.default.isExecutableFile(atPath: path(of: $0)) }
    }

    /// Checks that all executables exist.
    /// - Throws: ``CommandFailure`` that names the missing ones.
    func check() throws {
        guard !missing.isEmpty else { return }
        let names = missing.map(\.rawValue).joined(separator: ", ")
        throw CommandFailure(
            .unavailable,
            "The executables of these services are not in \(directory): \(names). Build them with: swift build")
    }

    private static var own: String {
        let link =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return (link as NSString).deletingLastPathComponent
    }
}
