// SPDX-License-Identifier: Apache-2.0

/// The check of PostgreSQL or Redis: the version, the versions that are tested, and the newer version that apt knows.
struct ServerCheck: Sendable {
    let subject: String
    /// The products that serve as this server. One whose name is in the output of `--version` applies; the first, if none is.
    let tested: [TestedVersions]
    /// The package to install if there is no server.
    let package: String

    /// Finds the server's program, and judges it.
    func examine(_ find: () throws -> String) async -> DoctorCheck {
        switch await InstalledProgram.find(find) {
        case .failure(let fault): fault.check(subject, package: package)
        case .success(let found): judge(found, update: await .find(for: found.path))
        }
    }

    /// Judges a server by its version and the update of its package.
    func judge(_ found: InstalledProgram, update: PackageUpdate) -> DoctorCheck {
        let product = tested.first { found.output.contains($0.product) } ?? tested[0]
        guard found.version.major >= product.majors[0] else { return found.isTooOld(subject, minimum: product.majors[0]) }
        let name = product.product == subject ? "" : product.product + " "
        var finding = "\(name)\(found.version.text), \(found.path); tested with \(product.text)"
        var remedies: [String] = []
        if !product.majors.contains(found.version.major) {
            finding += ", not with \(found.version.major)"
            remedies.append("Use a version that is tested.")
        }
        switch update {
        case .unknown: finding += "; updates: unknown"
        case .none: finding += "; no update known to apt"
        case .available(let package, let version, let isSecurity):
            finding += "; \(isSecurity ? "security update" : "update") known to apt: \(version)"
            remedies.append("apt-get install --only-upgrade \(package)")
        }
        return remedies.isEmpty ? .fine(subject, finding: finding) : .notice(subject, finding: finding, remedy: remedies.joined(separator: " "))
    }
}
