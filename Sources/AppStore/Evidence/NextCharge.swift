public import Domain
import JSON

/// What Apple will charge for a subscription next, and when, as its newest renewal info says.
public struct NextCharge: Sendable, Equatable {
  /// In milliseconds since 1970.
  public let at: Int64
  /// In milliunits, which are thousandths of the currency: 9990 are 9.99. `nil` if Apple does not say it.
  /// See `renewalPrice` in https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload.
  public let price: Int64?
  /// As ISO 4217 says it.
  public let currency: CurrencyCode?

  /// Reads the charge of a purchase; `nil` if it will not renew, or while Apple tries to charge the customer already.
  ///
  /// - Parameters:
  ///   - payload: of the newest renewal info. Data that Apple signed in an earlier form may lack the price.
  ///   - now: milliseconds since 1970. A charge of the past says nothing.
  public init?(_ purchase: Purchase, _ payload: [UInt8]?, now: Int64) {
    guard let renewal = purchase.presentRenewal, renewal.willRenew == true, renewal.isInBillingRetry != true,
      purchase.deciding.kind == .autoRenewable, purchase.deciding.revocationDate == nil
    else { return nil }
    let signed: RenewalInfoPayload? = payload.flatMap { try? JSONText($0, limits: .outside).decoded() }
    guard let at = signed?.renewalDate ?? purchase.deciding.expiresDate, at > now else { return nil }
    self.at = at
    let price = signed?.renewalPrice.flatMap { $0 >= 0 ? $0 : nil }
    self.price = signed?.currency == nil ? nil : price
    currency = price == nil ? nil : signed?.currency
  }
}

extension NextCharge {
  /// The purchases that renew: what Apple charges next stands in their newest renewal info.
  public static func renewing(_ purchases: [Purchase]) -> [PurchaseKey] {
    purchases.filter { $0.presentRenewal?.willRenew == true }.map(\.key)
  }

  /// Reads the charges of purchases; those without one are left out.
  ///
  /// - Parameters:
  ///   - payloads: of the newest renewal info, for the purchases that ``renewing(_:)`` names.
  ///   - now: milliseconds since 1970.
  public static func all(
    of purchases: [Purchase], _ payloads: [PurchaseKey: [UInt8]], now: Int64
  ) -> [PurchaseKey: NextCharge] {
    Dictionary(
      purchases.compactMap { purchase in
        NextCharge(purchase, payloads[purchase.key], now: now).map { (purchase.key, $0) }
      }, uniquingKeysWith: { one, _ in one })
  }
}
