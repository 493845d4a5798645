public import AMQP
public import Domain
import Formats
public import JSON

/// A message of a queue of the dead, as a person sees it. The body comes from outside and may be anything.
public struct DeadMessage: Sendable {
  /// Which queue of the dead it lies in.
  public enum Kind: String, Sendable, CaseIterable {
    case jobs
    case deliveries
  }

  public let kind: Kind
  /// The message itself.
  public let delivery: AMQPDelivery
  public let cause: DeadCause
  /// What happened, in words.
  public let reason: String?
  /// `nil` if neither the body nor a header tells it.
  public let publisherId: PublisherId?
  /// The endpoint of a delivery; `nil` if none was known yet.
  public let endpointId: EndpointId?
  /// When it was buried, in milliseconds since 1970; `nil` for a message of an earlier version or of RabbitMQ's own.
  public let buriedAt: Int64?
  /// When the job was registered, or the event happened, in milliseconds since 1970.
  public let time: Int64?
  /// `nil` if it is not a JSON object.
  public let body: JSONValue?
  /// The customers that the body names, each as it is written there.
  public let people: Set<CustomerId>
  /// The apps that the body names.
  let apps: Set<BundleId>

  /// Reads a message.
  public init(_ kind: Kind, _ delivery: AMQPDelivery) {
    (self.kind, self.delivery) = (kind, delivery)
    let headers = delivery.properties.headers
    cause = DeadCause(headers, of: kind)
    reason = headers[JobMessage.reasonHeader]?.string
    endpointId = kind == .jobs ? nil : headers[Delivery.endpointHeader]?.string.map(EndpointId.init(_:))
    buriedAt = headers.time(JobMessage.buriedHeader)
    let value = (try? JSONText(delivery.body, limits: .own))?.value
    body = if case .object = value { value } else { nil }
    let source = headers[CloudEventsAttributes.source]?.string.flatMap(CloudEventsAttributes.publisher)
    publisherId = body?[kind == .jobs ? "publisherId" : "broadcasterId"]?.integer.map(PublisherId.init(_:)) ?? source
    time =
      kind == .jobs
      ? body?["registeredAt"]?.integer?.asTime
      : headers[CloudEventsAttributes.time]?.string.flatMap(milliseconds(rfc3339:))
    var (people, apps): (Set<CustomerId>, Set<BundleId>) = ([], [])
    body?.forEachMember { name, value in
      if PersonNaming.isName(name), let text = value.text, !text.isEmpty { people.insert(CustomerId(text)) }
      if name == "bundleId", let text = value.text { apps.insert(BundleId(text)) }
    }
    (self.people, self.apps) = (people, apps)
  }

  /// The id of the message: for a delivery, that of its event.
  public var id: String { delivery.properties.messageID ?? "" }
  /// The event's topic; `nil` for a job.
  public var topic: EventTopic? { kind == .jobs ? nil : delivery.properties.type.map(EventTopic.init(_:)) }
  /// The number of the attempt that it asked for.
  public var attempt: Int { delivery.properties.headers.count(JobMessage.attemptHeader, least: 1) }

  /// The customers whom the body names; none without a publisher, since an id counts within one only.
  public var customers: Set<CustomerKey> {
    guard let publisherId else { return [] }
    return Set(people.map { CustomerKey(publisherId: publisherId, id: $0) })
  }

  /// Whether nobody can say whom the message is about: it may name anybody, anywhere in it.
  public var isUnreadable: Bool {
    guard people.isEmpty || publisherId == nil else { return false }
    return body == nil || cause == .malformed
  }

  /// Whether an erasure takes the message out of its queue.
  ///
  /// What is about a customer who came back after the erasure stays. What nobody can read goes.
  ///
  /// - Parameter until: until when what names a customer is about an erased person, in milliseconds since 1970; `nil`
  ///   if the customer was not erased.
  public func isErased(_ until: (CustomerKey) -> Int64?) -> Bool {
    if isUnreadable { return true }
    return customers.contains { customer in
      guard let until = until(customer) else { return false }
      return time.map { $0 <= until } ?? true
    }
  }

  /// Whether the message names a customer. In a body that nobody can read, the id counts as a word of its own.
  func names(_ customer: CustomerId) -> Bool {
    people.contains(customer) || isUnreadable && delivery.body.contains(word: Array(customer.text.utf8))
  }
}

extension JSONText {
  fileprivate var value: JSONValue? { try? decoded(as: JSONValue.self) }
}

extension JSONValue {
  /// A member of an object.
  subscript(_ name: String) -> JSONValue? { if case .object(let members) = self { members[name] } else { nil } }

  /// The number, if it is a whole one.
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// A text, or a whole number as a text.
  var text: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    default: nil
    }
  }

  /// Visits each member of each object.
  func forEachMember(_ body: (String, JSONValue) -> Void) {
    switch self {
    case .array(let elements): for element in elements { element.forEachMember(body) }
    case .object(let members):
      for (name, value) in members {
        body(name.text, value)
        value.forEachMember(body)
      }
    default: break
    }
  }
}

extension [UInt8] {
  /// Whether the bytes hold a word that no letter and no digit touches.
  fileprivate func contains(word: [UInt8]) -> Bool {
    guard !word.isEmpty, count >= word.count else { return false }
    func isPartOfWord(_ index: Int) -> Bool { indices.contains(index) && self[index].isASCIILetterOrDigit }
    return (0...(count - word.count)).contains { start in
      self[start] == word[0] && self[start..<(start + word.count)].elementsEqual(word) && !isPartOfWord(start - 1)
        && !isPartOfWord(start + word.count)
    }
  }
}
