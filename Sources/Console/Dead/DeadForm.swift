import Domain
import Messaging

/// Which of what was given up somebody means, and what shall become of it, by value.
struct DeadForm: Equatable {
  var kind = DeadKind.jobs
  /// `nil` for all.
  var cause: DeadCause?
  /// `nil` for all publishers that the person may see.
  var publisher: PublisherId?
  /// One message; `nil` for all.
  var id: String?
  /// The endpoint of one message: the deliveries of an event have one id.
  var endpoint: EndpointId?
  /// What a preview has counted; `nil` before it.
  var counted: RetryAllForm.Counted?

  /// At most so many change at once.
  static let most = 1000
  /// At most so many messages of a queue are looked at.
  static let mostLooked = 20_000

  /// Reads a form; `nil` for one that no page of the console makes.
  init?(_ body: FormBody) {
    self.init(values: { body[$0] })
    guard body["step"] == "confirm" else { return }
    guard let count = body["count"].flatMap(Int.init), (1...Self.most).contains(count),
      let until = body["until"].flatMap({ Int64($0) }), until >= 0
    else { return nil }
    counted = RetryAllForm.Counted(count: count, until: until)
  }

  /// Reads the filters of a list; `nil` for a value that has no meaning.
  init?(_ question: ListQuestion) {
    self.init(values: { question.filters[$0] })
    publisher = question.publisher
  }

  private init?(values value: (String) -> String?) {
    func given(_ name: String) -> String? { value(name).flatMap { $0.isEmpty ? nil : $0 } }
    if let text = given("kind") {
      guard let kind = DeadKind(rawValue: text) else { return nil }
      self.kind = kind
    }
    if let text = given("cause") {
      guard let cause = DeadCause(rawValue: text) else { return nil }
      self.cause = cause
    }
    if let text = given("publisher") {
      guard let publisher = PublisherId(text) else { return nil }
      self.publisher = publisher
    }
    (id, endpoint) = (given("id"), given("endpoint").map(EndpointId.init(_:)))
    let texts = [id, endpoint?.text].compactMap(\.self)
    guard texts.allSatisfy({ $0.utf8.count <= 512 && !$0.utf8.contains(0) }) else { return nil }
  }

  /// The filter of the chosen ones.
  ///
  /// - Parameter now: counts before a preview.
  func filter(at now: Int64) -> DeadFilter {
    var filter = DeadFilter()
    (filter.cause, filter.publisher, filter.id) = (cause, publisher, id)
    filter.endpoint = endpoint
    filter.buriedUntil = counted?.until ?? now
    return filter
  }

  /// What a form carries.
  var fields: [(name: String, value: String)] {
    [
      ("kind", kind.rawValue), ("cause", cause?.rawValue ?? ""), ("publisher", publisher.map { "\($0)" } ?? ""),
      ("id", id ?? ""), ("endpoint", endpoint?.text ?? ""),
    ]
  }
}
