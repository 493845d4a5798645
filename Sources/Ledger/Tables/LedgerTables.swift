/// The descriptions of all tables of a ledger.
enum LedgerTables {
  static let all: [TableDescription] =
    [
      PurchaseRow.table.description, TransactionRow.table.description, EvidenceRow.table.description,
      EvidenceRow.chains.description, CustomerRow.table.description, OwnershipRow.table.description,
      SynchronizationRow.table.description, EventRow.table.description, AuditEntry.table.description,
      NotificationRow.table.description, RefundRequestRow.table.description, RefundRequestRow.consents.description,
      GrantRow.table.description, CustomerNoteRow.table.description, SandboxOverrideRow.table.description,
      UploadedImportRow.table.description, WebhookRow.table.description, AttemptRow.table.description,
    ] + TablesWithoutEntity.all
}
