package import Domain
package import EventLoop
import Formats
package import HTTPServer
package import Ledger
package import Postgres
package import Service

/// What a door's handlers work with.
@LoopActor
package struct DoorContext {
  package let context: RoleContext
  package let authentication: Authentication
  package let evidence: EvidenceIntake
  package let registration: DoorRegistration
  package let postgres: PostgresClient
  private let reader: Holdings
  private let outlet: EventOutlet
  /// What refused requests may write.
  package let refusals: RefusalAllowance
  /// How often each credential may read.
  package let limit: RequestLimit

  package init(
    _ context: RoleContext, _ authentication: Authentication, _ evidence: EvidenceIntake,
    _ registration: DoorRegistration, _ postgres: PostgresClient, _ holdings: Holdings, _ outlet: EventOutlet,
    _ refusals: RefusalAllowance, _ limit: RequestLimit
  ) {
    (self.context, self.authentication, self.evidence) = (context, authentication, evidence)
    (self.registration, self.postgres) = (registration, postgres)
    (reader, self.outlet, self.refusals, self.limit) = (holdings, outlet, refusals, limit)
  }

  /// Milliseconds since 1970.
  package var now: Int64 { context.now() }

  // Each reading throws `PostgresError`, or `UnreadableRecord` for a row that this code cannot read.

  /// Reads purchases with all their transactions. An unknown key has none.
  package func purchases(_ keys: [PurchaseKey]) async throws -> [PurchaseKey: Purchase] {
    try await PurchaseReader(postgres).purchases(keys)
  }

  /// Reads all purchases of a customer with all their transactions.
  package func purchases(of customer: CustomerKey) async throws -> [Purchase] {
    try await PurchaseReader(postgres).allPurchases(of: customer)
  }

  /// Reads the purchases that decide about a customer's entitlements.
  package func holdings(of customer: CustomerKey) async throws -> CustomerPurchases {
    try await reader.holdings(of: customer)
  }

  /// Finds a customer by e-mail address.
  package func customer(_ publisher: PublisherId, email: String) async throws -> Customer? {
    try await CustomerStore(postgres).customer(publisher, email: email)
  }

  /// Reads a customer; `nil` when unknown.
  package func customer(_ publisher: PublisherId, id: CustomerId) async throws -> Customer? {
    try await CustomerStore(postgres).customer(publisher, id)
  }

  /// Tells events that no job's commit tells: writes them to the outbox, and publishes them.
  ///
  /// - Throws: `PostgresError`, and then nobody knows whether they will be told.
  package func tell(_ events: [Event]) async throws {
    guard !events.isEmpty else { return }
    outlet.publish(try await EventWriter(postgres).write(events, audience: context.publishers.audience))
  }
}

/// A request to a door.
package struct DoorCall {
  package let request: HTTPServerRequest
  /// The values in the path.
  package let values: [PathParameter: String]

  /// A value in the path. It is empty if the route's path does not have it.
  package subscript(parameter: PathParameter) -> String { values[parameter] ?? "" }
}
