import Crypto
public import Domain
import EventLoop
import Formats
import JSON

/// Which of the dead messages a person means, by value.
public struct DeadFilter: Sendable, Equatable {
  public var cause: DeadCause?
  public var publisher: PublisherId?
  /// The bundle id of an app.
  public var app: BundleId?
  public var endpoint: EndpointId?
  /// The id of the message.
  public var id: String?
  /// A customer of ``publisher``.
  public var customer: CustomerId?
  /// Only messages that were buried at least so long ago.
  public var olderThan: Duration?
  /// Not messages that were buried later, in milliseconds since 1970: a person who saw a count means the messages in
  /// it.
  public var buriedUntil: Int64?

  /// Creates a filter that takes all messages.
  public init() {}

  /// Whether it takes all messages.
  public var isEmpty: Bool { self == DeadFilter() }

  /// Whether a message is one of those.
  ///
  /// A message without the time of its burial is as old as what it tells. If nobody can say how old it is, it is not
  /// older than anything.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - apps: the bundle ids of a publisher's apps. They count for a message that names no app.
  public func matches(_ message: DeadMessage, at now: Int64, apps: (PublisherId) -> Set<BundleId>) -> Bool {
    if let cause, message.cause != cause { return false }
    if let publisher, message.publisherId != publisher { return false }
    if let endpoint, message.endpointId != endpoint { return false }
    if let id, message.id.utf8.elementsEqual(id.utf8) == false { return false }
    if let buriedUntil, let since = message.buriedAt ?? message.time, since > buriedUntil { return false }
    if let customer, !message.names(customer) { return false }
    if let olderThan {
      guard let since = message.buriedAt ?? message.time else { return false }
      let (age, isFar) = now.subtractingReportingOverflow(since)
      if isFar || .milliseconds(max(0, age)) < olderThan { return false }
    }
    guard let app else { return true }
    let named = message.apps.isEmpty ? message.publisherId.map(apps) ?? [] : message.apps
    return named.contains(app)
  }

  /// The filter as JSON, for the audit log. It names a customer by the hash that the ledger keeps of an erased one.
  public var json: [UInt8] {
    JSONWriter.object { json in
      json.member("app", app)
      json.member("buriedUntil", buriedUntil.map { rfc3339(milliseconds: $0) })
      json.member("cause", cause?.rawValue)
      json.member("customer", customer.map { CustomerDigest.short(of: $0.text, of: publisher?.number ?? 0) })
      json.member("endpoint", endpoint)
      json.member("id", id)
      json.member("olderThanSeconds", olderThan.map { Int64($0.wholeMilliseconds) / 1000 })
      json.member("publisher", publisher?.number)
    }
  }
}
