import Domain
import Postgres

/// A row of `customer_notes`.
struct CustomerNoteRow: ReadableRecord {
  var note: CustomerNote

  static let blank = CustomerNoteRow(
    note: CustomerNote(id: "", customer: CustomerKey(publisherId: 0, id: ""), text: "", person: "", createdAt: 0))
  var title: String { "note \(note.id)" }
  var customer: CustomerKey? { note.customer }

  static let table = Table<CustomerNoteRow>(
    "customer_notes", key: ["publisher_id", "customer_id", "id"]
  ) { columns in
    columns.required(
      "publisher_id", .publisher, { $0.note.customer.publisherId },
      { $0.note.customer = CustomerKey(publisherId: $1, id: $0.note.customer.id) })
    columns.required(
      "customer_id", .id(of: CustomerId.self), { $0.note.customer.id },
      { $0.note.customer = CustomerKey(publisherId: $0.note.customer.publisherId, id: $1) }, person: .withRow)
    columns.required("id", .id(of: NoteId.self), { $0.note.id }, { $0.note.id = $1 }, export: "noteId")
    columns.required(
      "text", .text, { $0.note.text }, { $0.note.text = $1 }, export: "text", person: .withRow)
    columns.required("person", .text, { $0.note.person }, { $0.note.person = $1 })
    columns.required(
      "created_at", .timestamptz, { $0.note.createdAt }, { $0.note.createdAt = $1 }, export: "createdAt")
  }
}
