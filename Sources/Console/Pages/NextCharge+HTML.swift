import AppStore

extension NextCharge {
  /// The time and the price.
  func html(_ view: ConsoleView) -> HTML {
    let money = PurchasePage.price(price, currency)
    return .all([view.time(at)] + (money.isEmpty ? [] : [.text(", \(money)")]))
  }
}
