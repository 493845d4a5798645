import Domain
import Formats
import JSON
import Ledger

/// What Apple posted: how long each notification took, and what became of it.
struct NotificationsPage {
  let view: ConsoleView
  let question: ListQuestion
  var found = ConsoleRows<ConsoleNotification>()
  /// What is known of Apple's posts about each app; empty on a later page.
  var sources: [NotificationSource] = []

  /// More apps than these are not shown: choose a publisher.
  static let mostSources = 50

  /// What the list shows; `nil` if nothing is called so.
  var choice: ConsoleNotifications.Choice? { ConsoleNotifications.Choice(rawValue: question.filters["state"] ?? "") }

  private var page: ListPage { ListPage(view: view, list: .notifications, question: question, next: found.next) }

  var html: Document {
    let choices = ConsoleNotifications.Choice.allCases.map { ($0.rawValue, $0.words) }
    return page.html(
      lead: "What Apple posted. The lag is from Apple's signature until the ledger had what the notification says.",
      filters: [ListPage.field("state", "State", choices, chosen: question.filters["state"] ?? "")],
      table: found.rows.isEmpty ? nil : table, empty: empty, isLive: true, below: view.region(.apps, history))
  }

  /// Apple keeps the notifications that it could not post. Workers read that history, and so find what is missing.
  private var history: HTML {
    guard !sources.isEmpty else { return .nothing }
    return .section(
      "Apple's posts and its history",
      [
        .table(
          "What is known of each app",
          ["App", "Environment", "Publisher", "Posted last", "History read until", ""],
          sources.map { source in
            [
              .code(source.key.bundleId.text), .text(source.key.environment.text), .text("\(source.key.publisherId)"),
              .all([
                view.time(source.lastReceivedAt, otherwise: "never"),
                source.isSilent(at: view.now)
                  ? .all([.text(" "), .span("longer ago than usual", class: "mark bad")]) : .nothing,
              ]), view.time(source.readThrough, otherwise: "never"), test(source.key),
            ]
          }),
        .p(
          .text(
            "A worker reads Apple's Notification History, and applies what no post brought. Such a notification says "
              + "so on its page."), class: "none"),
      ])
  }

  private func test(_ key: NotificationSource.Key) -> HTML {
    guard view.person.role.acts else { return .nothing }
    return .element(
      .form,
      [.of(.method, "post"), .action(view.link([ConsoleList.notifications.rawValue, "test"])), .class("inline")],
      [
        .hidden("publisher", "\(key.publisherId)"), .hidden("app", key.bundleId.text),
        .hidden("environment", key.environment.text), .hidden("step", "preview"),
        .element(
          .button,
          [
            .of(.type, "submit"), .class("quiet"),
            .of(.label, "Send a test for \(key.bundleId) in \(key.environment)"),
          ], [.text("Send a test …")]),
      ])
  }

  private var empty: String {
    switch choice ?? .all {
    case .all:
      "Apple has posted nothing. If purchases happen, look at the address of notifications in App Store Connect."
    case .waiting: "No notification waits. A worker applies each within seconds."
    case .putAside: "No notification is put aside."
    case .stale, .unclaimed, .history: "No notification is in this state."
    }
  }

  private var table: HTML {
    .table(
      (choice ?? .all).caption, ["Received", "Came", "Type", "State", "Lag", "Signed", "Purchase", "Publisher", "App"],
      found.rows.map { one in
        [
          view.time(one.receivedAt), one.came, .all([.link(view.link(to: one.key), one.title), one.unknownKind]),
          one.state.mark, .text(one.lag.map(ConsoleTime.duration) ?? "–"), view.time(one.signedDate),
          Self.purchase(one, view), .text("\(one.publisherId)"), .text(one.bundleId?.text ?? ""),
        ]
      })
  }

  static func purchase(_ one: ConsoleNotification, _ view: ConsoleView) -> HTML {
    one.purchase.map(view.purchase) ?? .span("none", class: "none")
  }

  /// The same as JSON.
  var json: [UInt8] { page.json(found.rows) { one, writer in writer.notification(one, view) } }
}

/// One notification.
struct NotificationPage {
  let view: ConsoleView
  let notification: ConsoleNotification
  /// Whether the publisher's file has it passed on.
  var isForwarded = false

  var html: Document {
    let one = notification
    return Layout.page(
      "Notification \(one.uuid)", view, search: one.uuid.text, at: .notifications,
      [
        .element(.p, [.class("above")], [.text("Notification to publisher \(one.publisherId)")]),
        .element(.h1, [.class("id")], [.text(one.uuid.text)]),
        view.region(.verdict, verdict),
      ])
  }

