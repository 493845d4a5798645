import Crypto
import Formats

extension Publisher {
  /// Hashes what decides about access and timers.
  static func rulesSHA256(_ offers: OfferCatalog, _ sandboxAccess: SandboxAccess, _ doors: OpenDoors) -> [UInt8] {
    var parts = ["1"]
    for product in offers.products {
      parts += [product.id.text, product.offer.id.text, product.offer.accessDays.map(String.init) ?? ""]
      // The defaults leave no trace, so publishers without these settings are not evaluated anew.
      if product.offer.refunds != .endAccess { parts.append("refunds:\(product.offer.refunds.rawValue)") }
      if !product.offer.grantsFamilyShared { parts.append("familyShared:refuse") }
    }
    switch sandboxAccess {
    case .nobody: parts.append("nobody")
    case .everybody: parts.append("everybody")
    case .customers(let ids): parts += ["customers"] + ids.sorted().map(\.text)
    }
    parts += doors.all.flatMap(\.rules)
    return SHA256.hash(Array(parts.lengthPrefixed.utf8))
  }
}
