public import Domain

/// How much one publisher, and one customer of it, may ask of all gateways together.
public struct LimitSettings: Sendable {
  public var registrations: RegistrationLimits
  /// Reads a second with one token of a publisher.
  public var readsPerSecond: Int
  /// Reads a second with the token of one customer.
  public var customerReadsPerSecond: Int
  /// Requests a second by which a publisher changes something, with all of its tokens.
  public var writesPerSecond: Int
  /// Events a second that a publisher sends again; those of ten seconds may come at once.
  public var replaysPerSecond: Int
  /// Access that a publisher gives by hand.
  public var grants: GrantLimits

  init(_ reader: SettingsReader) {
    let usual = RegistrationLimits()
    registrations = RegistrationLimits(
      perSecond: Int(
        reader.int(
          "gateway.limits.registrationsPerSecond", Int64(usual.perSecond), 1...1_000_000,
          "How many registrations one publisher may make in a second, at all gateways together. Beyond that, the "
            + "answer is 429.")),
      perSecondOfCustomer: Int(
        reader.int(
          "gateway.limits.customerRegistrationsPerSecond", Int64(usual.perSecondOfCustomer), 1...1_000_000,
          "How many registrations one customer's token may make in a second. Those of ten seconds may come at once.")),
      openOfCustomer: Int(
        reader.int(
          "gateway.limits.openPerCustomer", Int64(usual.openOfCustomer), 1...1_000_000,
          "How many synchronizations of one customer may be open, which means not finalized.")),
      openOfPublisher: Int(
        reader.int(
          "gateway.limits.openPerPublisher", Int64(usual.openOfPublisher), 1...100_000_000,
          "How many synchronizations of one publisher may be open, which means not finalized.")))
    readsPerSecond = Int(
      reader.int(
        "gateway.limits.readsPerSecond", 1000, 1...1_000_000,
        "How many reads one publisher's token may make in a second, at all gateways together, and a tenth more for "
          + "each gateway."))
    customerReadsPerSecond = Int(
      reader.int(
        "gateway.limits.customerReadsPerSecond", 20, 1...1_000_000,
        "How many reads one customer's token may make in a second, at all gateways together, and a tenth more for each "
          + "gateway."))
    writesPerSecond = Int(
      reader.int(
        "gateway.limits.writesPerSecond", 200, 1...1_000_000,
        "How many requests one publisher may send in a second to change something other than by registrations, at all "
          + "gateways together, and a tenth more for each gateway. All of its tokens share it."))
    replaysPerSecond = Int(
      reader.int(
        "gateway.limits.replaysPerSecond", 10, 1...10_000,
        "How many webhooks one publisher may send again in a second, by `test` and `resend`. A hundred webhooks by "
          + "`recover` count as one. Those of ten seconds may come at once."))
    let given = GrantLimits()
    grants = GrantLimits(
      longestDays: Int(
        reader.int(
          "gateway.limits.grantDays", Int64(given.longestDays), 1...36_500,
          "Longest grant, in days from the request to its end.")),
      openOfCustomer: Int(
        reader.int(
          "gateway.limits.openGrantsPerCustomer", Int64(given.openOfCustomer), 1...1000,
          "How many grants of one customer may be open at the same time. Beyond that, the answer is 409.")),
      perDay: Int(
        reader.int(
          "gateway.limits.grantsPerDay", Int64(given.perDay), 1...1_000_000,
          "How many grants one publisher may give in a day, in UTC. Beyond that, the answer is 429.")))
  }
}
