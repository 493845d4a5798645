import Crypto
import Domain
import JSON
import Postgres

/// The lines of one page of an export.
enum ExportPage {
  struct Line {
    let position: ExportPosition
    let line: [UInt8]
  }

  /// The lines of things that are one row each.
  static func things(_ kind: ExportKind, _ rows: PostgresRows) throws -> [Line] {
    try rows.map { row in try line(kind, row) { _ in } }
  }

  /// - Parameter holdings: what each of the customers owns, in their order.
  static func customers(
    _ rows: PostgresRows, _ holdings: [Result<CustomerPurchases, any Error>], _ publisher: Publisher, now: Int64
  ) throws -> [Line] {
    try zip(rows, holdings).map { row, holdings in
      let id: CustomerId = try row.id("key1") ?? ""
      let holdings = try holdings.get()
      let entitlements = Entitlements.of(
        purchases: holdings.purchases, grants: holdings.grants,
        rules: publisher.accessRules(for: id, owning: holdings.purchases), now: now)
      return try line(.customer, row) { line in
        line.member("cleengCustomerId", id.number)
        line.member(
          "access", array: entitlements.map { entitlement in JSONWriter.object { entitlement.told.tell(to: &$0) } })
      }
    }
  }

  static func purchases(
    _ rows: PostgresRows, transactions: PostgresRows, owners: PostgresRows, evidence: PostgresRows
  ) throws -> [Line] {
    func byPurchase(_ rows: PostgresRows, _ json: (PostgresRow) throws -> [UInt8]) throws -> [[String]: [[UInt8]]] {
      try rows.reduce(into: [:]) { found, row in
        found[[try row.text("key1") ?? "", try row.text("key2") ?? ""], default: []].append(try json(row))
      }
    }
    let transactions = try byPurchase(transactions) { try RowDocument.exportedTransaction.json($0) }
    let owners = try byPurchase(owners) { try RowDocument.exportedOwner.json($0) }
    let evidence = try byPurchase(evidence, piece)
    return try rows.map { row in
      let key = [try row.text("key1") ?? "", try row.text("key2") ?? ""]
      return try line(.purchase, row) { line in
        line.member("evidence", array: evidence[key] ?? [])
        line.member("owners", array: owners[key] ?? [])
        line.member("transactions", array: transactions[key] ?? [])
      }
    }
  }

  /// A piece of evidence, with the text that Apple signed.
  private static func piece(_ row: PostgresRow) throws -> [UInt8] {
    let (payload, signature) = (try row.bytes("payload") ?? [], try row.bytes("signature") ?? [])
    let jws = try row.text("header").map { "\($0).\(Base64URL.encode(payload)).\(Base64URL.encode(signature))" }
    return try RowDocument.exportedEvidence.json(row) { $0.member("jws", jws) }
  }

  private static func line(
    _ kind: ExportKind, _ row: PostgresRow, more: (inout JSONWriter) throws -> Void
  ) throws -> Line {
    let position = ExportPosition(
      kind, try [row.text("key1"), kind.keyLength == 2 ? row.text("key2") : nil].compactMap(\.self))
    return Line(
      position: position,
      line: try ExportLine.thing(position) { line in
        try kind.document.write(row, to: &line)
        try more(&line)
      })
  }
}
