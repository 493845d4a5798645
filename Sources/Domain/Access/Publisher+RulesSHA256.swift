import Crypto
import Formats

extension Publisher {
  /// SHA-256 of what decides about access and timers: the offers, the customers with access for the sandbox, and the
  /// rules of open doors. Equal rules have equal hashes, in whichever order the publisher's file lists them.
  public var rulesSHA256: [UInt8] {
    var parts = ["1"]
    for product in offers.products {
      parts += [product.id, product.offer.id, product.offer.accessDays.map(String.init) ?? ""]
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
