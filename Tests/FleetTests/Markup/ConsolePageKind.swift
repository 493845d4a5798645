@testable import Console

/// The kinds of answers that the console's routes have, for a test that must see each of them.
///
/// ``init(_:)`` names every case of the routes: a new page does not compile without a kind here, and the test fails
/// until it has seen that kind.
enum ConsolePageKind: Hashable {
  case page(Page)
  case list(ConsoleList)
  case action(Action)

  enum Page: CaseIterable {
    case find, customer, purchase, endpoint, event, notification, synchronization, testNotification, play, life
    case order, signIn
  }

  enum Action: CaseIterable {
    case give, withdraw, allowSandbox, withdrawSandbox, note, release, transfer, check, export, erase
    case resend, recover, enable, disable, rotate, test
    case retry, retryAll, deadRetry, deadDrop, testNotification, startLife, apply
  }

  static let all: [ConsolePageKind] =
    Page.allCases.map(Self.page) + ConsoleList.allCases.map(Self.list) + Action.allCases.map(Self.action)

  /// The kind of a route's answers; `nil` for a route that answers with a file, or only sends a browser elsewhere.
  init?(_ route: ConsoleRoute) {
    switch route {
    case .page(let page, _): self.init(page)
    case .action(let action): self.init(action)
    case .order: self = .page(.order)
    case .signIn: self = .page(.signIn)
    // What it shows, ``ConsoleOpenIDTests`` sees.
    case .openIDReturn: return nil
    case .signOut, .openID, .style, .script: return nil
    }
  }

  private init(_ page: ConsoleRoute.Page) {
    switch page {
    case .find: self = .page(.find)
    case .customer: self = .page(.customer)
    case .purchase: self = .page(.purchase)
    case .list(let list): self = .list(list)
    case .endpoint: self = .page(.endpoint)
    case .event: self = .page(.event)
    case .notification: self = .page(.notification)
    case .synchronization: self = .page(.synchronization)
    case .testNotification: self = .page(.testNotification)
    case .play: self = .page(.play)
    case .life: self = .page(.life)
    }
  }

  private init(_ action: ConsoleRoute.Action) {
    switch action {
    case .give: self = .action(.give)
    case .withdraw: self = .action(.withdraw)
    case .allowSandbox: self = .action(.allowSandbox)
    case .withdrawSandbox: self = .action(.withdrawSandbox)
    case .note: self = .action(.note)
    case .release: self = .action(.release)
    case .transfer: self = .action(.transfer)
    case .check: self = .action(.check)
    case .export: self = .action(.export)
    case .erase: self = .action(.erase)
    case .resend: self = .action(.resend)
    case .recover: self = .action(.recover)
    case .endpoint(.enable, _): self = .action(.enable)
    case .endpoint(.disable, _): self = .action(.disable)
    case .endpoint(.rotate, _): self = .action(.rotate)
    case .endpoint(.test, _): self = .action(.test)
    case .retry: self = .action(.retry)
    case .retryAll: self = .action(.retryAll)
    case .dead(.retry): self = .action(.deadRetry)
    case .dead(.drop): self = .action(.deadDrop)
    case .testNotification: self = .action(.testNotification)
    case .startLife: self = .action(.startLife)
    case .apply: self = .action(.apply)
    }
  }
}
