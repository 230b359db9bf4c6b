// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Postgres

/// The result columns of ``GetContent``.
struct ContentGetColumns: ColumnSet {
    let mimeType: Column<String>
    let size: Column<Int64>
    let isUploaded: Column<Bool>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        mimeType = try names.column("mime_type")
        size = try names.column("size")
        isUploaded = try names.column("is_uploaded")
    }
}

/// The result columns of ``SweepContents``.
struct ContentsSweepColumns: ColumnSet {
    let content: Column<UUID>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        content = try names.column("content_id")
    }
}

/// The result columns of ``ReadContentSizes``.
struct ContentSizesColumns: ColumnSet {
    let content: Column<UUID>
    let size: Column<Int64>

    init(_ names: inout ColumnNames) throws(PostgresError) {
        content = try names.column("id")
        size = try names.column("size")
    }
}
