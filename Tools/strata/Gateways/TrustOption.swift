// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import ProtocolClient
import SwiftASN1
import X509

/// The options that select which TLS certificates of a gateway a command accepts.
struct TrustOption: ParsableArguments {
    @Flag(help: "Accept any TLS certificate of the gateway.")
    var insecure = false
    @Option(
        help: ArgumentHelp(
            "PEM file of the certificates to trust, instead of those of public authorities. (STRATA_CA)",
            valueName: "file"))
    var ca: String?

    /// Returns the certificates to trust: those of the options, then of the environment, then of public authorities.
    ///
    /// The environment is used only if a gateway has a certificate. A left-over variable must not prevent plain HTTP.
    /// - Parameter gateways: The URLs of the gateways.
    /// - Throws: ``CommandFailure`` that names the file if it is unreadable or does not contain certificates.
    func serverTrust(for gateways: [String], settings: OperatorSettings = OperatorSettings()) throws -> ServerTrust {
        if insecure { return .anyCertificate }
        let hasCertificate = gateways.contains { $0.lowercased().hasPrefix("https:") }
        guard let file = try ca ?? (hasCertificate ? settings.value("STRATA_CA") : nil) else { return .system }
        return .roots(pem: try Self.certificates(inFile: file))
    }

    /// Returns the certificates of a file, in PEM.
    /// - Throws: ``CommandFailure`` that names the file.
    static func certificates(inFile file: String) throws -> String {
        guard let pem = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw CommandFailure(.noInput, "The file \(file) cannot be read.")
        }
        guard let documents = try? PEMDocument.parseMultiple(pemString: pem), !documents.isEmpty,
            documents.allSatisfy({ (try? Certificate(pemDocument: $0)) != nil })
        else { throw CommandFailure(.usage, "\(file) does not contain certificates in PEM form.") }
        return pem
    }
}
