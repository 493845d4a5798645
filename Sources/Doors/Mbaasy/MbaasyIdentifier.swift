import Domain
import Formats

/// The UUIDs by which Mbaasy's contract names things that have no UUID here.
///
/// They are UUIDs of version 5, made of the thing's own name. So every process makes the same one, and no table of them
/// is needed.
enum MbaasyIdentifier {
  /// A namespace of our own.
  private static let namespace: [UInt8] = [
    0x8d, 0x2c, 0x5a, 0x0e, 0x31, 0x7f, 0x4b, 0x16, 0x9e, 0x64, 0x0b, 0xd7, 0x52, 0xc3, 0xa8, 0xf1,
  ]

  /// An app of a publisher.
  static func app(_ bundleId: BundleId, of publisherId: PublisherId) -> String {
    uuid("app", [String(publisherId), bundleId.text])
  }

  /// A purchase.
  static func purchase(_ key: PurchaseKey) -> String { uuid("purchase", parts(of: key)) }

  /// What Apple has signed about a purchase.
  static func fact(_ key: PurchaseKey) -> String { uuid("fact", parts(of: key)) }

  /// A receipt of a publisher's app.
  ///
  /// - Parameter sha256: the SHA-256 of the receipt.
  static func receipt(_ sha256: [UInt8], of publisherId: PublisherId) -> String {
    uuid("receipt", [String(publisherId), sha256.map(String.init).joined(separator: ".")])
  }

  /// An event.
  ///
  /// - Parameter id: the event's own id, `evt_…`.
  static func event(_ id: EventId) -> String { uuid("event", [id.text]) }

  private static func parts(of key: PurchaseKey) -> [String] {
    [String(key.publisherId), key.environment.text, key.originalTransactionId.text]
  }

  private static func uuid(_ kind: String, _ parts: [String]) -> String {
    AppAccountToken.derived(from: ([kind] + parts).lengthPrefixed, in: namespace).text
  }
}
