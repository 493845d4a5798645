public import Domain

/// Addresses of the console's pages, for the console and for answers that lead there.
extension ConsoleSettings {
  /// The whole address of a customer's page; `nil` if ``publicURL`` says nothing.
  public func page(of customer: CustomerKey) -> String? {
    publicURL.map { $0 + PagePath(Self.segments(of: customer)).text }
  }

  /// The segments of a customer's page.
  public static func segments(of customer: CustomerKey) -> [String] {
    ["customers", "\(customer.publisherId)", customer.id.text]
  }
}
