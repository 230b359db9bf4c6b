// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Postgres

/// Edits of function files and their effects through the migrator. Each test has its own database, because a database
/// has one record of functions.
@Suite(.timeLimit(.minutes(2)))
struct FunctionSetTests {
    /// A migrator, a pool, and a role to which functions are granted.
    private struct Fixture {
        let migrator: Migrator
        let pool: PostgresPool
        let role: String

        func apply(_ revision: Int = 1, _ files: String..., steps: [Migration] = []) async throws -> MigrationReport {
            let set = FunctionSet(
                revision: revision, files: files.enumerated().map { FunctionSet.File(name: "f\($0)", sql: $1) })
            return try await migrator.migrate(steps, functions: set, logger: TestDatabase.logger)
        }

        /// Returns all functions of the schema public, with the owner's and other grants.
        func functions() async throws -> String? {
            try await pool.value(
                """
                SELECT string_agg(p.oid::regprocedure || ' ' || (
                    SELECT coalesce(string_agg(a.grantee::regrole::text, ' ' ORDER BY a.grantee::regrole::text COLLATE "C"), '-')
                    FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee <> p.proowner), ', ' ORDER BY p.oid::regprocedure::text)
                FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
                """)
        }

        func names() async throws -> String? {
            try await pool.value(
                """
                SELECT string_agg(p.oid::regprocedure::text, ' ' ORDER BY p.oid::regprocedure::text COLLATE "C")
                FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
                """)
        }

        func place(of function: String) async throws -> String {
            try await pool.value("SELECT oid || ' ' || xmin FROM pg_proc WHERE oid = '\(function)'::regprocedure")
        }
    }

