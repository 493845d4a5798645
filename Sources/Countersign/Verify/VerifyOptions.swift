import AppStore
import Configuration
import Crypto
import Domain

/// The arguments of `countersign verify`.
struct VerifyOptions {
  /// Arguments that make no sense.
  struct Unusable: Error, CustomStringConvertible {
    let description: String
  }

  /// All of them.
  static let all = [
    CommandOption(
      "--kind KIND",
      "the expected kind: transaction, renewal-info, notification, app-transaction, receipt or auto (the default)"),
    CommandOption("--bundle-id ID", "an app to accept; may be given several times; the default is any app"),
    CommandOption(
      "--app-apple-id N",
      "Apple's id of the app; production notifications and app transactions need it if --bundle-id is given"),
    CommandOption(
      "--environment NAME",
      "Production, Sandbox, Xcode or LocalTesting; may be given several times; the default is the first two. With the "
        + "last two, nothing proves who signed"),
    CommandOption(
      "--root FILE",
      "a root certificate (DER or PEM) to trust instead of Apple's, for test data; may be given several times"),
    CommandOption(
      "--device-id ID", "the device that a receipt must belong to: its identifierForVendor or hardware address"),
    CommandOption("--batch", "one JSON request per line"),
  ]

  private static let knownEnvironments: Set<Environment> = [.production, .sandbox, .xcode, .localTesting]

  private(set) var isBatch = false
  private var kind: OfflineVerification.Kind?
  private var device: [UInt8]?
  private(set) var rootFiles: [String] = []
  private var bundleIds: [BundleId] = []
  private var appAppleId: Int64?
  private var environments: Set<Environment> = []
  /// The file with the signed text; `-` is standard input.
  private(set) var file = "-"

  init(_ arguments: [String]) throws(Unusable) {
    var rest = arguments[...]
    var files: [String] = []
    while let argument = rest.popFirst() {
      guard argument.hasPrefix("--") else {
        files.append(argument)
        continue
      }
      if argument == "--batch" {
        isBatch = true
        continue
      }
      guard let value = rest.popFirst() else { throw Unusable(description: "\(argument) needs a value") }
      try set(argument, to: value)
    }
    file = files.first ?? "-"
  }

  /// The environments that a line of a batch may name: production, sandbox, and whatever the options accept.
  var environmentsOfLines: Set<Environment> { environments.union([.production, .sandbox]) }

  /// The question about the data, or about a line of a batch that has no question of its own.
  var request: OfflineVerification.Request {
    OfflineVerification.Request(
      kind: kind, apps: apps(bundleIds: nil, appAppleId: nil, environments: nil), device: device)
  }

  /// Returns the apps and environments to accept: the given ones, else those of the options, else every app, in
  /// production and sandbox.
  func apps(
    bundleIds: [BundleId]?, appAppleId: Int64?, environments: Set<Environment>?
  ) -> AcceptedApps {
    let bundleIds = bundleIds ?? self.bundleIds
    let appAppleId = appAppleId ?? self.appAppleId
    let environments = environments ?? (self.environments.isEmpty ? [.production, .sandbox] : self.environments)
    guard !bundleIds.isEmpty else { return .anyApp(in: environments, appAppleId: appAppleId) }
    return AcceptedApps(
      bundleIds.map { AcceptedApps.App(bundleId: $0, appAppleId: appAppleId, environments: environments) })
  }

  private mutating func set(_ name: String, to value: String) throws(Unusable) {
    switch name {
    case "--kind":
      kind = OfflineVerification.Kind(name: value)
      guard kind != nil || value == "auto" else {
        let names = SignedDataKind.allCases.map(\.rawValue) + ["receipt", "auto"]
        throw Unusable(description: "there is no kind \(value)\(NearestName.question(value, among: names))")
      }
    case "--root": rootFiles.append(value)
    case "--bundle-id": bundleIds.append(BundleId(value))
    case "--app-apple-id":
      appAppleId = Int64(value)
      // 0 is none, and would accept every app.
      guard AppAppleId(appAppleId) != nil else {
        throw Unusable(description: "--app-apple-id needs a number other than 0")
      }
    case "--environment":
      let environment = Environment(value)
      guard Self.knownEnvironments.contains(environment) else {
        let names = Self.knownEnvironments.map(\.text).sorted()
        throw Unusable(description: "there is no environment \(value)\(NearestName.question(value, among: names))")
      }
      environments.insert(environment)
    case "--device-id":
      device = Hex.decode(value.filter { $0 != "-" && $0 != ":" })
      guard device?.isEmpty == false else {
        throw Unusable(description: "--device-id needs a UUID or hexadecimal digits")
      }
    default: throw Unusable(description: "there is no option \(name)")
    }
  }
}
