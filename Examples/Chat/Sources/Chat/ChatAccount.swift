// SPDX-License-Identifier: Apache-2.0

import Foundation
import StrataKit

/// A user of an app, who signs in with an identity token.
struct ChatAccount: Sendable {
    let app: String
    let user: UserID
    let displayName: String?

    /// Creates a client without connecting it.
    /// - Parameters:
    ///   - directory: The directory of the local store.
    ///   - certificates: The certificates to trust, in PEM. nil: those of public authorities.
    func client(of server: URL, directory: URL, trusting certificates: String?) throws -> StrataClient {
        try StrataClient(
            appID: app,
            options: .init(
                server: server, syncPolicy: .partialHistory(count: 50), directory: directory,
                trustedCertificates: certificates))
    }

    /// Signs the user in and connects. A user who signed in on this device before stays signed in, and needs no
    /// connection.
    func signIn(_ client: StrataClient) async throws {
        do {
            // A new display name requires a new token.
            let isSignedIn = await client.authenticatedUser != nil
            if !isSignedIn || displayName != nil { try await authenticate(client) }
            do {
                try await client.connect()
            } catch let error as StrataError where error.code == .unauthenticated {
                // The session has ended.
                try await authenticate(client)
                try await client.connect()
            }
        } catch let error as StrataError {
            throw ChatFailure("\(user) cannot sign in: \(error.message)")
        }
    }

    private func authenticate(_ client: StrataClient) async throws {
        try await authenticate(client, nonce: try await client.requestAuthenticationNonce())
    }

    func authenticate(_ client: StrataClient, nonce: String) async throws {
        try await client.authenticate(identityToken: try identityToken(nonce: nonce))
    }

    /// Returns a signed identity token of the user. In an app, the app's own backend issues it; this example uses the
    /// `strata` command.
    private func identityToken(nonce: String) throws -> String {
        let (process, output, errors) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["strata", "token", "--app", app, "--user", user.rawValue, "--nonce", nonce]
        if let displayName { process.arguments? += ["--display-name", displayName] }
        // The terminal belongs to the chat.
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let token = Self.text(of: output)
        guard !token.isEmpty else { throw ChatFailure("\(user) gets no identity token. \(Self.text(of: errors))") }
        return token
    }

    private static func text(of pipe: Pipe) -> String {
        String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
