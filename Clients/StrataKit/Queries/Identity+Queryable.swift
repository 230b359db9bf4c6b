// SPDX-License-Identifier: Apache-2.0
public import Foundation
import GRDB

extension Identity: Queryable {
    /// The properties of identities that queries can use.
    public struct QueryProperties: Sendable {
        /// The id in the form `layer:///identities/…`.
        public let id = Query<Identity>.Property<String, QueryOperators.Lists>(
            "identifier", .column("identity.user_id"), .identity)
        /// The user id.
        public let userID = Query<Identity>.Property<UserID, QueryOperators.Lists>(
            "userID", .column("identity.user_id"), .user)
        /// The display name.
        public let displayName = Query<Identity>.Property<String, QueryOperators.Text>(
            "displayName", .column("identity.display_name"), .text)
        /// The first name.
        public let firstName = Query<Identity>.Property<String, QueryOperators.Text>(
            "firstName", .column("identity.first_name"), .text)
        /// The last name.
        public let lastName = Query<Identity>.Property<String, QueryOperators.Text>(
            "lastName", .column("identity.last_name"), .text)
        /// The email address.
        public let emailAddress = Query<Identity>.Property<String, QueryOperators.Text>(
            "emailAddress", .column("identity.email_address"), .text)
        /// The phone number.
        public let phoneNumber = Query<Identity>.Property<String, QueryOperators.Lists>(
            "phoneNumber", .column("identity.phone_number"), .text)
        /// The URL of the picture.
        public let avatarImageURL = Query<Identity>.Property<String, QueryOperators.Lists>(
            "avatarImageURL", .column("identity.avatar_url"), .text)
        /// The public key.
        public let publicKey = Query<Identity>.Property<String, QueryOperators.Lists>(
            "publicKey", .column("identity.public_key"), .text)
        /// True if this user receives changes of the identity.
        public let isFollowed = Query<Identity>.Property<Bool, QueryOperators.Lists>(
            "followed", .column("identity.is_followed"), .bool)
        /// True if this user has blocked the identity.
        public let isBlocked = Query<Identity>.Property<Bool, QueryOperators.Lists>(
            "blocked", .column("identity.is_blocked"), .bool)
        /// The last known presence status.
        public let presenceStatus = Query<Identity>
            .Property<PresenceStatus, QueryOperators.Lists>(
                "presenceStatus", .column("identity.presence_status"), .presenceStatus)
        /// The time at which the user was last online.
        public let lastSeenAt = Query<Identity>.Property<Date, QueryOperators.Order>(
            "lastSeenAt", .column("identity.last_seen_at"), .date)
        /// All metadata, compared as a whole. With a key path: the text at that path.
        public let metadata = Query<Identity>
            .Property<[String: String], QueryOperators.Unsorted<QueryOperators.Equality>>(
                "metadata", .metadata(table: "identity"), .metadata)

        fileprivate var all: [QueryProperty] {
            [
                id.property, userID.property, displayName.property, firstName.property, lastName.property,
                emailAddress.property,
                phoneNumber.property, avatarImageURL.property, publicKey.property, isFollowed.property,
                isBlocked.property, presenceStatus.property,
                lastSeenAt.property,
                metadata.property,
            ]
        }
    }

    /// The properties of identities that queries can use.
    public static let queryProperties = QueryProperties()

    /// The query source for identities in the store.
    public static let querySource = QuerySource<Identity>(
        tables: "identity", columns: "identity.*", condition: nil, idColumn: "identity.user_id",
        properties: queryProperties.all.byName,
        aliases: ["id": "identifier", "isFollowed": "followed", "isBlocked": "blocked"], metadataTable: "identity",
        dependencies: [.identity],
        kind: .identity,
        id: { UserID(trusted: $0[0]).layerID },
        load: { _, rows in rows.map { StoreReader.identity(StoreReader.identityRecord($0)) } })
}
