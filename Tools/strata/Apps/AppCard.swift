// SPDX-License-Identifier: Apache-2.0

/// A text with everything the owner of a new app needs.
struct AppCard: CustomStringConvertible {
    private let app: NewApp
    private let keyLine: String
    private let privateKey: String?

    /// - Parameter keyFile: The file of the private key; nil if the owner has the key.
    init(_ app: NewApp, keyFile: String?) {
        self.app = app
        keyLine = keyFile ?? "kept by you"
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

        \(privateKey.map { "\($0)\n\nThe key and the token are shown only once." } ?? "The token is shown only once.")
        """
    }
}
