extension TransactionFacts {
  /// Whether a member of the customer's family bought it.
  package var isShared: Bool { ownershipType?.utf8.elementsEqual("FAMILY_SHARED".utf8) ?? false }
}
