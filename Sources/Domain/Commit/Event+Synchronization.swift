extension Event {
  /// The id of the event of a synchronization, finalized or not.
  public static func id(of synchronization: Synchronization) -> String {
    id(
      synchronization.publisherId, EventTopic.synchronizationResult,
      [synchronization.id, synchronization.transactionId, synchronization.customerId])
  }
}
