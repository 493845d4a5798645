import AppleCalls
import Domain

/// For which app Apple posts a test notification, and where to.
struct TestNotificationForm: Equatable {
  let publisherId: PublisherId
  let bundleId: BundleId
  let environment: Environment

  /// Reads the values of a form or of an address; `nil` if they name no app in an environment.
  init?(_ value: (String) -> String?) {
    guard let publisher = value("publisher").flatMap({ PublisherId($0) }), let app = value("app"), !app.isEmpty,
      let environment = value("environment").map(Environment.init), environment.isSignedByApple
    else { return nil }
    (publisherId, bundleId, self.environment) = (publisher, BundleId(app), environment)
  }

  /// The app, if the publisher's file names it in the environment.
  func app(of publisher: Publisher) -> Publisher.App? {
    publisher.apps.first { $0.bundleId == bundleId && $0.environments.contains(environment) }
  }

  /// What forms and addresses carry.
  var fields: [(name: String, value: String)] {
    [("publisher", "\(publisherId)"), ("app", bundleId.text), ("environment", environment.text)]
  }
}

/// What became of a test notification.
struct TestNotificationPage {
  let view: ConsoleView
  let form: TestNotificationForm
  let outcome: TestNotifications.Answer

  /// A browser loads the page again after so many seconds while Apple has nothing to tell.
  static let seconds = 5

  var isWaiting: Bool {
    switch outcome {
    case .asked, .waiting, .busy: true
    case .tried, .failed: false
    }
  }

  private var isGood: Bool? {
    switch outcome {
    case .asked, .waiting, .busy: nil
    case .tried(let result): TestNotificationWords.isSuccess(result)
    case .failed: false
    }
  }

  private var title: String {
    isGood.map { $0 ? "The test has arrived" : "The test has not arrived" } ?? "Apple was asked for a test"
  }

  private var words: String {
    switch outcome {
    case .asked, .waiting, .busy:
      "Apple tries within a minute. The page loads itself again every \(Self.seconds) seconds."
    case .tried(let result) where TestNotificationWords.isSuccess(result):
      "Apple posted it and got a good answer. It is in the list, with the type TEST."
    case .tried(let result): "Apple saw \(result)\(TestNotificationWords.meaning(of: result))."
    case .failed(let cause): cause
    }
  }

  var html: Document {
    Layout.page(
      "Test notification", view, at: .notifications,
      [
        .element(
          .p, [.class("above")],
          [.text("\(form.bundleId) in \(form.environment), publisher \(form.publisherId)")]),
        .element(.h1, [], [.text("Test notification")]),
        .element(
          .div, [.class("verdict\(isGood.map { $0 ? " yes" : " no" } ?? "")"), .of(.role, "status")],
          [.element(.h2, [], [.text(title)]), .p(.text(words))]),
        .p(
          .link(
            view.link(
              [ConsoleList.notifications.rawValue], query: [(name: "publisher", value: "\(form.publisherId)")]),
            "The notifications of the publisher")),
      ])
  }
}
