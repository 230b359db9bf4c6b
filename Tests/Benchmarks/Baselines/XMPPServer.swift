// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalServers
import NIOCore
import Postgres

/// An XMPP server to compare with: ejabberd, whose rooms keep their archive in a PostgreSQL of its own.
///
/// Clients speak XMPP over WebSocket (RFC 7395), and sign in with any password.
final class XMPPServer: LoadedServer {
    let addresses: [LoadAddress]
    let protocolName = "xmpp"
    private let process: ChildProcess
    private let postgres: PrivatePostgres
    private let postgresID: Int32
    private let home: String

    /// The time for Erlang and ejabberd to start.
    private static let patience = Duration.seconds(60)
    private static let rooms = "conference.localhost"

    private init(port: Int, _ process: ChildProcess, _ postgres: PrivatePostgres, postgresID: Int32, home: String) {
        addresses = [.local(port)]
        self.process = process
        self.postgres = postgres
        self.postgresID = postgresID
        self.home = home
    }

    /// Starts the server and waits until it accepts connections.
    /// - Returns: nil if ejabberd is not installed.
    static func start() async throws -> XMPPServer? {
        guard let libraries = libraries(), let erlang = try? Programs.find("erl") else { return nil }
        let home = NSTemporaryDirectory() + "/strata-bench-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: home + "/mnesia", withIntermediateDirectories: true)
        let postgres = try await PrivatePostgres.start(.init(directory: home + "/postgres", password: nil))
        let schema = try String(contentsOfFile: "/usr/share/ejabberd/sql/pg.sql", encoding: .utf8)
        try await Migrator(configuration: try PostgresConfiguration(url: postgres.url())).execute(script: schema)
        let port = try LoopbackPort.free()
        try configuration(port: port, postgres: postgres.port)
            .write(toFile: home + "/ejabberd.yml", atomically: true, encoding: .utf8)
        var launch = Launch(
            erlang, arguments: ["-noinput", "+K", "true", "-mnesia", "dir", "\"\(home)/mnesia\"", "-s", "ejabberd"],
            deathSignal: .kill)
        launch.environment = ProcessInfo.processInfo.environment.merging([
            "HOME": home, "ERL_LIBS": libraries, "EJABBERD_CONFIG_PATH": home + "/ejabberd.yml",
            "EJABBERD_LOG_PATH": home + "/ejabberd.log", "ERL_CRASH_DUMP": home + "/dump", "ERL_MAX_PORTS": "32000",
        ]) { $1 }
        let process = try await ChildProcess.start(launch)
        let server = XMPPServer(port: port, process, postgres, postgresID: await postgres.process.pid, home: home)
        guard await server.process.accepts(port: port, within: patience) else {
            await server.stop()
            throw BenchProblem("ejabberd does not accept connections")
        }
        return server
    }

    /// Returns the directory with the libraries of ejabberd; nil if it is not installed.
    private static func libraries() -> String? {
        let manager = FileManager.default
        func entries(of directory: String) -> [String] {
            ((try? manager.contentsOfDirectory(atPath: directory)) ?? []).map { "\(directory)/\($0)" }
        }
        return (["/usr/lib"] + entries(of: "/usr/lib"))
            .first { directory in
                entries(of: directory).contains { manager.fileExists(atPath: $0 + "/ebin/ejabberd.app") }
            }
    }

    private static func configuration(port: Int, postgres: Int) -> String {
        """
        hosts: [localhost]
        loglevel: error
        listen:
          - {port: \(port), ip: 127.0.0.1, module: ejabberd_http, request_handlers: {/ws: ejabberd_http_ws}}
        auth_method: [anonymous]
        anonymous_protocol: login_anon
        sql_type: pgsql
        sql_server: 127.0.0.1
        sql_port: \(postgres)
        sql_database: postgres
        sql_username: \(PrivatePostgres.superuser)
        sql_password: ""
        modules:
          mod_mam: {db_type: sql, default: always}
          mod_muc:
            access: all
            access_create: all
            history_size: 0
            max_user_conferences: 1000
            default_room_options: {mam: true}
        """
    }

    func stop() async {
        await process.stop(SIGKILL)
        await postgres.discard()
        try? FileManager.default.removeItem(atPath: home)
    }

    func makeRooms(_ plan: RoomPlan) async throws -> [String] {
        (0..<plan.rooms).map { "r\(plan.firstUser)-\($0)@\(Self.rooms)" }
    }

    func path(ofUser user: Int, room: String, includesSender: Bool) -> String { "/ws" }

    func token(_ user: Int) -> String { "" }

    /// Signs in and joins the room.
    func enter(_ socket: LoadSocket, ofUser user: Int, room: String) async throws {
        let open = "<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='localhost' version='1.0'/>"
        let login = Data("\0u\(user)\0x".utf8).base64EncodedString()
        try await socket.exchange(open, until: "</stream:features>")
        try await socket.exchange(
            "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>\(login)</auth>", until: "<success")
        try await socket.exchange(open, until: "</stream:features>")
        try await socket.exchange(
            """
            <iq xmlns='jabber:client' type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>
            """, until: "</iq>")
        // The room's subject ends the answer.
        try await socket.exchange(
            """
            <presence xmlns='jabber:client' to='\(room)/u\(user)'><x xmlns='http://jabber.org/protocol/muc'/></presence>
            """, until: "<subject")
    }

    func account() -> ProcessAccount? {
        ProcessAccount(roots: ["ejabberd": [Int(process.pid)], "postgres": [Int(postgresID)]])
    }
}
