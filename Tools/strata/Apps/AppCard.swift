// SPDX-License-Identifier: Apache-2.0

/// A text with everything the owner of a new app needs.
struct AppCard: CustomStringConvertible {
    private let app: NewApp
    private let keyLine: String
    private let privateKey: String?

    /// - Parameter keyFile: The file of the private key; nil if the owner has the key.
    init(_ app: NewApp, keyFile: String?) {
        self.app = app
        keyLine = keyFile ?? "yours; it was not shown to us"
        privateKey = nil
    }

    /// - Parameter privateKey: The private key, PEM. It is stored nowhere else.
    init(_ app: NewApp, privateKey: String?) {
        self.app = app
        keyLine = "below"
        self.privateKey = privateKey
    }

    var description: String {
        """
        app id            \(LayerID.app.text(app.id))
        provider id       \(LayerID.provider.text(app.providerID))
        key id            \(LayerID.key.text(app.keyID))
        private key       \(keyLine)
        Server API token  \(app.serverToken)

        \(privateKey.map { "\($0)\n\nKey and token are shown this once." } ?? "The token is shown this once.")
        """
    }
}
