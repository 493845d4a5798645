/// What a description says about a table, whatever its records are.
struct TableDescription: Sendable {
  struct Column: Sendable {
    let name: String
    let type: String
    let isNullable: Bool
    let isExported: Bool
    let person: ColumnErasure?
  }

  let name: String
  let key: [String]
  let columns: [Column]
}

extension Table {
  var description: TableDescription {
    TableDescription(
      name: name, key: key,
      columns: columns.filter { $0.computed == nil }.map {
        TableDescription.Column(
          name: $0.name.description, type: $0.type, isNullable: $0.isNullable, isExported: $0.export != nil,
          person: $0.person)
      })
  }
}
