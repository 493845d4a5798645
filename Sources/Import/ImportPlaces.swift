import Domain

/// Finds rows by their transactions. It is a hash table of the rows' positions, and has no copy of an id.
struct ImportPlaces {
  private static let free: Int32 = -1

  /// A power of two, at least twice as many as there are rows.
  private var slots = [Int32](repeating: free, count: 16)
  private var count = 0

  /// The row with a transaction.
  func position(of transaction: TransactionId, in rows: ImportRows) -> Int? {
    let position = slots[slot(of: Array(transaction.text.utf8)[...], in: rows)]
    return position == Self.free ? nil : Int(position)
  }

  /// Notes a row that is new, and whose transaction no other row has.
  mutating func note(_ position: Int, in rows: ImportRows) {
    if 2 * (count + 1) > slots.count {
      let old = slots
      slots = [Int32](repeating: Self.free, count: 2 * old.count)
      for position in old where position != Self.free { put(position, rows) }
    }
    put(Int32(position), rows)
    count += 1
  }

  private mutating func put(_ position: Int32, _ rows: ImportRows) {
    slots[slot(of: rows.transaction(at: Int(position)), in: rows)] = position
  }

  /// The slot of the row with a transaction, or the one where it belongs.
  private func slot(of transaction: ArraySlice<UInt8>, in rows: ImportRows) -> Int {
    var hasher = Hasher()
    transaction.withUnsafeBytes { hasher.combine(bytes: $0) }
    var slot = hasher.finalize() & (slots.count - 1)
    while slots[slot] != Self.free, rows.transaction(at: Int(slots[slot])) != transaction {
      slot = (slot + 1) & (slots.count - 1)
    }
    return slot
  }
}
