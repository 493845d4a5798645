public import Crypto
import Domain
import EventLoop
public import Ledger
public import Postgres

extension WebhookEndpointStore {
  /// A store of a build without doors.
  public convenience init(
    _ ledger: PostgresClient, refusesPlain: Bool = false,
    keys: @escaping @LoopActor () -> SealingKeys = { SealingKeys() }
  ) {
    self.init(ledger, refusesPlain: refusesPlain, doors: DoorCatalog(), keys: keys)
  }
}