    private func withDatabase(_ body: (Fixture) async throws -> Void) async throws {
        let suffix = UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
        let url = try await TestDatabase.url()
        let admin = Migrator(configuration: try await TestDatabase.configuration())
        try await admin.execute(script: "CREATE DATABASE f_\(suffix)")
        try await admin.execute(script: "CREATE ROLE r_\(suffix)")
        var components = try #require(URLComponents(string: url))
        components.path = "/f_\(suffix)"
        let configuration = try await TestDatabase.configuration(url: components.string)
        let result: Result<Void, any Error>
        do {
            try await running(PostgresPool(configuration: configuration, mode: .exclusive, logger: TestDatabase.logger))
            { pool async throws in
                try await body(
                    Fixture(migrator: Migrator(configuration: configuration), pool: pool, role: "r_\(suffix)"))
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try await admin.execute(script: "DROP DATABASE f_\(suffix) WITH (FORCE)")
        try await admin.execute(script: "DROP ROLE r_\(suffix)")
        try result.get()
    }

    private func one(_ result: String) -> String {
        "CREATE OR REPLACE FUNCTION public.one() RETURNS int8 LANGUAGE sql AS $$ SELECT \(result)::int8 $$;"
    }
    private let two =
        "CREATE OR REPLACE FUNCTION public.two() RETURNS int8 LANGUAGE sql AS $$ SELECT public.one() + 1 $$;"

    @Test("files run once, and again when one of them has changed; a function is replaced in place")
    func replaced() async throws {
        try await withDatabase { database in
            // The first file uses a function that the second file creates.
            #expect(try await database.apply(1, two, one("1")).replacedFunctions)
            #expect(try await database.pool.value("SELECT public.two()") == 2)
            let place = try await database.place(of: "public.two()")
            #expect(try await database.apply(1, two, one("1")).replacedFunctions == false)
            #expect(try await database.place(of: "public.two()") == place)
            #expect(try await database.apply(1, two, one("5")).replacedFunctions)
            #expect(try await database.pool.value("SELECT public.two()") == 6)
            let oid: String = place.split(separator: " ").map(String.init)[0]
            #expect(try await database.place(of: "public.two()").hasPrefix("\(oid) "))
        }
    }

    @Test("a function or overload missing from the files is dropped; foreign functions stay")
    func dropped() async throws {
        try await withDatabase { database in
            try await database.migrator.execute(
                script: "CREATE FUNCTION public.theirs() RETURNS int8 LANGUAGE sql AS 'SELECT 1::int8'")
            let overload =
                "CREATE OR REPLACE FUNCTION public.one(more int8) RETURNS int8 LANGUAGE sql AS $$ SELECT more $$;"
            _ = try await database.apply(1, one("1"), overload, two)
            #expect(try await database.names() == "one() one(bigint) theirs() two()")
            _ = try await database.apply(2, one("1"))
            #expect(try await database.names() == "one() theirs()")
        }
    }

    @Test("only roles with a grant in the files may execute a function")
    func grants() async throws {
        try await withDatabase { database in
            let grant = "GRANT EXECUTE ON FUNCTION public.one TO \(database.role);"
            _ = try await database.apply(1, one("1") + grant, two)
            #expect(try await database.functions() == "one() \(database.role), two() -")
            _ = try await database.apply(1, one("1"), two + grant.replacingOccurrences(of: "one", with: "two"))
            #expect(try await database.functions() == "one() -, two() \(database.role)")
            _ = try await database.apply(1, one("1"), two)
            #expect(try await database.functions() == "one() -, two() -")
        }
    }

    @Test("a function with a changed result type is recreated with its dependents")
    func result() async throws {
        try await withDatabase { database in
            _ = try await database.apply(1, one("1"), two)
            let other = "CREATE OR REPLACE FUNCTION public.one() RETURNS text LANGUAGE sql AS $$ SELECT '7'::text $$;"
            let user =
                "CREATE OR REPLACE FUNCTION public.two() RETURNS int8 LANGUAGE sql AS $$ SELECT public.one()::int8 + 1 $$;"
            _ = try await database.apply(1, other, user)
            #expect(try await database.pool.value("SELECT public.two()") == 8)
            #expect(try await database.functions() == "one() -, two() -")
        }
    }

    @Test(
        "a shorter overload is dropped although a body refers to it; the body then refers to the longer one",
        arguments: ["int4", "int8"])
    func shorterOverload(type: String) async throws {
        try await withDatabase { database in
            let user =
                "CREATE OR REPLACE FUNCTION public.two() RETURNS int8 LANGUAGE sql RETURN public.one(1::\(type));"
            _ = try await database.apply(
                1, "CREATE OR REPLACE FUNCTION public.one(a \(type)) RETURNS int8 LANGUAGE sql RETURN a;", user)
            _ = try await database.apply(
                2,
                "CREATE OR REPLACE FUNCTION public.one(a int8, b int8 DEFAULT 5) RETURNS int8 LANGUAGE sql RETURN a + b;",
                user)
            #expect(try await database.names() == "one(bigint,bigint) two()")
            #expect(try await database.pool.value("SELECT public.two()") == 6)
        }
    }

    @Test("a function with indirect foreign dependents stays when another function is recreated")
    func neededThroughAnother() async throws {
        try await withDatabase { database in
            let parsed = "CREATE OR REPLACE FUNCTION public.two() RETURNS int8 LANGUAGE sql RETURN public.one() + 1;"
            let three = "CREATE OR REPLACE FUNCTION public.three() RETURNS int8 LANGUAGE sql RETURN 3;"
            _ = try await database.apply(1, one("1"), parsed, three)
            try await database.migrator.execute(script: "CREATE VIEW public.theirs AS SELECT public.two() AS two")
            let place = try await database.place(of: "public.one()").split(separator: " ")[0]
            _ = try await database.apply(
                2, one("5"), parsed,
                "CREATE OR REPLACE FUNCTION public.three() RETURNS text LANGUAGE sql RETURN 'three';")
            #expect(try await database.pool.value("SELECT public.three()") == "three")
            #expect(try await database.pool.value("SELECT two FROM public.theirs") == 6)
            #expect(try await database.place(of: "public.one()").split(separator: " ")[0] == place)
        }
    }

    @Test("a recreated function keeps its owner and has the grants of the files")
    func owner() async throws {
        try await withDatabase { database in
            let grant = "GRANT EXECUTE ON FUNCTION public.one TO pg_monitor;"
            _ = try await database.apply(1, one("1") + grant)
            try await database.migrator.execute(script: "ALTER FUNCTION public.one() OWNER TO \(database.role)")
            _ = try await database.apply(
                2,
                "CREATE OR REPLACE FUNCTION public.one() RETURNS text LANGUAGE sql AS $$ SELECT '7'::text $$;" + grant)
            #expect(try await database.pool.value("SELECT public.one()") == "7")
            #expect(try await database.functions() == "one() pg_monitor")
            #expect(
                try await database.pool.value(
                    "SELECT proowner::regrole::text FROM pg_proc WHERE oid = 'public.one()'::regprocedure")
                    == database.role
            )
        }
    }

    /// A table, two functions with parsed bodies that use its row type, one of which calls the other, and a function
    /// with a text body.
    private struct RowType {
        static let table = Migration(
            version: 1, name: "table", sql: "CREATE TABLE public.t (a int8); INSERT INTO public.t VALUES (1), (-1)")
        static let isPositive =
            "CREATE OR REPLACE FUNCTION public.is_positive(x public.t) RETURNS bool LANGUAGE sql IMMUTABLE RETURN (x).a > 0;"
        static let positives = """
            CREATE OR REPLACE FUNCTION public.positives() RETURNS int8 LANGUAGE sql
            BEGIN ATOMIC SELECT count(*) FROM public.t WHERE public.is_positive(t); END;
            """
        static let byText =
            "CREATE OR REPLACE FUNCTION public.by_text(x public.t) RETURNS bool LANGUAGE sql AS $$ SELECT (x).a > 0 $$;"
        static let steps = [
            table, Migration(version: 2, name: "plain", sql: "ALTER TABLE public.t ADD COLUMN c text"),
            Migration(version: 3, name: "default", sql: "ALTER TABLE public.t ADD COLUMN b int8 NOT NULL DEFAULT 3"),
            Migration(version: 4, name: "type", sql: "ALTER TABLE public.t ALTER COLUMN a TYPE numeric"),
            Migration(version: 5, name: "later", sql: "CREATE INDEX t_b ON public.t (b)"),
        ]
    }

    @Test("a step alters a table whose row type functions use, and they are recreated with owners and grants")
    func rowType() async throws {
        try await withDatabase { database in
            let files =
                RowType.isPositive + "GRANT EXECUTE ON FUNCTION public.is_positive TO pg_monitor;" + RowType.positives
                + RowType.byText
            _ = try await database.apply(1, files, steps: [RowType.table])
            try await database.migrator.execute(
                script:
                    "GRANT CREATE ON SCHEMA public TO \(database.role); ALTER FUNCTION public.is_positive OWNER TO \(database.role)"
            )
            let (functions, text) = (
                try await database.functions(), try await database.place(of: "public.by_text(public.t)")
            )
            #expect(functions == "by_text(t) -, is_positive(t) pg_monitor, positives() -")
            let report = try await database.apply(1, files, steps: RowType.steps)
            #expect(report.steps == Array(RowType.steps.dropFirst()))
            #expect(try await database.functions() == functions)
            #expect(try await database.pool.value("SELECT public.positives()") == 1)
            #expect(
                try await database.pool.value("SELECT count(*) FROM public.t WHERE public.by_text(t) AND b = 3") == 1)
            #expect(
                try await database.pool.value(
                    "SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'is_positive'") == database.role)
            // A text body does not block the step, so that function is replaced in place.
            let oid: String = text.split(separator: " ").map(String.init)[0]
            #expect(try await database.place(of: "public.by_text(public.t)").hasPrefix("\(oid) "))
            #expect(try await database.apply(1, files, steps: RowType.steps).replacedFunctions == false)
        }
    }

    @Test("a function changes its result in the release whose step alters the table's row type")
    func rowTypeAndResult() async throws {
        try await withDatabase { database in
            _ = try await database.apply(1, RowType.isPositive + RowType.positives, steps: [RowType.table])
            let other =
                "CREATE OR REPLACE FUNCTION public.is_positive(x public.t) RETURNS text LANGUAGE sql RETURN CASE WHEN (x).b > 0 THEN 'yes' END;"
            _ = try await database.apply(2, other, steps: RowType.steps)
            #expect(try await database.names() == "is_positive(t)")
            #expect(try await database.pool.value("SELECT public.is_positive(t) FROM public.t LIMIT 1") == "yes")
        }
    }

    @Test("a failing step after functions were dropped for it undoes everything and names itself")
    func rowTypeFailure() async throws {
        try await withDatabase { database in
            _ = try await database.apply(1, RowType.isPositive, steps: [RowType.table])
            var steps = RowType.steps
            steps[4] = Migration(version: 5, name: "broken", sql: "SELECT 1/0")
            let error = try await #require(throws: PostgresError.self) {
                try await database.apply(1, RowType.isPositive, steps: steps)
            }
            #expect(error.reason == "migration 5 (broken) failed" && error.sqlState == "22012")
            #expect(try await database.names() == "is_positive(t)")
            #expect(try await database.pool.value("SELECT count(*) FROM public.t WHERE public.is_positive(t)") == 1)
            // A function that is not in the files is not dropped.
            try await database.migrator.execute(
                script: RowType.isPositive.replacingOccurrences(of: "is_positive", with: "theirs"))
            let step = Migration(version: 9, name: "theirs", sql: "ALTER TABLE public.t ALTER COLUMN a TYPE text")
            let refusal = try await #require(throws: PostgresError.self) {
                try await database.apply(1, RowType.isPositive, steps: [RowType.table, step])
            }
            #expect(refusal.reason == "migration 9 (theirs) failed")
            #expect(try await database.names() == "is_positive(t) theirs(t)")
        }
    }

    @Test("a function is recreated while another one is missing from the files")
    func madeAnewAndGone() async throws {
        try await withDatabase { database in
            _ = try await database.apply(1, one("1"), two)
            _ = try await database.apply(
                2, "CREATE OR REPLACE FUNCTION public.one() RETURNS text LANGUAGE sql AS $$ SELECT '7'::text $$;")
            #expect(try await database.names() == "one()")
        }
    }

    @Test("an error in a file, a body or a drop undoes everything and names the location")
    func failure() async throws {
        try await withDatabase { database in
            _ = try await database.apply(1, one("1"), two)
            func refused(_ files: String...) async throws -> PostgresError {
                let set = FunctionSet(
                    revision: 2, files: files.enumerated().map { FunctionSet.File(name: "file\($0)", sql: $1) })
                let step = Migration(version: 1, name: "step", sql: "CREATE TABLE public.t ()")
                return try await #require(throws: PostgresError.self) {
                    try await database.migrator.migrate([step], functions: set, logger: TestDatabase.logger)
                }
            }
            #expect(try await refused(one("1"), "SELEC").reason == "function file file1 failed")
            #expect(try await refused(one("no_such_column"), two).sqlState == "42703")
            try await database.migrator.execute(script: "CREATE VIEW public.theirs AS SELECT public.two()")
            #expect(
                try await refused(one("2")).reason == "functions that are no longer in the files could not be dropped")
            // The migration in the same transaction was rolled back, too.
            #expect(try await database.pool.value("SELECT to_regclass('public.t') IS NULL"))
            #expect(try await database.pool.value("SELECT public.one()") == 1)
            #expect(try await refused(one("2"), "COMMIT").reason?.contains("file1 ended its own transaction") == true)
        }
    }

    @Test("the functions of a newer release stay unchanged")
    func newer() async throws {
        try await withDatabase { database in
            _ = try await database.apply(2, one("2"))
            #expect(try await database.apply(1, one("1"), two).replacedFunctions == false)
            #expect(try await database.pool.value("SELECT public.one()") == 2)
            #expect(try await database.apply(3, one("3")).replacedFunctions)
            #expect(try await database.pool.value("SELECT public.one()") == 3)
        }
    }

    @Test("one of several concurrent migrators replaces the functions")
    func concurrent() async throws {
        try await withDatabase { database in
            _ = try await database.apply(1, one("1"))
            let replaced = try await withThrowingTaskGroup(of: Bool.self) { tasks in
                for _ in 0..<6 {
                    tasks.addTask { try await database.apply(1, self.one("2"), self.two).replacedFunctions }
                }
                var all: [Bool] = []
                for try await one in tasks { all.append(one) }
                return all
            }
            #expect(replaced.count { $0 } == 1)
            #expect(try await database.pool.value("SELECT public.two()") == 3)
        }
    }
}
