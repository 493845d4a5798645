// swift-tools-version: 6.2
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

/// jemalloc allocates (decision 0013), unless COUNTERSIGN_ALLOCATOR is `system`: a sanitizer brings its own malloc, and ends the
/// process at the first free of what jemalloc gave out.
let hasJemalloc = Context.environment["COUNTERSIGN_ALLOCATOR"] != "system"

func library(_ name: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings + more)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

func system(_ name: String, pkgConfig: String, apt: String) -> Target {
  .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

let package = Package(
  name: "countersign",
  products: [.executable(name: "countersign", targets: ["Countersign"])],
  targets: [
    // C libraries: a module map and a shim header each. Only X imports CX.
    system("CRabbitMQ", pkgConfig: "librabbitmq", apt: "librabbitmq-dev"),
    .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
    system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    system("COpenSSL", pkgConfig: "openssl", apt: "libssl-dev"),
    system("CJemalloc", pkgConfig: "jemalloc", apt: "libjemalloc-dev"),
    system("CUV", pkgConfig: "libuv", apt: "libuv1-dev"),
    system("CMicroHTTPD", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    system("CNGHTTP2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),

    // The loop and the drivers.
    library(
      "EventLoop", ["CUV"] + (hasJemalloc ? ["CJemalloc"] : []), hasJemalloc ? [.define("JEMALLOC")] : []),
    library("AMQP", ["CRabbitMQ", "EventLoop"]),
    library("Redis", ["CHiredis", "EventLoop"]),
    library("HTTPClient", ["CCurl", "EventLoop"]),
    library("HTTPServer", ["CMicroHTTPD", "EventLoop"]),
    library("Crypto", ["COpenSSL"]),
    library("JSON", []),
    library("HTTP2", ["CNGHTTP2", "Crypto", "EventLoop", "HTTPClient"]),
    library("Observability", ["Crypto", "JSON", "EventLoop"]),

    // Apple, the domain, and what the roles share.
    library("AppStore", ["Crypto", "HTTP2", "HTTPClient", "JSON", "EventLoop", "Observability"]),
    library("Purchases", ["JSON"]),
    library("Configuration", ["Crypto", "JSON", "Purchases"]),
    library(
      "Fleet",
      ["AMQP", "Redis", "HTTPServer", "Crypto", "JSON", "Purchases", "Configuration", "Observability", "EventLoop"]),

    // The roles.
    library(
      "Gateway",
      [
        "Fleet", "HTTPServer", "Redis", "AMQP", "Configuration", "Crypto", "JSON", "EventLoop", "Observability",
        "Purchases",
      ]),
    library(
      "Worker",
      [
        "Fleet", "AppStore", "HTTP2", "HTTPClient", "HTTPServer", "Redis", "AMQP", "Configuration", "EventLoop", "JSON",
        "Observability", "Purchases",
      ]),
    library(
      "Notifier",
      [
        "Fleet", "HTTPClient", "HTTPServer", "AMQP", "Redis", "Configuration", "Crypto", "JSON", "EventLoop",
        "Observability",
        "Purchases",
      ]),
    library("Simulator", ["HTTP2", "Crypto", "EventLoop", "JSON", "Observability"]),
    .executableTarget(
      name: "Countersign",
      dependencies: [
        "Gateway", "Worker", "Notifier", "Simulator", "AppStore", "Configuration", "Crypto", "Fleet", "JSON",
        "Observability", "EventLoop",
      ],
      swiftSettings: settings),

    // The measured runs behind ops/bench.
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "AppStore", "Crypto", "Fleet", "AMQP", "Redis", "HTTPClient", "HTTPServer", "Purchases", "EventLoop",
      ], swiftSettings: settings),

    library(
      "TestSupport",
      ["EventLoop", "Fleet", "AMQP", "Redis", "HTTPClient", "HTTPServer", "Simulator", "Crypto", "Purchases"]),
    // Whole fleets broken on purpose, behind ops/chaos.
    .executableTarget(
      name: "Chaos",
      dependencies: ["TestSupport", "Fleet", "Simulator", "AMQP", "HTTPClient", "EventLoop", "Observability"],
      swiftSettings: settings),
    tests(
      "UnitTests",
      [
        "AMQP", "AppStore", "Chaos", "Configuration", "Crypto", "EventLoop", "Fleet", "Gateway", "HTTPClient",
        "HTTPServer", "JSON", "Notifier", "Observability", "Purchases", "Redis", "Simulator", "TestSupport", "Worker",
      ]),
    tests(
      "IntegrationTests",
      [
        "AMQP", "Redis", "HTTPClient", "HTTPServer", "HTTP2", "Simulator", "AppStore", "Crypto", "Fleet", "JSON",
        "Purchases", "TestSupport", "EventLoop",
      ]),
    tests(
      "FleetTests",
      [
        "TestSupport", "Chaos", "Fleet", "Simulator", "AMQP", "Redis", "HTTPClient", "HTTPServer", "Crypto", "JSON",
        "EventLoop",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// Only for ops/fuzz: libFuzzer brings the main function, so that nothing else could link this.
if Context.environment["COUNTERSIGN_FUZZ"] == "1" {
  package.targets.append(
    .executableTarget(
      name: "Fuzzing", dependencies: ["AppStore", "Crypto", "JSON"],
      swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])]))
}
