public import Domain

/// A webhook endpoint as the console shows it: without its secrets. Times are milliseconds since 1970.
public struct ConsoleEndpoint: Sendable, Equatable {
  public let publisherId: PublisherId
  public let id: EndpointId
  public let url: String
  /// The publisher's own name for it; may be empty.
  public let name: String
  public let topics: [EventTopic]
  /// Where it is managed: `api`, `subscription`, `configuration`, or `forward`.
  public let source: String
  /// `nil` for an endpoint of a file.
  public let createdAt: Int64?

  /// Creates an endpoint.
  public init(
    publisherId: PublisherId, id: EndpointId, url: String, name: String = "", topics: [EventTopic] = [], source: String,
    createdAt: Int64? = nil
  ) {
    (self.publisherId, self.id, self.url, self.name) = (publisherId, id, url, name)
    (self.topics, self.source, self.createdAt) = (topics, source, createdAt)
  }

  /// What the ledger says about its health and its newest attempts.
  public struct State: Sendable, Equatable {
    public var health = EndpointHealth()
    /// The newest attempts of the last day that were looked at, ``ConsoleEndpoints/mostAttempts`` at most.
    public var made: Int64 = 0
    /// Those of them that delivered.
    public var delivered: Int64 = 0
    /// The middle one of their durations.
    public var medianMilliseconds: Int64?
    public var lastDeliveredAt: Int64?

    /// Creates a state.
    public init(
      health: EndpointHealth = EndpointHealth(), made: Int64 = 0, delivered: Int64 = 0,
      medianMilliseconds: Int64? = nil, lastDeliveredAt: Int64? = nil
    ) {
      (self.health, self.made, self.delivered) = (health, made, delivered)
      (self.medianMilliseconds, self.lastDeliveredAt) = (medianMilliseconds, lastDeliveredAt)
    }
  }

  /// What an endpoint has not got yet.
  public struct Backlog: Sendable, Equatable {
    /// The events that wait for their first or their next attempt.
    public let waiting: Int64
    /// When the oldest of them happened; `nil` if the ledger keeps none of them.
    public let oldest: Int64?
    /// Whether every open delivery was looked at.
    public let isWhole: Bool

    /// Creates a backlog.
    public init(waiting: Int64, oldest: Int64? = nil, isWhole: Bool = true) {
      (self.waiting, self.oldest, self.isWhole) = (waiting, oldest, isWhole)
    }
  }
}
