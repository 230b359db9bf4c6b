// SPDX-License-Identifier: Apache-2.0
import Logging
import StrataModel
import StrataWire

/// The rich content of a gateway: its store, and the URLs for uploads and downloads.
struct RichContent: Sendable {
    let store: any ContentStore
    let tokens: ContentTokens
    /// The public base of all URLs, without a trailing slash.
    let baseURL: String

    init(store: any ContentStore, settings: GatewaySettings) {
        self.store = store
        tokens = ContentTokens(clusterSecret: settings.clusterSecret)
        baseURL = settings.publicURL
    }

    /// Returns a temporary download URL for any client.
    func location(of id: ContentID) -> ContentLocation {
        let (token, expiresAt) = tokens.issueDownload(of: id, at: .now())
        return ContentLocation(downloadURL: "\(baseURL)/content/downloads/\(token)", expiration: expiresAt)
    }

    func uploadURL(for upload: ContentTokens.Upload) -> String {
        "\(baseURL)/content/uploads/\(tokens.issue(upload, at: .now()))"
    }
}

extension ContentStoreError {
    /// Returns the failure for the client, and logs the errors that concern the operator.
    func failure(logger: Logger) -> Failure {
        switch self {
        case .wrongLength: return Failure(.invalidRequest, "The body does not have the announced number of bytes.")
        case .brokenOff: return Failure(.invalidRequest, "The body ended too early.")
        case .superseded: return Failure(.invalidRequest, "Another upload to the same URL has begun.")
        case .full(let reason):
            logger.error("content directory is full", metadata: ["error.message": "\(reason)"])
            return .unavailable
        case .failed(let reason):
            logger.error("content directory cannot be read or written", metadata: ["error.message": "\(reason)"])
            return .unavailable
        }
    }
}
