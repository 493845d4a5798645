import AppStore
import Configuration
import Domain

/// The arguments of `countersign test-notification`.
struct TestNotificationOptions {
  var bundleId: BundleId = ""
  var environment = Environment.production
  var publisherId: PublisherId?
  /// The arguments that name the configuration.
  var rest: [String] = []

  /// - Throws: `UsageError`.
  init(_ arguments: [String]) throws(UsageError) {
    var words = arguments[...]
    while let word = words.popFirst() {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      guard ["--app", "--environment", "--publisher"].contains(parts.first ?? "") else {
        rest.append(word)
        continue
      }
      guard let value = parts.count == 2 ? parts[1] : words.popFirst() else {
        throw Self.mistake("\(word) has no value")
      }
      switch (parts[0], value) {
      case ("--app", _): bundleId = BundleId(value)
      case ("--environment", "production"): environment = .production
      case ("--environment", "sandbox"): environment = .sandbox
      case ("--publisher", _) where PublisherId(value) != nil: publisherId = PublisherId(value)
      case ("--environment", _):
        let question = NearestName.question(value, among: ["production", "sandbox"])
        throw Self.mistake("\(value) is no value of \(parts[0])\(question)")
      default: throw Self.mistake("\(value) is no value of \(parts[0])")
      }
    }
    guard !bundleId.text.isEmpty else { throw Self.mistake("--app is missing") }
  }

  /// An app, and the publisher that has it.
  struct Found {
    let publisherId: PublisherId
    let app: Publisher.App
  }

  /// Returns the app that the arguments name, of the publisher with the lowest id that has it.
  ///
  /// - Throws: `UsageError`.
  func app(in publishers: Publishers) throws(UsageError) -> Found {
    for publisher in publishers.all.sorted(by: { $0.id < $1.id })
    where publisherId.map({ $0 == publisher.id }) ?? true {
      let app = publisher.apps.first {
        $0.bundleId == bundleId && $0.environments.contains(environment)
      }
      if let app { return Found(publisherId: publisher.id, app: app) }
    }
    throw Self.mistake("no publisher has the app \(bundleId) in the environment \(environment)")
  }

  private static func mistake(_ text: String) -> UsageError {
    UsageError(
      description: "countersign test-notification: \(text); usage: countersign test-notification "
        + TestNotificationCommand.command.synopsis)
  }
}
