/// One of Apple's two environments, by its base URL.
enum StoreEnvironment: String, CaseIterable, Sendable {
  case production
  case sandbox

  /// The name in payloads.
  var name: String {
    switch self {
    case .production: "Production"
    case .sandbox: "Sandbox"
    }
  }

  var other: StoreEnvironment {
    switch self {
    case .production: .sandbox
    case .sandbox: .production
    }
  }
}