  private var verdict: HTML {
    let one = notification
    let isGood = one.state != .putAside && one.state != .unclaimed
    let passedOn = isForwarded ? Delivery.id(of: one.key) : nil
    return .element(
      .div, [.class(isGood ? "verdict" : "verdict no")],
      [
        .element(.h2, [], [.text(one.title), one.unknownKind]), .p(.text(one.state.words)),
        one.isKnownKind
          ? .nothing
          : .p(
            .text(
              "This version of Countersign does not know the type. What the notification says about the purchase is "
                + "applied all the same. Look for a newer version."), class: "none"),
        .facts([
          ("State", one.state.mark), ("Purchase", NotificationsPage.purchase(one, view)),
          ("App", one.bundleId.map { .code($0.text) }), ("Environment", one.environment.map { .text($0.text) }),
          ("Signed by Apple", view.time(one.signedDate)), ("Received", view.time(one.receivedAt)),
          ("It came", .text(one.isFromHistory ? "from Apple's Notification History" : "as Apple's post")),
          ("Applied", view.time(one.appliedAt, otherwise: "not yet")),
          ("Lag", one.lag.map { .text(ConsoleTime.duration($0)) }),
          ("Put aside because", one.reason.map { .text($0) }),
          (
            "Passed on",
            passedOn.map {
              .link(view.link(to: EventKey(publisherId: one.publisherId, id: $0)), "to the publisher's URLs")
            }
          ),
        ]),
      ])
  }

  /// The same as JSON.
  var json: [UInt8] { JSONWriter.object { $0.notification(notification, view) } }
}

extension ConsoleNotification {
  var key: NotificationKey { NotificationKey(publisherId: publisherId, uuid: uuid) }

  /// A mark behind the title of a kind that this version does not know.
  var unknownKind: HTML {
    isKnownKind ? .nothing : .all([.text(" "), .span("unknown type", class: "mark bad")])
  }

  /// How it reached us. Only what no post brought is a gap.
  var came: HTML { isFromHistory ? .span("history", class: "mark") : .text("posted") }

  /// Its type and subtype.
  var title: String { subtype.map { "\(type) \($0)" } ?? type }
}

extension ConsoleNotification.State {
  var mark: HTML {
    switch self {
    case .applied: .span(rawValue, class: "mark good")
    case .putAside, .unclaimed: .span(rawValue, class: "mark bad")
    case .waiting, .stale: .span(rawValue, class: "mark")
    }
  }

  /// What it means.
  var words: String {
    switch self {
    case .waiting: "No worker has applied it yet. It is tried again and again."
    case .putAside: "Workers died while they had it, so no worker takes it again. See the runbook “put aside”."
    case .applied: "It is applied, and it changed something."
    case .stale: "It is applied, and changed nothing: the ledger knew already what it says, or something newer."
    case .unclaimed: "It is applied, and nobody owns its purchase. The first customer who registers it gets it."
    }
  }
}

extension ConsoleNotifications.Choice {
  fileprivate var words: String {
    switch self {
    case .all: "all"
    case .waiting: "waiting"
    case .putAside: "put aside"
    case .stale: "stale"
    case .unclaimed: "unclaimed"
    case .history: "only from history"
    }
  }

  fileprivate var caption: String {
    switch self {
    case .all, .stale, .unclaimed: "The newest first"
    case .history: "Notifications that no post brought, the newest first"
    case .waiting: "The next to be tried first"
    case .putAside: "The one that was put aside first comes first"
    }
  }
}

extension JSONWriter {
  fileprivate mutating func notification(_ one: ConsoleNotification, _ view: ConsoleView) {
    member("appliedAt", one.appliedAt.map { rfc3339(milliseconds: $0) })
    member("bundleId", one.bundleId)
    member("came", one.isFromHistory ? "history" : "posted")
    member("environment", one.environment)
    member("isKnownType", one.isKnownKind)
    member("lagMilliseconds", one.lag)
    member("notificationUUID", one.uuid)
    member("originalTransactionId", one.originalTransactionId)
    member("page", view.link(to: one.key).address)
    publisher(one.publisherId)
    member("receivedAt", rfc3339(milliseconds: one.receivedAt))
    member("signedDate", rfc3339(milliseconds: one.signedDate))
    member("state", one.state.rawValue)
    member("subtype", one.subtype)
    member("type", one.type)
  }
}
