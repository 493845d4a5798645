/// Whose export a file is: which columns have what. docs/how-to/import-purchases.md has a section for each.
///
/// The core has those of no vendor that is a door: a door brings its own (``DoorContract/export``).
public struct ExportColumns: Sendable {
  /// What a column has.
  public enum Field: Sendable, CaseIterable {
    case customer, transaction, original, signed, receipt, verify, offer, purchasedAt, expiresAt, vendorId, store
  }

  /// The name of the preset.
  public let name: ImportPresetName
  private let columns: [Field: [StaticString]]
  private let idPrefix: String

  /// Describes the columns of an export.
  ///
  /// - Parameters:
  ///   - columns: the names of the columns that have a field. The first one with a value counts.
  ///   - idPrefix: what the vendor may put before the id of a transaction.
  public init(_ name: ImportPresetName, idPrefix: String = "", _ columns: [Field: [StaticString]]) {
    (self.name, self.idPrefix, self.columns) = (name, idPrefix, columns)
  }

  /// The names of the columns that have a field. The first one with a value counts.
  public func names(of field: Field) -> [StaticString] { columns[field] ?? [] }

  /// Whether a store, as the vendor names it, is Apple's. Apple Pay is a card, and no store.
  public func isApple(_ store: String) -> Bool {
    let name = store.lowercased()
    return ["app_store", "mac_app_store", "ios-appstore", "ios", "itunes"].contains(name)
      || name.contains("apple") && !name.contains("pay")
  }

  /// An id without what the vendor puts before it, such as `apple:` in `apple:1000000001`.
  public func bare(_ id: String) -> String {
    id.utf8.starts(with: idPrefix.utf8) ? String(decoding: id.utf8.dropFirst(idPrefix.utf8.count), as: UTF8.self) : id
  }
}
