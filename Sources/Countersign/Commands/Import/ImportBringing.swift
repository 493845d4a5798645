import Domain
import EventLoop
import Import
import Ledger
import Postgres

/// Brings what an export of Countersign has besides purchases: the customers whom the publisher has put, and the grants
/// that are open. What stands in the ledger already stays as it is.
@LoopActor
struct ImportBringing {
  /// What became of it.
  struct Summary: Equatable {
    /// Customers and grants that are new to the ledger.
    var customers = 0
    var grants = 0
    /// Grants whose end has come since the export.
    var ended = 0
    /// Customers and grants that the ledger cannot take; standard error has each.
    var refused = 0
  }

  let options: ImportOptions
  let publisher: Publisher
  let postgres: PostgresClient

  /// Brings the customers, and then the grants.
  ///
  /// - Throws: ``VendorFileOptions/Unreadable``; `PostgresError`. Whoever runs it again, goes on.
  func bring(_ exported: ImportFile.Exported) async throws -> Summary {
    var summary = Summary()
    if exported.customers > 0 { try await bringCustomers(exported.customers, &summary) }
    let grants = Grants(postgres)
    for one in exported.grants.values.sorted(by: { $0.line < $1.line }) {
      let grant = one.grant(of: publisher.id)
      do {
        let answer = try await grants.bring(
          grant, isTold: options.tells, publisher: publisher, by: SystemUser.name, now: unixMilliseconds())
        if answer.isNew { summary.grants += 1 }
        answer.takeTold().leaveInOutbox()
      } catch GrantRefusal.alreadyOver {
        summary.ended += 1
      } catch let refusal as GrantRefusal {
        refuse(one.line, "grant \(grant.id)", Self.cause(of: refusal, grant), &summary)
      }
    }
    return summary
  }

  /// Reads the file a second time, so that nobody holds all customers in memory.
  private func bringCustomers(_ count: Int, _ summary: inout Summary) async throws {
    guard let input = LineInput(file: options.source.file, at: 0) else {
      throw VendorFileOptions.Unreadable(
        description: "cannot read \(options.source.file) a second time; give a file, and no pipe")
    }
    let store = CustomerStore(postgres)
    let progress = ImportProgress(of: "customers", count, before: 0, isTold: !options.source.isJSON)
    var (line, done) = (0, 0)
    while let text = input.next() {
      line += 1
      guard let customer = ImportFile.exportedCustomer(text) else { continue }
      if try await !store.isRegistered(publisher.id, customer.id) {
        switch try await store.put(publisher.id, customer, by: SystemUser.name) {
        case .created, .replaced: summary.customers += 1
        case .emailInUse: refuse(line, "a customer", "another customer has the e-mail address", &summary)
        }
      }
      done += 1
      progress.tell(done: done)
    }
    if let failure = input.failure {
      throw VendorFileOptions.Unreadable(description: "cannot read \(options.source.file): \(failure)")
    }
  }

  private func refuse(_ line: Int, _ what: String, _ cause: String, _ summary: inout Summary) {
    summary.refused += 1
    complain("line \(line): \(what) is left out: \(cause)")
  }

  private static func cause(of refusal: GrantRefusal, _ grant: Grant) -> String {
    switch refusal {
    case .idInUse: "the publisher has another grant with this id"
    case .unknownOffer: "the publisher's file has no offer \(grant.offerId)"
    case .alreadyOver, .tooLong, .openOfCustomer, .perDay: "\(refusal)"
    }
  }
}
