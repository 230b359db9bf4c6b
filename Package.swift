// SPDX-License-Identifier: Apache-2.0
// swift-tools-version: 6.2
import PackageDescription

/// Settings shared by every target of ours. CI adds `-warnings-as-errors` for them through STRATA_STRICT.
let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["STRATA_STRICT"] == "1" ? [.treatAllWarnings(as: .error)] : [])

// Products of other packages, named once.
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let nioFoundation = Target.Dependency.product(name: "NIOFoundationCompat", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let jwtKit = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "_CryptoExtras", package: "swift-crypto")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let swiftASN1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let swiftProtobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let collections = Target.Dependency.product(name: "Collections", package: "swift-collections")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

func library(_ name: String, _ path: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings)
}

func executable(
    _ name: String, _ path: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies + ["TestTiers"], path: "Tests/\(name)", swiftSettings: settings)
}

/// The load and the judge of deploy/smoke.sh, and the modules that only they need.
let soak: [Target] = [
    library("SeededRandom", "Tests/SeededRandom", []),
    library(
        "TestSupport", "Tests/Support",
        [
            "StrataModel", "Postgres", "Mutations", "Redis", "Schema", "LocalServers", "ProtocolClient", logging,
            nioCore, nioPosix, crypto, x509,
            swiftASN1,
        ]),
    library(
        "TestCluster", "Tests/Cluster",
        [
            "SeededRandom", "TestSupport", "ProtocolClient", "StrataCommand", "LocalServers", "Postgres", "Schema",
            logging, nioCore, nioPosix,
            nioHTTP1,
        ]),
    executable(
        "Soak", "Tests/Soak",
        [
            "SeededRandom", "TestCluster", "TestSupport", "ProtocolClient", "StrataCommand", "LocalServers",
            argumentParser,
        ]),
]

