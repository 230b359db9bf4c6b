// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import Hummingbird
import StrataModel

/// The pages of the console. They contain no data, so they require no session.
struct PageRoutes: ConsoleFeature {
    func add(to routes: ConsoleRoutes) {
        routes.open(.get, "/") { _, _ in .redirect(to: "/console/") }
        routes.open(.get, "/console") { request, _ in
            // The links on the page need the slash.
            request.uri.path.hasSuffix("/")
                ? try answer("index.html", to: request) : .redirect(to: "/console/")
        }
        routes.open(.get, "/console/**") { request, context in
            try answer(context.parameters.getCatchAll().joined(separator: "/"), to: request)
        }
        routes.get("/api/calls") { request, _ in try answer("calls.json", to: request) }
    }

    private func answer(_ path: String, to request: Request) throws(Failure) -> Response {
        guard let file = WebFiles.file(at: path) else { throw .notFound("file") }
        var headers: HTTPFields = [.eTag: file.entityTag, .cacheControl: "no-cache"]
        if request.headers[.ifNoneMatch] == file.entityTag { return Response(status: .notModified, headers: headers) }
        headers[.contentType] = file.contentType
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: file.bytes))
    }
}
