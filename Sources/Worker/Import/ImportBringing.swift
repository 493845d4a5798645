package import Domain
package import EventLoop
package import Import
package import JSON
package import Ledger
package import Postgres

/// Brings what an export of Countersign has besides purchases: the customers whom the publisher has put, the grants
/// that are open, and sandbox access by hand. What stands in the ledger already stays as it is.
@LoopActor
package struct ImportBringing {
  /// What became of it.
  package struct Summary: Equatable, Sendable {
    /// Customers and grants that are new to the ledger.
    package var customers = 0
    package var grants = 0
    /// Grants whose end has come since the export.
    package var ended = 0
    /// Customers who have sandbox access by hand that is new to the ledger.
    package var sandboxAccess = 0
    /// Sandbox access whose end has come since the export.
    package var endedSandboxAccess = 0
    /// What the ledger cannot take: customers, grants and sandbox access.
    package var refused = 0
    /// Whether nothing is left to bring: nobody has ended the run.
    package var isWhole = true

    /// Writes the counts, as the command prints them and an import over HTTP keeps them.
    package func write(to json: inout JSONWriter) {
      json.member("broughtCustomers", Int64(customers))
      json.member("broughtGrants", Int64(grants))
      json.member("endedGrants", Int64(ended))
      json.member("refused", Int64(refused))
      json.member("broughtSandboxAccess", Int64(sandboxAccess))
      json.member("endedSandboxAccess", Int64(endedSandboxAccess))
    }
  }

  /// After so many customers the run asks whether it may go on.
  private static let stride = 100

  let publisher: Publisher
  let isTold: Bool
  /// Who runs the import; `nil` for a publisher's token.
  let person: String?
  let postgres: PostgresClient
  /// Reads the next line of the file a second time, so that nobody holds all customers in memory; `nil` at the end.
  let nextLine: @LoopActor () async throws -> [UInt8]?
  /// Learns how many customers are done.
  let tell: @LoopActor (Int) -> Void
  /// Learns of a line that the ledger cannot take: its number, what it is, and why.
  let refused: @LoopActor (Int, String, String) -> Void
  /// Takes the events of a commit.
  let publish: @LoopActor (consuming Told) -> Void
  /// Whether the run may go on.
  let standing: @LoopActor () throws -> ImportRun.Standing

  package init(
    _ publisher: Publisher, isTold: Bool, by person: String?, _ postgres: PostgresClient,
    nextLine: @escaping @LoopActor () async throws -> [UInt8]?, tell: @escaping @LoopActor (Int) -> Void,
    refused: @escaping @LoopActor (Int, String, String) -> Void,
    publish: @escaping @LoopActor (consuming Told) -> Void,
    standing: @escaping @LoopActor () throws -> ImportRun.Standing = { .ours }
  ) {
    (self.publisher, self.isTold, self.person, self.postgres) = (publisher, isTold, person, postgres)
    (self.nextLine, self.tell, self.refused) = (nextLine, tell, refused)
    (self.publish, self.standing) = (publish, standing)
  }

  /// Brings the customers, then the grants, and then the sandbox access: the purchases from the sandbox come after it.
  ///
  /// - Returns: what became of it. If the run may not go on, it is not whole.
  /// - Throws: the errors of the file and of the standing; `PostgresError`. Whoever runs it again, goes on.
  package func bring(_ exported: ImportFile.Exported) async throws -> Summary {
    var summary = Summary()
    if exported.customers > 0 { try await bringCustomers(&summary) }
    if summary.isWhole { try await bringGrants(exported, &summary) }
    if summary.isWhole { try await bringSandboxAccess(exported, &summary) }
    return summary
  }

  private func bringGrants(_ exported: ImportFile.Exported, _ summary: inout Summary) async throws {
    let grants = Grants(postgres)
    for one in exported.grants.values.sorted(by: { $0.line < $1.line }) {
      guard try mayGoOn(&summary) else { return }
      let grant = one.grant(of: publisher.id)
      do {
        let answer = try await grants.bring(
          grant, isTold: isTold, publisher: publisher, by: person, now: unixMilliseconds())
        if answer.isNew { summary.grants += 1 }
        publish(answer.takeTold())
      } catch GrantRefusal.alreadyOver {
        summary.ended += 1
      } catch let refusal as GrantRefusal {
        refuse(one.line, "grant \(grant.id)", Self.cause(of: refusal, grant), &summary)
      }
    }
  }

  private func bringSandboxAccess(_ exported: ImportFile.Exported, _ summary: inout Summary) async throws {
    let overrides = SandboxOverrides(postgres)
    for one in exported.sandboxAccess.values.sorted(by: { $0.line < $1.line }) {
      guard try mayGoOn(&summary) else { return }
      let wish = one.override(of: publisher.id)
      do {
        let answer = try await overrides.bring(
          wish, isTold: isTold, publisher: publisher, by: person, now: unixMilliseconds())
        if answer.change != .nothing {
          summary.sandboxAccess += 1
        } else if !answer.override.isSameWish(as: wish) {
          refuse(one.line, "sandbox access", "the customer has another one here", &summary)
        }
        publish(answer.takeTold())
      } catch SandboxOverrideRefusal.alreadyOver {
        summary.endedSandboxAccess += 1
      } catch let refusal as SandboxOverrideRefusal {
        refuse(one.line, "sandbox access", Self.cause(of: refusal), &summary)
      }
    }
  }

  private func bringCustomers(_ summary: inout Summary) async throws {
    let store = CustomerStore(postgres)
    var (line, done) = (0, 0)
    while let text = try await nextLine() {
      line += 1
      guard let customer = ImportFile.exportedCustomer(text) else { continue }
      if done.isMultiple(of: Self.stride) {
        guard try mayGoOn(&summary) else { return }
      }
      if try await !store.isRegistered(publisher.id, customer.id) {
        switch try await store.put(publisher.id, customer, by: person) {
        case .created, .replaced: summary.customers += 1
        case .emailInUse: refuse(line, "a customer", "another customer has the e-mail address", &summary)
        }
      }
      done += 1
      tell(done)
    }
  }

  private func mayGoOn(_ summary: inout Summary) throws -> Bool {
    summary.isWhole = try standing() == .ours
    return summary.isWhole
  }

  private func refuse(_ line: Int, _ what: String, _ cause: String, _ summary: inout Summary) {
    summary.refused += 1
    refused(line, what, cause)
  }

  private static func cause(of refusal: SandboxOverrideRefusal) -> String {
    let limits = SandboxOverrideLimits()
    return switch refusal {
    case .alreadyOver: "it has ended"
    case .tooLong: "it ends more than \(limits.longestDays) days from now"
    case .tooMany: "\(limits.customers) customers of the publisher have sandbox access by hand (LIM0014)"
    }
  }

  private static func cause(of refusal: GrantRefusal, _ grant: Grant) -> String {
    switch refusal {
    case .idInUse: "the publisher has another grant with this id"
    case .unknownOffer: "the publisher's file has no offer \(grant.offerId)"
    case .openOfCustomer: "the customer has \(Grant.mostOpenOfCustomer) open grants"
    case .alreadyOver, .tooLong, .perDay: "\(refusal)"
    }
  }
}