/// Tests, one target beside each module, and those that run the real executables; benchmarks; and the modules that they
/// need.
let checks: [Target] = [
    library("TestTiers", "Tests/Tiers", []),
    // Replaces the allocation functions of the program that all tests are linked into.
    .target(name: "CAllocationCounter", path: "Tests/CAllocationCounter"),
    executable(
        "KitClient", "Tests/KitClient", ["StrataKit", "TestCluster", "ProtocolClient", "StrataCommand", "LocalServers"]),
    tests("NetKitTests", ["NetKit", nioCore, nioPosix, nioEmbedded, logging]),
    tests("ModelTests", ["SeededRandom", "StrataModel"]),
    tests("WireTests", ["SeededRandom", "StrataWire", "StrataModel", nioCore]),
    tests(
        "RPCTests",
        [
            "NetKit", "RPC", "Contracts", "StrataModel", "SeededRandom", "TestSupport", swiftProtobuf, nioCore,
            nioPosix, nioEmbedded, nioSSL,
            lifecycle, logging, coreMetrics,
            metricsTestKit,
        ]),
    tests("PostgresTests", ["SeededRandom", "Postgres", "TestSupport", "LocalServers", logging]),
    tests(
        "RedisTests",
        ["SeededRandom", "NetKit", "Redis", "TestSupport", "LocalServers", nioCore, nioPosix, nioEmbedded, logging]),
    tests(
        "ServiceKitTests",
        [
            "ServiceKit", "Contracts", "StrataModel", "RPC", asyncHTTPClient, hummingbird, hummingbirdCore, nioCore,
            nioPosix, nioHTTP1,
            logging,
            metrics, coreMetrics, lifecycle,
            configuration,
        ]),
    tests(
        "ConversationsTests",
        [
            "SeededRandom", "DatabaseKit", "Conversations", "Contracts", "StrataModel", "Mutations", "TestSupport",
            "LocalServers", "Postgres",
            "Redis", "RPC",
            "Schema",
            "ServiceKit",
            crypto,
            cryptoExtras, swiftProtobuf, nioCore, nioPosix, lifecycle, logging,
        ]),
    tests(
        "MetadataTests",
        [
            "SeededRandom", "DatabaseKit", "ServiceKit", "Metadata", "Contracts", "StrataModel", "Mutations",
            "TestSupport", "Postgres", "Redis",
            logging,
        ]),
    tests(
        "PresenceTests",
        ["SeededRandom", "ServiceKit", "Presence", "Contracts", "StrataModel", "TestSupport", "Redis", logging]),
    tests(
        "WebhooksTests",
        [
            "Webhooks", "NetKit", "ServiceKit", "Contracts", "Postgres", "Schema", "StrataModel", "StrataWire",
            "TestCluster", "TestSupport", swiftProtobuf,
            asyncHTTPClient, crypto, nioCore, nioPosix, nioHTTP1, nioSSL, logging,
        ]),
    tests(
        "ConsoleTests",
        [
            "Console", "Contracts", "DatabaseKit", "Postgres", "RPC", "ServiceKit", "StrataModel", "TestSupport",
            asyncHTTPClient, hummingbird, httpTypes, nioCore, nioEmbedded, nioHTTP1, lifecycle, logging,
        ]),
    tests(
        "GatewayTests",
        [
            "CAllocationCounter", "SeededRandom", "Gateway", "FanOut", "Sync", "ProtocolDocs", "Contracts",
            "StrataModel", "StrataWire",
            "RPC", "ServiceKit", "NetKit", crypto,
            asyncHTTPClient, hummingbird, hummingbirdCore,
            httpTypes,
            nioCore, nioPosix, nioEmbedded, nioHTTP1, nioWebSocket, lifecycle, logging,
        ]),
    tests(
        "SimulationTests",
        [
            "SeededRandom", "Gateway", "FanOut", "Sync", "Presence", "Contracts", "Redis", "StrataModel", "StrataWire",
            "TestSupport",
            "ProtocolClient", "StrataCommand", nioCore, logging,
        ]),
    library("FuzzValues", "Tests/FuzzValues", ["SeededRandom", "ProtocolClient"]),
    tests(
        "StrataKitTests",
        [
            "SeededRandom", "FuzzValues", "StrataKit", "ChatExample", "StrataModel", "ProtocolClient",
            grdb,
            nioCore, nioPosix, nioEmbedded,
            nioWebSocket, logging,
        ]),
    tests(
        "StrataTests",
        [
            "StrataCommand", "StrataModel", "DatabaseKit", "TestCluster", "TestSupport", "Postgres", "RPC",
            "LocalServers", nioCore,
            nioPosix, argumentParser,
            cryptoExtras, x509, swiftASN1,
        ]),
    tests(
        "EndToEndTests",
        [
            "SeededRandom", "FuzzValues", "DatabaseKit", "ServiceKit", "Gateway", "StrataModel", "StrataKit",
            "ChatExample",
            "KitClient", "RPC",
            "TestCluster", "TestSupport",
            "ProtocolClient",
            "StrataCommand",
            "LocalServers",
            "Postgres", "Redis", nioCore, nioPosix, nioEmbedded, nioSSL, logging, crypto,
        ]),
    // Examples, each of which also has a package of its own.
    executable("HelloExample", "Examples/Hello/Sources", ["StrataKit"]),
    executable("ChatExample", "Examples/Chat/Sources", ["StrataKit"]),
    tests(
        "FaultTests",
        [
            "SeededRandom", "NetKit", "DatabaseKit", "Soak", "KitClient", "RPC", "TestCluster", "TestSupport",
            "ProtocolClient", "StrataCommand", "LocalServers", grdb,
        ]),
    tests("ConformanceTests", ["TestCluster", "TestSupport", "ProtocolClient", "LocalServers", crypto, cryptoExtras]),
    .executableTarget(
        name: "Bench",
        dependencies: [
            "StrataModel", "StrataWire", "NetKit", "RPC", "Postgres", "Redis", "LocalServers", "StrataCommand",
            "ProtocolClient", "StrataKit", "TestCluster", grdb, asyncHTTPClient, histogram,
            nioCore,
            nioPosix, nioHTTP1, nioWebSocket, nioSSL,
            logging, lifecycle, argumentParser,
        ],
        path: "Tests/Benchmarks", swiftSettings: settings),
    // A baseline of Bench, which starts it. It is written in C, so that the kernel is its only limit.
    .executableTarget(name: "Broadcaster", path: "Tests/Broadcaster"),
    // The decisions of the load generator: schedules, checks of deliveries, bounds, reports. A target of its own, because
    // no other target of tests imports Bench and its packages.
    tests("BenchTests", ["Bench", nioCore, nioPosix]),
]

