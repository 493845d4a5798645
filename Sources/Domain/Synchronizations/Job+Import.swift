extension Job {
  /// How a job of an import ends. Its purchase never leaves an owner who stands, and the word of the operator who
  /// imports is proof enough for one that nobody owns.
  public enum Import: String, Sendable, CaseIterable {
    /// Nobody is told what the import itself changes (``Silence``).
    case silent
    /// Everybody is told, as of a registration.
    case told
  }
}

extension OwnershipPolicy {
  /// The policy for a job of an import, whatever the publisher asks of its customers.
  static let imported = OwnershipPolicy(proof: .none, restore: .refuse)
}
