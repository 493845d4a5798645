/// The keys of the notifiers' deliveries.
extension Keys {
  /// Stream: the attempts to deliver to an endpoint, the oldest first.
  public func attempts(_ publisher: Int64, _ endpoint: String) -> String { attemptsPrefix(publisher) + endpoint }
  /// The part before an endpoint's id in the key of its attempts.
  public func attemptsPrefix(_ publisher: Int64) -> String { "\(prefix)attempts:\(publisher):" }
  /// Stream: the places of the attempts to deliver an event, as endpoint and id in ``attempts(_:_:)``.
  public func eventAttempts(_ publisher: Int64, _ event: String) -> String {
    "\(prefix)event-attempts:\(publisher):\(event)"
  }
  /// Hash with expiry: an event's message, and for each endpoint the number of deliveries and the last attempt of each
  /// round.
  public func event(_ publisher: Int64, _ event: String) -> String { "\(prefix)event:\(publisher):\(event)" }
  /// Sorted set: the events that an endpoint has missed, by the time when a notifier gave up. No notifier sends them
  /// by itself.
  public func owed(_ publisher: Int64, _ endpoint: String) -> String { "\(prefix)owed:\(publisher):\(endpoint)" }
  /// Sorted set: the attempts to an endpoint that are under way in the whole fleet, by the end of their leases.
  public func slots(_ publisher: Int64, _ endpoint: String) -> String { "\(prefix)slots:\(publisher):\(endpoint)" }
  /// Hash with expiry: how far an endpoint's rate is used up, until when its attempts are planned, and for which rate.
  public func pace(_ publisher: Int64, _ endpoint: String) -> String { "\(prefix)pace:\(publisher):\(endpoint)" }
  /// Sorted set with expiry: the attempts that wait for an endpoint's rate, by the time that the script gave to each.
  public func plans(_ publisher: Int64, _ endpoint: String) -> String { "\(prefix)plans:\(publisher):\(endpoint)" }
  /// String with expiry: until when the replays that a publisher asked for use up its rate, in microseconds.
  public func replays(_ publisher: Int64) -> String { "\(prefix)replays:\(publisher)" }
}
