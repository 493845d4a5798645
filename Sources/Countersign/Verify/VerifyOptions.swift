import AppStore
import Crypto
import Domain

/// The arguments of `countersign verify`.
struct VerifyOptions {
  /// Arguments that make no sense.
  struct Unusable: Error, CustomStringConvertible {
    let description: String
  }

  private static let knownEnvironments: Set<Environment> = [.production, .sandbox, .xcode, .localTesting]
  private static let names = ["--kind", "--root", "--bundle-id", "--app-apple-id", "--environment", "--device-id"]

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
      guard Self.names.contains(where: { argument == $0 || argument.hasPrefix("\($0)=") }) else {
        throw Unusable(description: "there is no option \(argument)")
      }
      // Both `--name value` and `--name=value`.
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
        throw Unusable(description: "\(argument) needs a value")
      }
      try set(parts[0], to: value)
    }
    guard files.count <= 1 else { throw Unusable(description: "more than one file is given") }
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
      guard kind != nil || value == "auto" else { throw Unusable(description: "there is no kind \(value)") }
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
        throw Unusable(description: "there is no environment \(value)")
      }
      environments.insert(environment)
    case "--device-id":
      device = Hex.decode(value.filter { $0 != "-" && $0 != ":" })
      guard device?.isEmpty == false else {
        throw Unusable(description: "--device-id needs a UUID or hexadecimal digits")
      }
    default: preconditionFailure("An option is listed but not handled.")
    }
  }
}
