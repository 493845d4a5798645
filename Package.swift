// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Every Swift target is built with these.
let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
  .enableUpcomingFeature("ExistentialAny"),
  // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
  // An import is internal unless it says otherwise: no C type can leave the target that wraps it.
  .enableUpcomingFeature("InternalImportsByDefault"),
  // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
  .enableUpcomingFeature("MemberImportVisibility"),
  // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
  // An async function stays on its caller's executor, so nothing leaves the loop by accident.
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The drivers, the formats and what stands in for Apple are optimized in debug builds, too: all other code calls them,
/// and without it the tests would wait for them. Assertions stay (decision 0066). For a debugger,
/// `COUNTERSIGN_OPTIMIZE` is `none`.
func optimization(of path: String) -> [SwiftSetting] {
  guard path.hasPrefix("Platform/") || path.hasPrefix("Simulator"),
    Context.environment["COUNTERSIGN_OPTIMIZE"] != "none"
  else { return [] }
  return [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
}

/// jemalloc allocates memory (decision 0013), unless COUNTERSIGN_ALLOCATOR is `system`.
/// A sanitizer brings its own malloc: it ends the process at the first free of memory that jemalloc gave out.
let hasJemalloc = Context.environment["COUNTERSIGN_ALLOCATOR"] != "system"

/// A library of ours; its folder is `Sources/path`.
func library(
  _ name: String, _ path: String, exclude: [String] = [], _ dependencies: [Target.Dependency],
  _ more: [SwiftSetting] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(path)", exclude: exclude,
    swiftSettings: settings + optimization(of: path) + more)
}

func executable(_ name: String, _ path: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(name: name, dependencies: dependencies, path: "Sources/\(path)", swiftSettings: settings)
}

/// What tests and the laboratory share; its folder is `Tests/path`.
func support(_ name: String, _ path: String, _ dependencies: [Target.Dependency]) -> Target {
  .target(name: name, dependencies: dependencies, path: "Tests/\(path)", swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings)
}

