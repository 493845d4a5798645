import Domain
import Formats
import HTTPServer

/// The events that the client asks for, and how long it waits for the first one.
struct EventsRequest: Equatable {
  /// The longest wait in seconds. Proxies end a request that is silent for longer, some after 30 seconds.
  static let longestWait: Int64 = 25

  /// The maximum number of events.
  let limit: Int
  /// How long the request waits while there is none, in seconds.
  let wait: Int64
  /// Where the client has read up to.
  let after: EventCursor?
  /// Empty for all topics.
  let topics: [EventTopic]
  /// Only events of this time or later, in milliseconds since 1970.
  let since: Int64?

  /// Reads the query, and refuses every unknown parameter.
  ///
  /// - Throws: ``Problem``: 400 REQ0002.
  init(_ request: HTTPServerRequest, known: [EventTopic]) throws(Problem) {
    try requireOnly(["after", "topic", "since", "limit", "wait"], request)
    limit = Int(try queryNumber("limit", 1...250, of: request) ?? 50)
    wait = try queryNumber("wait", 0...Self.longestWait, of: request) ?? 0
    after = try request.query("after").map { text throws(Problem) in
      guard let cursor = EventCursor(text) else { throw .invalidQuery("after: expected the next of an answer") }
      return cursor
    }
    since = try request.query("since").map { text throws(Problem) in
      guard let time = milliseconds(rfc3339: text) else {
        throw .invalidQuery("since: expected a time such as 2026-01-15T10:29:00Z")
      }
      return time
    }
    var topics: [EventTopic] = []
    if let text = request.query("topic") {
      for topic in text.split(separator: ",", omittingEmptySubsequences: false).map({ EventTopic(String($0)) }) {
        let expected = "expected some of \(known.map(\.text).joined(separator: ",")), none of them twice"
        guard known.contains(topic) else {
          let unknown = UnknownTopic(topic, among: known)
          throw .invalidQuery("topic: has \(unknown.shown), \(expected)\(unknown.question)")
        }
        guard !topics.contains(topic) else { throw .invalidQuery("topic: \(expected)") }
        topics.append(topic)
      }
    }
    self.topics = topics
  }
}
