import Domain
import Formats

/// The rows of a file, in its order, in little memory: about a hundred bytes for a row, so that a file may have
/// millions of them.
public struct ImportRows: RandomAccessCollection, Sendable {
  /// What a row has besides its texts. A number that it lacks is ``none``.
  private struct Entry {
    /// Where its texts begin.
    var place: Int
    var line: Int32
    var purchasedAt: Int64
    var expiresAt: Int64
    var signedAt: Int64
  }

  private static let none = Int64.min

  private var entries: [Entry] = []
  /// The customer, transaction, offer and vendor's id of each row, each behind its length. A text that a row lacks is
  /// empty.
  private var texts: [UInt8] = []

  /// Creates a list without rows.
  public init() {}

  public var startIndex: Int { 0 }
  public var endIndex: Int { entries.count }

  /// The rows whose signed transactions are enough.
  var signedCount: Int { entries.count { $0.signedAt != Self.none } }
  /// How much memory the rows need.
  var byteCount: Int { entries.count * MemoryLayout<Entry>.stride + texts.count }

  public subscript(position: Int) -> ImportRow {
    let entry = entries[position]
    var place = entry.place
    let customer = text(at: &place)
    let (transaction, offer, vendor) = (text(at: &place), text(at: &place), text(at: &place))
    func number(_ number: Int64) -> Int64? { number == Self.none ? nil : number }
    return ImportRow(
      line: Int(entry.line), customerId: CustomerId(customer), transactionId: TransactionId(transaction),
      claim: ClaimedPurchase(
        offerId: offer.isEmpty ? nil : OfferId(offer), purchasedAt: number(entry.purchasedAt),
        expiresAt: number(entry.expiresAt), vendorId: vendor.isEmpty ? nil : vendor),
      signedAt: number(entry.signedAt))
  }

  /// Adds a row.
  mutating func append(_ row: ImportRow) {
    let place = write(row)
    entries.append(Self.entry(of: row, place: place))
  }

  /// Puts a row in place of another one.
  mutating func replace(_ position: Int, with row: ImportRow) {
    let old = self[position]
    let isSame =
      old.customerId == row.customerId && old.transactionId == row.transactionId
      && old.claim.offerId == row.claim.offerId && old.claim.vendorId.isExactly(row.claim.vendorId)
    let place = isSame ? entries[position].place : write(row)
    entries[position] = Self.entry(of: row, place: place)
  }

  /// Removes rows.
  mutating func remove(_ positions: Set<Int>) {
    guard !positions.isEmpty else { return }
    entries = entries.indices.filter { !positions.contains($0) }.map { entries[$0] }
  }

  /// It does not use the list. A call of the list's own would hold a copy while a text is written, and the texts would
  /// be copied for each row.
  private static func entry(of row: ImportRow, place: Int) -> Entry {
    Entry(
      place: place, line: Int32(clamping: row.line), purchasedAt: row.claim.purchasedAt ?? none,
      expiresAt: row.claim.expiresAt ?? none, signedAt: row.signedAt ?? none)
  }

  // MARK: Texts

  /// The transaction of a row.
  func transaction(at position: Int) -> ArraySlice<UInt8> {
    var place = entries[position].place
    _ = bytes(at: &place)
    return bytes(at: &place)
  }

  /// Writes the texts of a row; returns where they begin.
  private mutating func write(_ row: ImportRow) -> Int {
    let place = texts.count
    for text in [row.customerId.text, row.transactionId.text, row.claim.offerId?.text, row.claim.vendorId] {
      let bytes = (text ?? "").utf8
      var length = bytes.count
      // Seven bits a byte; the eighth says that more follow.
      while length > 0x7f {
        texts.append(UInt8(length & 0x7f) | 0x80)
        length >>= 7
      }
      texts.append(UInt8(length))
      texts += bytes
    }
    return place
  }

  private func text(at place: inout Int) -> String { String(decoding: bytes(at: &place), as: UTF8.self) }

  /// Takes a text, and moves the place behind it.
  private func bytes(at place: inout Int) -> ArraySlice<UInt8> {
    var (length, shift) = (0, 0)
    while true {
      let byte = texts[place]
      place += 1
      length |= Int(byte & 0x7f) << shift
      shift += 7
      if byte < 0x80 { break }
    }
    defer { place += length }
    return texts[place..<place + length]
  }
}
