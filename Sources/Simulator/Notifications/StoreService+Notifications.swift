import Crypto

/// Makes notifications of what happens to lives.
extension StoreService {
  /// Signs what Apple tells about a change, once, and posts it.
  func tell(_ change: Lives.Change) {
    let (life, notice) = (change.life, change.notice)
    guard let transaction = life.transactions.first(where: { $0.id == notice.transactionId }) else { return }
    var notification = SimulatedNotification(
      number: poster.archive.next, uuid: Self.uuid(), type: notice.type, subtype: notice.subtype,
      environment: life.terms.environment, bundleId: life.terms.bundleId, appAppleId: life.terms.appAppleId,
      originalTransactionId: life.id, transactionId: transaction.id, signedDate: change.date,
      urls: life.terms.urls ?? poster.settings.urls)
    notification.requestReason = notice.requestReason
    notification.status = life.isSubscription ? life.state.status.rawValue : nil
    // A payload that cannot be signed is lost, as any other notification may be.
    do {
      notification.transaction = try renderer.seal(life.payload(transaction, signedAt: change.date).json)
      if let renewal = life.renewalPayload(signedAt: change.date) {
        notification.renewal = try renderer.seal(renderer.encode(renewal))
      }
      try finish(&notification)
    } catch {
      return
    }
    if poster.settings.version == 1 {
      let old = OldNotification(
        life: life, notice: notice, date: change.date, password: poster.settings.password,
        receipt: heldReceipt(of: life, at: change.date))
      notification.oldBodies = old.bodies
      // Version 1 has no word for it.
      if old.bodies.isEmpty { notification.urls = [] }
    }
    poster.send(notification)
  }

  /// Signs the whole.
  func finish(_ notification: inout SimulatedNotification) throws {
    notification.signature = try renderer.seal(notification.payload(renderer.signer)).signature
  }

  /// A random UUID.
  static func uuid() -> String {
    var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    let text = Hex.encode(bytes)
    var parts: [Substring] = []
    var rest = text[...]
    for length in [8, 4, 4, 4, 12] {
      parts.append(rest.prefix(length))
      rest = rest.dropFirst(length)
    }
    return parts.joined(separator: "-")
  }

  private func heldReceipt(of life: Life, at date: Int64) -> String? {
    guard let purchase = life.purchase(asked: life.latest.id, signedAt: date) else { return nil }
    return try? renderer.receipt(
      StoreReceipt(origin: purchase.asked, purchases: [purchase], created: date), .genuine)
  }
}
