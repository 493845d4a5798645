import Domain
import Postgres

/// A record that is read from a row.
protocol ReadableRecord: Sendable {
  /// The record before any column is read.
  static var blank: Self { get }
  /// Names the record in an error, such as `purchase 2000`. It shows no secret and no customer: logs have errors, too.
  var title: String { get }
  /// Whose row it is, for ``UnreadableRecord/customer``.
  var customer: CustomerKey? { get }
}

extension ReadableRecord {
  var customer: CustomerKey? { nil }
}

/// Reads the records of one result. It has looked for the columns once.
struct TableReader<Record: ReadableRecord>: Sendable {
  private let table: Table<Record>
  /// In the order of the table's readers.
  private let places: [PostgresColumn]

  init(_ table: Table<Record>, _ places: [PostgresColumn]) { (self.table, self.places) = (table, places) }

  /// Reads a row.
  ///
  /// - Throws: ``UnreadableRecord`` that names the column; `PostgresError` for a column of another type.
  func record(_ row: PostgresRow) throws -> Record {
    var record = Record.blank
    for place in places.indices {
      do {
        try table.readers[place](row, places[place], &record)
      } catch let error as PostgresError {
        throw error
      } catch {
        throw UnreadableRecord("the \(table.readNames[place]) of \(record.title)", customer: record.customer)
      }
    }
    return record
  }
}

extension Table where Record: ReadableRecord {
  /// Finds the columns of ``selected(_:)`` in a result with rows.
  ///
  /// - Throws: `PostgresError` if one is missing.
  func reader(of rows: PostgresRows) throws -> TableReader<Record> {
    TableReader(self, try rows.columns(readNames))
  }

  /// Reads all rows of a result.
  ///
  /// - Throws: as ``TableReader/record(_:)``.
  func records(_ rows: PostgresRows) throws -> [Record] {
    if rows.isEmpty { return [] }
    let reader = try reader(of: rows)
    return try rows.map { try reader.record($0) }
  }
  /// Reads rows of some customers, those of each one by themselves: a row that cannot be read is the failure of its
  /// customer only. The rows have `publisher_id` and `customer_id`.
  ///
  /// - Throws: `PostgresError` if a column is missing.
  func records(byCustomer rows: PostgresRows) throws -> [CustomerKey: Result<[Record], any Error>] {
    if rows.isEmpty { return [:] }
    let (reader, publisher, id) = (
      try reader(of: rows), try rows.column("publisher_id"), try rows.column("customer_id")
    )
    var found: [CustomerKey: [PostgresRow]] = [:]
    for row in rows {
      guard let publisherId = try row.id(publisher), let customer: CustomerId = try row.id(id) else { continue }
      found[CustomerKey(publisherId: publisherId, id: customer), default: []].append(row)
    }
    return found.mapValues { rows in Result { try rows.map { try reader.record($0) } } }
  }
}
