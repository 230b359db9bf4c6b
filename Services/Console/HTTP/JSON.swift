// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import StrataModel
import StrataWire

/// The JSON of the console: members in snake case, times as ISO 8601 texts in UTC.
enum ConsoleJSON {
    static func encode(_ value: some Encodable) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.iso8601)
        }
        // The console's own values always encode: none of them is a number without a JSON form.
        return ByteBuffer(bytes: (try? encoder.encode(value)) ?? Data("null".utf8))
    }

    /// Decodes a body.
    /// - Throws: `invalid_request` for a text that is not JSON; `missing_property` and `invalid_property`, which name
    ///   the member.
    static func decode<Value: Decodable>(_ body: ByteBuffer, as type: Value.Type = Value.self) throws(Failure) -> Value
    {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        do {
            return try decoder.decode(type, from: Data(body.readableBytesView))
        } catch let error as DecodingError {
            throw Failure(error)
        } catch {
            throw Failure(.invalidRequest, "The body is not JSON.")
        }
    }
}

extension Failure {
    fileprivate init(_ error: DecodingError) {
        func path(_ keys: [any CodingKey]) -> String {
            keys.map { $0.intValue.map(String.init) ?? $0.stringValue.snakeCase }.joined(separator: ".")
        }
        switch error {
        case .keyNotFound(let key, let context): self = .missing(path(context.codingPath + [key]))
        case .typeMismatch(_, let context) where !context.codingPath.isEmpty,
            .valueNotFound(_, let context) where !context.codingPath.isEmpty,
            .dataCorrupted(let context) where !context.codingPath.isEmpty:
            self = .invalid(path(context.codingPath), reason: "has the wrong type")
        default: self.init(.invalidRequest, "The body must be a JSON object.")
        }
    }
}

extension String {
    fileprivate var snakeCase: String { map { $0.isUppercase ? "_\($0.lowercased())" : String($0) }.joined() }
}

extension Date {
    /// The time as an ISO 8601 text with milliseconds, in UTC.
    var iso8601: String {
        ISO8601.string(Timestamp(microseconds: Int64(max(-6e10, min(timeIntervalSince1970, 2.5e11)) * 1e6)))
    }
}

extension Response {
    static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
        .json(text: ConsoleJSON.encode(value), status: status, headers: headers)
    }

    static func json(
        text: ByteBuffer, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Response {
        var headers = headers
        headers[.contentType] = "application/json; charset=utf-8"
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: text))
    }

    static var noContent: Response { Response(status: .noContent) }
}

enum RequestBody {
    /// The maximum size of a body, in bytes.
    static let bytes = 1 << 20
}

extension Request {
    /// Returns the whole body.
    /// - Throws: ``Refusal/bodyTooLarge``.
    func collectedBody() async throws -> ByteBuffer {
        do {
            return try await body.collect(upTo: RequestBody.bytes)
        } catch is NIOTooManyBytesError {
            throw Refusal.bodyTooLarge
        }
    }

    /// Decodes the body. It must be declared as JSON: a page of another origin cannot send that without the consent of
    /// this one.
    func json<Value: Decodable>(_ type: Value.Type = Value.self) async throws -> Value {
        guard headers[.contentType]?.split(separator: ";").first?.lowercased() == "application/json" else {
            throw Failure(.invalidHeader, "The Content-Type must be application/json.", detail: .header("Content-Type"))
        }
        return try ConsoleJSON.decode(try await collectedBody(), as: type)
    }

    /// Returns a parameter of the query, nil if it is absent or empty.
    func parameter(_ name: String) -> String? { uri.queryParameters.get(name).flatMap { $0.isEmpty ? nil : $0 } }

    /// Returns a whole number in the query.
    func number(_ name: String, in range: ClosedRange<Int>, default fallback: Int) throws(Failure) -> Int {
        guard let text = parameter(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid(name, reason: "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns an id in the query, nil if it is absent.
    func id<ID: ObjectID>(_ name: String, as type: ID.Type = ID.self) throws(Failure) -> ID? {
        guard let text = parameter(name) else { return nil }
        guard let id = ID(parsing: text) else { throw .invalid(name, reason: "must be a UUID") }
        return id
    }
}