/// The client library. It links neither libpq nor hiredis, nor a server.
let clients: [Target] = [
    library(
        "StrataKit", "Clients/StrataKit",
        ["StrataModel", "NetKit", "ProtocolClient", grdb, nioCore, nioPosix, collections, logging])
]

/// True for image builds: the executables of the services, `strata` and `soak`, without `Clients`, `Examples` and the
/// tests. One `swift build` makes all of them.
let isImageBuild = Context.environment["STRATA_IMAGE_BUILD"] == "1"

/// The commit that `strata --version` names: scripts/build.sh sets it for release builds, deploy/Dockerfile for images.
let commit = Context.environment["STRATA_COMMIT"] ?? ""

let package = Package(
    name: "strata",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "gateway", targets: ["Gateway"]),
        .executable(name: "conversations", targets: ["Conversations"]),
        .executable(name: "metadata", targets: ["Metadata"]),
        .executable(name: "presence", targets: ["Presence"]),
        .executable(name: "webhooks", targets: ["Webhooks"]),
        .executable(name: "console", targets: ["Console"]),
        .executable(name: "strata", targets: ["StrataMain"]),
        .executable(name: "soak", targets: ["Soak"]),
    ]
        + (isImageBuild
            ? []
            : [
                .library(name: "StrataKit", targets: ["StrataKit"]),
                .executable(name: "bench", targets: ["Bench"]),
            ]),
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
    ]
        + (isImageBuild
            ? []
            : [
                .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
                .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
            ]),
    targets: [
        // Shared: StrataModel imports nothing of ours; each target below imports only what stands above it.
        library("StrataModel", "Shared/Model", []),
        library("StrataWire", "Shared/Wire", ["StrataModel", nioCore]),
        library("NetKit", "Shared/NetKit", [nioCore, logging]),
        library(
            "RPC", "Shared/RPC",
            ["NetKit", nioCore, nioPosix, nioSSL, crypto, logging, metrics, coreMetrics, lifecycle, collections]),
        library(
            "Contracts", "Shared/Contracts", ["StrataModel", "RPC", swiftProtobuf, nioCore],
            exclude: ["Protos", "README.md"]),
        .systemLibrary(name: "CLibPQ", path: "Shared/CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        library("Postgres", "Shared/Postgres", ["NetKit", "CLibPQ", logging, metrics, lifecycle, collections]),
        .systemLibrary(name: "CHiredis", path: "Shared/CHiredis", providers: [.apt(["libhiredis-dev"])]),
        library(
            "Redis", "Shared/Redis",
            ["NetKit", "CHiredis", nioCore, nioPosix, nioSSL, crypto, logging, metrics, lifecycle, collections]),
        .systemLibrary(name: "CMalloc", path: "Shared/CMalloc"),
        .target(
            name: "CBuildInfo", path: "Shared/CBuildInfo",
            cSettings: commit.isEmpty ? [] : [.define("STRATA_COMMIT", to: commit)]),
        library(
            "ServiceKit", "Shared/ServiceKit",
            [
                "CBuildInfo", "CMalloc", "NetKit", "RPC", "Redis", hummingbird, hummingbirdCore,
                nioCore, nioPosix, nioHTTP1, nioSSL, crypto, logging,
                metrics, coreMetrics,
                lifecycle,
                unixSignals,
                configuration,
                systemPackage,
            ]),
        library(
            "DatabaseKit", "Shared/DatabaseKit",
            ["StrataModel", "NetKit", "Postgres", "ServiceKit", crypto, cryptoExtras, logging, metrics, lifecycle]),
        library("Mutations", "Shared/Mutations", ["StrataModel", "Postgres"]),
        // These embed files of Shared/Schema/, docs/ and Services/Console/Web/, with a directive that C has had since C23.
        .target(name: "CSchema", path: "Shared/CSchema", cSettings: [.disableWarning("c23-extensions")]),
        library("Schema", "Shared/Schema", ["CSchema", "Postgres"], exclude: ["Tables", "Functions"]),
        .target(name: "CProtocolDocs", path: "docs/CProtocolDocs", cSettings: [.disableWarning("c23-extensions")]),
        .target(
            name: "CConsoleWeb", path: "Services/Console/CConsoleWeb", cSettings: [.disableWarning("c23-extensions")]),
        library("ProtocolDocs", "docs/ProtocolDocs", ["CProtocolDocs", nioCore, crypto]),
        library("LocalServers", "Shared/LocalServers", [subprocess, systemPackage, logging]),
        library(
            "ProtocolClient", "Shared/ProtocolClient",
            [
                asyncHTTPClient, nioCore, nioPosix, nioHTTP1, nioWebSocket, nioSSL, nioFoundation, logging,
            ]),

        // Services: each is one executable.
        // What brings changes to sockets: it knows neither HTTP nor WebSocket, nor which services there are.
        library(
            "FanOut", "Services/Gateway/FanOut",
            ["StrataModel", "StrataWire", "Contracts", "Redis", nioCore, logging, metrics, coreMetrics]),
        // What brings one socket from the past to the present: values that say what to read and what to send.
        library("Sync", "Services/Gateway/Sync", ["FanOut", "StrataModel", nioCore]),
        executable(
            "Gateway", "Services/Gateway",
            [
                "FanOut", "Sync", "StrataModel", "StrataWire", "NetKit", "RPC", "Contracts", "Redis", "ServiceKit",
                "ProtocolDocs", asyncHTTPClient, swiftProtobuf,
                hummingbird,
                hummingbirdCore,
                hummingbirdTLS,
                nioCore, nioPosix, nioHTTP1, nioWebSocket, nioSSL, nioHTTPTypes, nioHTTPTypesHTTP1, httpTypes,
                crypto, logging, metrics, coreMetrics, lifecycle, configuration, collections,
            ], exclude: ["FanOut", "Sync"]),
        executable(
            "Conversations", "Services/Conversations",
            [
                "StrataModel", "NetKit", "RPC", "Contracts", "DatabaseKit", "Postgres", "Mutations", "Redis",
                "ServiceKit", crypto, cryptoExtras,
                logging, metrics,
                lifecycle,
                configuration, nioCore, nioPosix, collections, swiftProtobuf,
            ]),
        executable(
            "Metadata", "Services/Metadata",
            [
                "StrataModel", "RPC", "Contracts", "DatabaseKit", "Postgres", "Mutations", "Redis", "ServiceKit",
                logging, metrics, lifecycle,
                configuration,
                nioCore,
            ]),
        executable(
            "Presence", "Services/Presence",
            [
                "StrataModel", "RPC", "Contracts", "Redis", "ServiceKit", logging, metrics, lifecycle, configuration,
                nioCore,
            ]),
        // Calls strangers, and so has a process of its own.
        executable(
            "Webhooks", "Services/Webhooks",
            [
                "StrataModel", "StrataWire", "NetKit", "RPC", "Contracts", "DatabaseKit", "Postgres", "ServiceKit",
                asyncHTTPClient, swiftProtobuf,
                crypto,
                nioCore, nioPosix, nioHTTP1, nioSSL, logging, metrics, lifecycle,
            ]),
        // The pages of operators, on a port of their own. It has no right to apps' data but that of the services it calls.
        executable(
            "Console", "Services/Console",
            [
                "CConsoleWeb", "StrataModel", "StrataWire", "NetKit", "RPC", "Contracts", "DatabaseKit", "Postgres",
                "Redis", "ServiceKit", "ProtocolClient", hummingbird, hummingbirdCore, asyncHTTPClient, swiftProtobuf,
                crypto, cryptoExtras, nioCore, nioPosix, nioHTTP1, httpTypes, logging, metrics, lifecycle,
            ], exclude: ["CConsoleWeb", "Web", "Web.test"]),
        library(
            "StrataCommand", "Tools/strata",
            [
                "StrataModel", "CBuildInfo", "NetKit", "RPC", "Contracts", "DatabaseKit", "Postgres", "Schema",
                "LocalServers", "ProtocolClient", swiftProtobuf,
                jwtKit,
                crypto, cryptoExtras,
                x509, swiftASN1,
                asyncHTTPClient, subprocess, systemPackage, argumentParser, logging, nioCore, nioPosix, nioHTTP1,
                lifecycle,
            ], exclude: ["Main"]),
        executable("StrataMain", "Tools/strata/Main", ["StrataCommand", argumentParser]),
    ] + soak + (isImageBuild ? [] : clients + checks)
)
