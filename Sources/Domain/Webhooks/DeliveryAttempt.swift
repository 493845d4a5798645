import JSON

/// One attempt to deliver an event to an endpoint, as the log keeps it.
public struct DeliveryAttempt: Sendable, Equatable {
  public var eventId: EventId
  public var endpointId: EndpointId
  public var topic: EventTopic
  /// The event's version. A receiver drops an event that is older than the one it has. `nil` for events without a
  /// version.
  public var version: Int64?
  /// The number from 1; a delivery that a publisher sends again starts anew.
  public var number: Int
  /// When it ended, in milliseconds since 1970.
  public var time: Int64
  /// The status of the endpoint's answer; `nil` without an answer.
  public var status: Int?
  public var durationMilliseconds: Int64
  /// Why the attempt failed; `nil` after a success.
  public var error: String?
  /// The beginning of the answer's body, as ``keptAnswer(_:)`` cuts it.
  public var answer: String?
  public var result: Result
  /// The earliest time of the next attempt, in milliseconds since 1970; `nil` when no attempt follows.
  public var nextAt: Int64?

  /// How an attempt ended.
  public enum Result: String, Sendable, CaseIterable {
    case delivered
    /// A further attempt follows.
    case failed
    /// No further attempt follows by itself.
    case abandoned
    /// The notifier sent nothing, because the endpoint is disabled; no further attempt follows by itself.
    case skipped
  }

  /// How many bytes of an answer the log keeps.
  public static let keptAnswerBytes = 1024
  /// How many bytes the kept answer takes at most as JSON. A control character takes six.
  public static let keptAnswerJSONBytes = 2048

  /// Returns the part of an answer that the log keeps, which ends between two characters; `nil` for an empty one.
  ///
  /// - Parameter body: the answer, or more of its beginning than ``keptAnswerBytes``.
  public static func keptAnswer(_ body: [UInt8]) -> String? {
    var end = min(keptAnswerBytes, body.count)
    if end < body.count {
      // In UTF-8, a character has at most three bytes behind its first one.
      let isStart: (Int) -> Bool = { body[$0] & 0xC0 != 0x80 }
      end = (max(0, end - 3)...end).last(where: isStart) ?? end
    }
    let text = String(decoding: body.prefix(end), as: UTF8.self)
    let kept = JSONWriter.beginning(of: text, upTo: keptAnswerJSONBytes)
    return kept.isEmpty ? nil : kept
  }

  /// Creates an attempt.
  public init(
    eventId: EventId, endpointId: EndpointId, topic: EventTopic, version: Int64? = nil, number: Int, time: Int64,
    status: Int? = nil, durationMilliseconds: Int64 = 0, error: String? = nil, answer: String? = nil,
    result: Result, nextAt: Int64? = nil
  ) {
    self.eventId = eventId
    self.endpointId = endpointId
    self.topic = topic
    self.version = version
    self.number = number
    self.time = time
    self.status = status
    self.durationMilliseconds = durationMilliseconds
    self.error = error
    self.answer = answer
    self.result = result
    self.nextAt = nextAt
  }
}
