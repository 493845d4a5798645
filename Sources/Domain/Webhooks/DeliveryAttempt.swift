/// One attempt to deliver an event to an endpoint, as the log keeps it.
public struct DeliveryAttempt: Sendable, Equatable {
  public var eventId: String
  public var endpointId: String
  public var topic: String
  /// The event's version, by which a receiver can drop what is older than what it has; `nil` for events without one.
  public var version: Int64?
  /// From 1; a delivery that is sent again by request starts anew.
  public var number: Int
  /// When it ended, in milliseconds since 1970.
  public var time: Int64
  /// What the endpoint answered; `nil` without an answer.
  public var status: Int?
  public var durationMilliseconds: Int64
  /// What went wrong; `nil` when it was delivered.
  public var error: String?
  /// The first 1024 bytes of the answer's body, as text.
  public var answer: String?
  public var outcome: Outcome
  /// Before when no further attempt is made, in milliseconds since 1970; `nil` when none follows.
  public var nextAt: Int64?

  /// What an attempt came to.
  public enum Outcome: String, Sendable, CaseIterable {
    case delivered
    /// A further attempt follows.
    case failed
    /// No further attempt follows by itself.
    case abandoned
    /// Nothing was sent, because the endpoint is disabled; no further attempt follows by itself.
    case skipped
  }

  /// The bytes of an answer that are kept.
  public static let keptAnswerBytes = 1024

  /// Creates an attempt.
  public init(
    eventId: String, endpointId: String, topic: String, version: Int64? = nil, number: Int, time: Int64,
    status: Int? = nil, durationMilliseconds: Int64 = 0, error: String? = nil, answer: String? = nil,
    outcome: Outcome, nextAt: Int64? = nil
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
    self.outcome = outcome
    self.nextAt = nextAt
  }
}
