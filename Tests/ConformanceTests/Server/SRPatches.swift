// SPDX-License-Identifier: Apache-2.0

import ProtocolClient

enum SRPatches {
    static let rules: [ServerRule] = [
        ServerRule(100, "operations are carried out in order, all or nothing") { f in
            let conversation = try await f.converse("ana", metadata: ["a": "1"])
            let good: JSONValue = [
                ["operation": "set", "property": "metadata.a", "value": "2"],
                ["operation": "set", "property": "metadata.a", "value": "3"],
            ]
            try await f.does("PATCH", f.path(conversation), good, status: 204)
            let bad: JSONValue = [
                ["operation": "set", "property": "metadata.a", "value": "4"],
                ["operation": "set", "property": "metadata.b", "value": 5],
            ]
            f.equal(try await f.call("PATCH", f.path(conversation), bad).status, 422)
            f.equal(try await f.does("GET", f.path(conversation))["metadata"], ["a": "3"])
        },
        ServerRule(
            101, "a property is a path of keys; objects on the way are made; a property that does not exist is 422"
        ) { f in
            let conversation = try await f.converse("ana")
            try await f.does(
                "PATCH", f.path(conversation), [["operation": "set", "property": "metadata.a.b.c", "value": "1"]],
                status: 204)
            f.equal(try await f.does("GET", f.path(conversation))["metadata"], ["a": ["b": ["c": "1"]]])
            let invented: JSONValue = [["operation": "set", "property": "colour", "value": "red"]]
            f.equal(try await f.call("PATCH", f.path(conversation), invented).status, 422)
        },
        ServerRule(102, "add and remove take one element; a list is 422") { f in
            let conversation = try await f.converse("ana")
            let list: JSONValue = [
                ["operation": "add", "property": "participants", "value": [f.reference(f.user("ben"))]]
            ]
            f.equal(try await f.call("PATCH", f.path(conversation), list).status, 422)
        },
        ServerRule(103, "an unknown operation or property is 422") { f in
            let conversation = try await f.converse("ana")
            for patch in [
                [["operation": "turn", "property": "metadata.a", "value": "1"]],
                [["operation": "set", "property": "created_at", "value": "x"]],
            ] as [JSONValue] { f.equal(try await f.call("PATCH", f.path(conversation), patch).status, 422, "\(patch)") }
        },
        ServerRule(104, "a patch of no operations succeeds") { f in
            let conversation = try await f.converse("ana")
            try await f.does("PATCH", f.path(conversation), [], status: 204)
            try await f.identify("ana")
            let badge = "/users/\(f.user("ana"))/badge"
            try await f.does("PUT", badge, ["external_unread_count": 5], status: 204)
            f.equal(try await f.does("PATCH", badge, [], status: 200)["external_unread_count"].int, 5)
            try await f.does("PATCH", "/users/\(f.user("ana"))", [], status: 202)
            try await f.does("PATCH", "/users/\(f.user("ana"))/identity", [], status: 204)
        },
    ]
}
