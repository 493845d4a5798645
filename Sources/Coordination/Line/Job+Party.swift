import Domain

extension Job {
  /// Whether it is one of the customer's own. Whoever has the key of an app can name any customer, or none.
  var countsForCustomer: Bool { asker != .app && !customerId.text.isEmpty }

  /// Who takes turns in the line: the customer. Where anybody can name one, it is the client's address, or the
  /// transaction, so that a stranger neither uses up a customer's turns nor stands before all who have no name.
  var party: String { countsForCustomer ? customerId.text : "\u{1f}\(ipAddress ?? transactionId.text)" }

  /// The part of the limits that it may use up: 1 is all. Whoever has the key of an app leaves a quarter to the
  /// publisher's backend and its customers, and bulk leaves half to whatever somebody waits for.
  var partOfLimits: Double { lane == .bulk ? 0.5 : asker == .app ? 0.75 : 1 }
}
