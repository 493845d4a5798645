public import Domain

/// The keys of the notifiers' deliveries.
extension Keys {
  /// Sorted set: the attempts to an endpoint that are under way in the whole fleet, by the end of their leases.
  public func slots(_ publisher: PublisherId, _ endpoint: EndpointId) -> String {
    "\(prefix)slots:\(publisher):\(endpoint)"
  }
  /// Hash with expiry: how far an endpoint's rate is used up, until when its attempts are planned, and for which rate.
  public func pace(_ publisher: PublisherId, _ endpoint: EndpointId) -> String {
    "\(prefix)pace:\(publisher):\(endpoint)"
  }
  /// Sorted set with expiry: the attempts that wait for an endpoint's rate, by the time that the script gave to each.
  public func plans(_ publisher: PublisherId, _ endpoint: EndpointId) -> String {
    "\(prefix)plans:\(publisher):\(endpoint)"
  }
  /// String with expiry: until when the replays that a publisher asked for use up its rate, in microseconds.
  public func replays(_ publisher: PublisherId) -> String { "\(prefix)replays:\(publisher)" }
}
