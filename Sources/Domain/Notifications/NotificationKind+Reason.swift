extension NotificationKind {
  /// Why the purchase changed; `nil` for kinds that are only stored or unknown to this version.
  ///
  /// It only names the event. What changed follows from the evidence, whatever Apple calls it.
  public var reason: LifeCycleReason? {
    guard let meaning = NotificationType.meanings[type] else { return nil }
    // A new subtype must not turn into a wrong reason: only a type whose subtypes all mean the same may ignore it.
    return meaning.subtypes[subtype] ?? meaning.otherwise
  }

  /// Whether this version knows the type with this subtype. Tell an operator of one that it does not know.
  public var isKnown: Bool { NotificationType.meanings[type]?.subtypes.keys.contains(subtype) ?? false }

  /// Every kind that Apple documents, in no order.
  public static var documented: [NotificationKind] {
    NotificationType.meanings.flatMap { type, meaning in meaning.subtypes.keys.map { NotificationKind(type, $0) } }
  }
}