/// A C library: a module map and a shim header in `Sources/C`. Only the target X imports CX.
func system(_ name: String, pkgConfig: String? = nil, apt: String) -> Target {
  .systemLibrary(name: name, path: "Sources/C/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// The commit of a release, for `countersign --version`. `COUNTERSIGN_COMMIT` names it. A build of a checkout has none:
/// otherwise each commit would compile it again.
let commit = Context.environment["COUNTERSIGN_COMMIT"].map { $0.filter(\.isHexDigit) } ?? ""

// Targets stand from the bottom to the top: each may depend only on targets above it in this file.
let package = Package(
  name: "countersign",
  products: [.executable(name: "countersign", targets: ["Countersign"])],
  targets: [
    // C libraries.
    system("CRabbitMQ", pkgConfig: "librabbitmq", apt: "librabbitmq-dev"),
    system("CHiredis", apt: "libhiredis-dev"),
    system("CPQ", pkgConfig: "libpq", apt: "libpq-dev"),
    system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    system("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
    system("CJemalloc", pkgConfig: "jemalloc", apt: "libjemalloc-dev"),
    system("CUV", pkgConfig: "libuv", apt: "libuv1-dev"),
    system("CMicroHTTPD", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    system("CNGHTTP2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),
    system("CLinux", apt: "libc6-dev"),
    .target(
      name: "CBuild", path: "Sources/C/CBuild", cSettings: [.define("COUNTERSIGN_COMMIT", to: "\"\(commit)\"")]),

    // Platform: the loop, the drivers and the formats.
    library(
      "EventLoop", "Platform/EventLoop", ["CUV", "Formats"] + (hasJemalloc ? ["CJemalloc"] : []),
      hasJemalloc ? [.define("JEMALLOC")] : []),
    library("Formats", "Platform/Formats", []),
    library("Crypto", "Platform/Crypto", ["COpenSSL", "Formats"]),
    library("JSON", "Platform/JSON", ["Formats"]),
    library("HTTP", "Platform/HTTP", ["EventLoop", "Formats"]),
    library("Transport", "Platform/Transport", ["Crypto", "EventLoop", "Formats"]),
    library("AMQP", "Platform/AMQP", ["CRabbitMQ", "Crypto", "EventLoop", "Formats", "Transport"]),
    library("Redis", "Platform/Redis", ["CHiredis", "Crypto", "EventLoop", "Formats", "Transport"]),
    library("Postgres", "Platform/Postgres", ["CPQ", "EventLoop", "Formats"]),
    library("HTTPClient", "Platform/HTTPClient", ["CCurl", "EventLoop", "HTTP"]),
    library("HTTPServer", "Platform/HTTPServer", ["CMicroHTTPD", "EventLoop", "Formats"]),
    library("HTTP2", "Platform/HTTP2", ["CNGHTTP2", "Crypto", "EventLoop", "Formats", "HTTP"]),
    library("Observability", "Platform/Observability", ["Crypto", "EventLoop", "Formats", "JSON"]),

    // The domain, Apple, and what the roles share.
    library("Domain", "Domain", ["Crypto", "Formats", "JSON"]),
    library("Import", "Import", ["Crypto", "Domain", "Formats", "JSON"]),
    library(
      "AppStore", "AppStore", ["Crypto", "Domain", "EventLoop", "Formats", "HTTP", "HTTP2", "JSON"]),
    library(
      "Configuration", "Service/Configuration",
      ["CLinux", "Crypto", "Domain", "EventLoop", "Formats", "JSON", "Transport"]),
    library("Messaging", "Messaging", ["AMQP", "Crypto", "Domain", "EventLoop", "Formats", "JSON"]),
    library("Coordination", "Coordination", ["Domain", "EventLoop", "Formats", "JSON", "Redis"]),
    library("Ledger", "Ledger", ["Crypto", "Domain", "EventLoop", "Formats", "JSON", "Postgres"]),
    library(
      "Service", "Service", exclude: ["Configuration"],
      [
        "AMQP", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats", "HTTP", "HTTPClient",
        "HTTPServer", "Ledger", "Messaging", "Observability", "Postgres", "Redis", "Transport",
      ]),

    library(
      "AppleCalls", "AppleCalls",
      [
        "AppStore", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats", "HTTP", "HTTP2",
        "HTTPClient", "Observability",
      ]),

    // The roles.
    library(
      "Gateway", "Gateway",
      [
        "AMQP", "AppStore", "AppleCalls", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats",
        "HTTP2", "HTTPServer", "Import", "JSON", "Ledger", "Messaging", "Observability", "Postgres", "Redis", "Service",
      ]),
    library(
      "Doors", "Doors",
      [
        "AppStore", "Configuration", "Crypto", "Domain", "EventLoop", "Formats", "Gateway", "HTTPServer", "JSON",
        "Ledger", "Observability", "Postgres", "Service", "Transport",
      ]),
    library(
      "Worker", "Worker",
      [
        "AMQP", "AppStore", "AppleCalls", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats",
        "HTTP", "HTTP2", "Import", "JSON", "Ledger", "Messaging", "Observability", "Postgres", "Redis", "Service",
      ]),
    library(
      "Notifier", "Notifier",
      [
        "AMQP", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats", "HTTP", "HTTPClient",
        "Ledger", "Messaging", "Observability", "Postgres", "Service", "Transport",
      ]),
    library(
      "Console", "Console",
      [
        "AMQP", "AppStore", "AppleCalls", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats",
        "HTTP", "HTTP2", "HTTPClient", "HTTPServer", "JSON", "Ledger", "Messaging", "Observability",
        "Postgres", "Redis", "Service",
      ]),
    library("HTTP2Server", "Simulator/HTTP2Server", ["Crypto", "EventLoop", "HTTP2"]),
    library(
      "Simulator", "Simulator", exclude: ["HTTP2Server"],
      ["Crypto", "EventLoop", "Formats", "HTTP", "HTTP2Server", "HTTPClient", "JSON", "Observability"]),
    executable(
      "Countersign", "Countersign",
      [
        "AMQP", "AppStore", "AppleCalls", "CBuild", "Configuration", "Console", "Coordination", "Crypto", "Domain",
        "Doors", "EventLoop", "Formats", "Gateway", "HTTP", "HTTP2", "HTTPClient", "HTTPServer", "Import", "JSON",
        "Ledger", "Messaging", "Notifier", "Observability", "Postgres", "Redis", "Service", "Simulator", "Worker",
      ]),

    // Beside the tests: what runs, breaks and measures whole fleets. No target above this line needs it.
    support("TestSupport", "Support/Platform", ["Crypto", "EventLoop"]),
    support("DomainSupport", "Support/Domain", ["Domain", "Formats", "JSON"]),
    support(
      "RoleSupport", "Support/Roles",
      ["AppStore", "Configuration", "Crypto", "Domain", "EventLoop", "Service", "TestSupport"]),
    support(
      "Fleets", "Laboratory/Fleets",
      [
        "AMQP", "AppStore", "Configuration", "Crypto", "Domain", "Doors", "EventLoop", "Formats", "HTTP",
        "HTTPClient", "HTTPServer", "JSON", "Ledger", "Messaging", "Postgres", "Redis", "Simulator", "TestSupport",
      ]),
    .executableTarget(
      name: "Chaos",
      dependencies: [
        "AMQP", "Crypto", "Domain", "Doors", "EventLoop", "Fleets", "Formats", "HTTP", "Messaging", "Observability",
        "Redis", "Simulator", "TestSupport",
      ], path: "Tests/Laboratory/Chaos", swiftSettings: settings),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "AMQP", "AppStore", "CPQ", "Configuration", "Coordination", "Crypto", "Domain", "Doors", "EventLoop",
        "Formats", "Gateway", "HTTP", "HTTPClient", "HTTPServer", "JSON", "Ledger", "Messaging", "Postgres", "Redis",
      ], path: "Tests/Laboratory/Benchmarks", swiftSettings: settings),
    support(
      "ServerSupport", "Support/Servers",
      ["Crypto", "Domain", "EventLoop", "Fleets", "HTTPServer", "Ledger", "Postgres", "TestSupport"]),

    // One test target a layer; they need no servers. Then those with real servers, and whole roles as processes.
    tests(
      "PlatformTests",
      [
        "AMQP", "CRabbitMQ", "Crypto", "EventLoop", "Formats", "HTTPClient", "HTTPServer", "JSON", "Observability",
        "Postgres", "Redis", "TestSupport", "Transport",
      ]),
    tests("DomainTests", ["Crypto", "Domain", "DomainSupport", "Formats", "JSON", "TestSupport"]),
    tests(
      "AppStoreTests",
      [
        "AppStore", "Crypto", "Domain", "EventLoop", "Formats", "HTTP", "JSON", "Observability", "RoleSupport",
        "TestSupport",
      ]),
    tests(
      "AppleCallsTests",
      [
        "AppStore", "AppleCalls", "Coordination", "Crypto", "Domain", "EventLoop", "HTTP", "Observability",
        "RoleSupport", "TestSupport",
      ]),
    tests("ImportTests", ["Domain", "DomainSupport", "Formats", "Import", "JSON"]),
    tests("MessagingTests", ["AMQP", "Crypto", "Domain", "EventLoop", "Formats", "JSON", "Messaging"]),
    tests("CoordinationTests", ["Coordination", "Domain", "Redis"]),
    tests("LedgerTests", ["Crypto", "Domain", "Formats", "JSON", "Ledger", "Postgres"]),
    tests(
      "ServiceTests",
      [
        "AMQP", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats", "HTTPServer", "JSON",
        "Ledger", "Observability", "Postgres", "Redis", "RoleSupport", "Service", "TestSupport", "Transport",
      ]),
    tests(
      "GatewayTests",
      [
        "AMQP", "AppStore", "AppleCalls", "Configuration", "Crypto", "Domain", "DomainSupport", "EventLoop", "Formats",
        "Gateway", "HTTP", "HTTPServer", "Import", "JSON", "Ledger", "Observability", "Postgres", "Redis",
        "RoleSupport", "Service", "TestSupport", "Transport",
      ]),
    tests(
      "DoorsTests",
      [
        "AppStore", "Configuration", "Crypto", "Domain", "DomainSupport", "Doors", "EventLoop", "Formats",
        "Gateway", "HTTPServer", "Import", "JSON", "Ledger", "Notifier", "Observability", "RoleSupport", "Service",
        "TestSupport", "Transport",
      ]),
    tests(
      "WorkerTests",
      [
        "AMQP", "AppStore", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Formats", "HTTP",
        "Import", "JSON", "Ledger", "Messaging", "Observability", "Postgres", "Redis", "RoleSupport", "Service",
        "TestSupport", "Worker",
      ]),
    tests(
      "NotifierTests",
      [
        "AMQP", "Configuration", "Coordination", "Crypto", "Domain", "EventLoop", "Ledger", "Messaging", "Notifier",
        "Observability", "RoleSupport", "Service", "TestSupport",
      ]),
    tests(
      "ConsoleTests",
      [
        "AppStore", "AppleCalls", "Configuration", "Console", "Coordination", "Crypto", "Domain", "DomainSupport",
        "EventLoop", "Formats", "HTTP", "HTTPServer", "JSON", "Ledger", "Messaging", "Observability", "RoleSupport",
        "Service", "TestSupport",
      ]),
    tests(
      "CountersignTests",
      [
        "Configuration", "Countersign", "Crypto", "Domain", "Doors", "EventLoop", "Ledger", "Observability",
        "Postgres", "RoleSupport", "Service", "TestSupport",
      ]),
    tests("SimulatorTests", ["AppStore", "Crypto", "Domain", "Formats", "JSON", "Simulator"]),
    tests("LaboratoryTests", ["Chaos", "Fleets"]),
    tests(
      "DocumentsTests",
      [
        "Configuration", "Console", "Domain", "DomainSupport", "Doors", "EventLoop", "Formats", "Gateway", "HTTPServer",
        "JSON", "Ledger", "Notifier", "Observability", "RoleSupport", "Service", "Simulator", "TestSupport",
        "Transport", "Worker",
      ]),
    tests(
      "IntegrationTests",
      [
        "AMQP", "AppStore", "Coordination", "Crypto", "Domain", "DomainSupport", "Doors", "EventLoop", "Fleets",
        "Formats", "Gateway", "HTTP", "HTTP2", "HTTP2Server", "HTTPClient", "HTTPServer", "JSON", "Ledger",
        "Messaging", "Observability", "Postgres", "Redis", "ServerSupport", "Service", "Simulator", "TestSupport",
        "Transport",
      ]),
    tests(
      "FleetTests",
      [
        "AMQP", "Chaos", "Configuration", "Console", "Coordination", "Crypto", "Domain", "Doors", "EventLoop", "Fleets",
        "Formats", "HTTP", "HTTPClient", "HTTPServer", "JSON", "Ledger", "Messaging", "Postgres", "Redis",
        "ServerSupport", "Simulator", "TestSupport",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// Only for ops/fuzz: libFuzzer brings the main function, so that nothing else could link this.
if Context.environment["COUNTERSIGN_FUZZ"] == "1" {
  package.targets.append(
    .executableTarget(
      name: "Fuzzing",
      dependencies: [
        "AMQP", "AppStore", "CRabbitMQ", "Configuration", "Coordination", "Crypto", "Domain", "Doors", "EventLoop",
        "Formats", "Gateway", "HTTP", "HTTPClient", "HTTPServer", "JSON", "Ledger", "Messaging", "Notifier",
        "Observability", "Redis", "Service", "Transport", "Worker",
      ],
      path: "Tests/Laboratory/Fuzzing", swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]))
}

// `ops/test --layer Domain`: the package is what the tests of one layer need, so nothing else is compiled.
if let layer = Context.environment["COUNTERSIGN_LAYER"] {
  var needed: Set = [layer + "Tests"]
  for target in package.targets.reversed() where needed.contains(target.name) {
    for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
  }
  package.targets.removeAll { !needed.contains($0.name) }
  package.products = []
}
// The image and a release have the product's sources only.
if !FileManager.default.fileExists(atPath: Context.packageDirectory + "/Tests") {
  package.targets.removeAll { $0.path?.hasPrefix("Tests/") == true }
}
