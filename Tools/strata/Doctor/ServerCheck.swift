// SPDX-License-Identifier: Apache-2.0

/// The check of PostgreSQL or Redis: the version, the versions that are tested, and the newer version that apt knows.
struct ServerCheck: Sendable {
    let subject: String
    /// The products that serve as this server. The one whose name is in the output of `--version` applies; the first,
    /// if none is.
    let products: [ServerVersions]
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
        let product = products.first { found.output.contains($0.product) } ?? products[0]
        let oldest = product.supported.first ?? 0
        guard found.version.major >= oldest else { return found.isTooOld(subject, minimum: oldest) }
        let name = product.product == subject ? "" : product.product + " "
        var finding = "\(name)\(found.version.text), \(found.path); \(product.summary)"
        var remedies: [String] = []
        if !product.tested.contains(found.version.major) {
            if !product.tested.isEmpty { finding += ", not with \(found.version.major)" }
            remedies.append("Use a version that is tested.")
        }
        switch update {
        case .unknown: finding += "; updates: unknown"
        case .none: finding += "; no update known to apt"
        case .available(let package, let version, let isSecurity):
            finding += "; \(isSecurity ? "security update" : "update") known to apt: \(version)"
            remedies.append("apt-get install --only-upgrade \(package)")
        }
        return remedies.isEmpty
            ? .fine(subject, finding: finding)
            : .notice(subject, finding: finding, remedy: remedies.joined(separator: " "))
    }
}
