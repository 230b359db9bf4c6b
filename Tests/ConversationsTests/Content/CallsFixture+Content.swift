// SPDX-License-Identifier: Apache-2.0
import Contracts
import Foundation
import StrataModel
import SwiftProtobuf

@testable import Conversations

/// Calls about content, with model types.
extension CallsFixture {
    /// Announces content, whose upload is complete unless `uploaded` is false.
    func content(of owner: String = "ana", size: Int64 = 10, uploaded: Bool = true) async throws -> ContentID {
        let id = ContentID.random()
        try await call(AccountAPI.createContent) {
            $0.appID = Data(app)
            $0.owner = owner
            $0.id = Data(id)
            $0.mimeType = "image/png"
            $0.size = size
        }
        if uploaded { try await call(AccountAPI.finishContent) { $0.contentID = Data(id) } }
        return id
    }

    func canSee(_ id: ContentID, _ user: String) async throws -> Bool {
        try await refusal {
            try await call(AccountAPI.getContent) {
                $0.appID = Data(app)
                $0.userID = user
                $0.contentID = Data(id)
            }
        }?
        .code != .notFound
    }

    @discardableResult
    func sweepContents(olderThan age: Int64) async throws -> [ContentID] {
        try await call(AccountAPI.sweepContents) {
            $0.age = age
            $0.limit = 1000
        }
        .doomed.map { try ContentID(contract: $0) }
    }
}
