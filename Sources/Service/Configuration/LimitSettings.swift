public import Domain

/// How much one publisher, and one customer of it, may ask of all gateways together.
public struct LimitSettings: Sendable {
  public var registrations: RegistrationLimits
  /// Reads a second with one token of a publisher.
  public var readsPerSecond: Int
  /// Reads a second with the token of one customer.
  public var customerReadsPerSecond: Int

  init(_ reader: SettingsReader) {
    let usual = RegistrationLimits()
    registrations = RegistrationLimits(
      perSecond: Int(
        reader.int(
          "gateway.limits.registrationsPerSecond", Int64(usual.perSecond), 1...1_000_000,
          "Registrations of one publisher in a second, over all gateways. Beyond that the answer is 429.")),
      perSecondOfCustomer: Int(
        reader.int(
          "gateway.limits.customerRegistrationsPerSecond", Int64(usual.perSecondOfCustomer), 1...1_000_000,
          "Registrations with the token of one customer in a second; those of ten seconds may come at once.")),
      openOfCustomer: Int(
        reader.int(
          "gateway.limits.openPerCustomer", Int64(usual.openOfCustomer), 1...1_000_000,
          "Synchronizations of one customer that are not finalized.")),
      openOfPublisher: Int(
        reader.int(
          "gateway.limits.openPerPublisher", Int64(usual.openOfPublisher), 1...100_000_000,
          "Synchronizations of one publisher that are not finalized.")))
    readsPerSecond = Int(
      reader.int(
        "gateway.limits.readsPerSecond", 1000, 1...1_000_000,
        "Reads with one token of a publisher in a second, over all gateways, and a tenth more for each."))
    customerReadsPerSecond = Int(
      reader.int(
        "gateway.limits.customerReadsPerSecond", 20, 1...1_000_000,
        "Reads with the token of one customer in a second, over all gateways, and a tenth more for each."))
  }
}
