// SPDX-License-Identifier: Apache-2.0
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Chat",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "chat", targets: ["Chat"])],
    // In a package of your own: .package(url: "…", from: "…")
    dependencies: [.package(name: "strata", path: "../..")],
    targets: [.executableTarget(name: "Chat", dependencies: [.product(name: "StrataKit", package: "strata")])]
)
