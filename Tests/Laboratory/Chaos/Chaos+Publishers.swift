import Domain
import Fleets

/// The publishers of a run. They share one app, and so its budget.
extension Chaos {
  /// The publishers of the load: customers 1 to 50 and those 50 above them belong to them, one after the other. All
  /// other customers, and those of the doors, are the open publisher's.
  nonisolated static func publisher(of customer: String, of publishers: Int) -> PublisherId {
    guard let number = Int(customer), (1...2 * mostPublishers).contains(number) else {
      return RunningFleet.openPublisher
    }
    let place = (number - 1) % mostPublishers % max(1, publishers)
    return place == 0 ? RunningFleet.openPublisher : PublisherId(firstPublisher.number + Int64(place))
  }

  func publisher(of customer: String) -> PublisherId { Self.publisher(of: customer, of: publishers) }

  /// Writes the files of a run's publishers.
  static func writePublishers(_ count: Int, _ scenario: Scenario, _ fleet: RunningFleet) throws {
    for place in 0..<max(1, count) {
      let id = place == 0 ? RunningFleet.openPublisher : PublisherId(firstPublisher.number + Int64(place))
      // They accept customers without a PUT, so the load needs none.
      try fleet.writePublisher(
        id,
        """
        "customers": "open", "apps": [\(RunningFleet.app)], "offers": \(RunningFleet.offers),
        "sandboxAccess": "everybody", \(scenario.hasDoors && place == 0 ? Chaos.doors : "")
        "webhooks": [{"id": "main", "url": "\(fleet.webhookURL)", "secretFile": "../webhook.secret"}]
        """)
    }
  }

  /// The regular customers of the load, and so the most publishers.
  nonisolated static let mostPublishers = 50
  private nonisolated static let firstPublisher: PublisherId = 2000
}
