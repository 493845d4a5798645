/// A part of the API that a publisher's token may use. Every route for publishers asks for one of them.
public enum TokenScope: String, Sendable, CaseIterable {
  /// Brings purchases and customers: register, transfer, put a customer.
  case register
  /// Reads customers, purchases, entitlements, the states of synchronizations, and requests for refunds.
  case read
  /// Reads and changes webhook endpoints and their events, with their secrets.
  case endpoints
  /// Decides about customers and their data: erase, export, release, consent, answers about refunds, the audit log.
  case admin
  /// Gives customers access by hand, and withdraws it.
  case grants
  /// Lets sandbox purchases give a customer access until a date, and withdraws that.
  case sandboxAccess = "sandbox-access"
  /// Reads all of the publisher at once, with everybody's data.
  case export
  /// Imports a file of purchases.
  case imports = "import"
}
