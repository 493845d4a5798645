import Domain

extension NotificationV1 {
  /// The members of the body that make the hint.
  struct Body: Decodable {
    var environment: String?
    var notificationType: String?
    private var bid: BundleId?
    private var originalTransactionId: NumberOrText?
    private var unifiedReceipt: UnifiedReceipt?
    private var latestReceiptInfo: Lenient<Entry>?
    private var latestExpiredReceiptInfo: Lenient<Entry>?

    private enum CodingKeys: String, CodingKey {
      case environment, bid
      case notificationType = "notification_type"
      case originalTransactionId = "original_transaction_id"
      case unifiedReceipt = "unified_receipt"
      case latestReceiptInfo = "latest_receipt_info"
      case latestExpiredReceiptInfo = "latest_expired_receipt_info"
    }

    /// Bodies before 2021 name the app only beside the receipt's last transaction.
    var bundleId: BundleId? { bid ?? latestReceiptInfo?.value?.bid ?? latestExpiredReceiptInfo?.value?.bid }

    /// Whether the id of the event's purchase is longer than any id.
    var isIdTooLong: Bool { (originalTransactionId?.id.text.utf8.count ?? 0) > TransactionId.longest }

    /// The ids in the order of the body: first the purchase of the event itself, where Apple names it.
    var purchases: [OriginalTransactionId] {
      let named = [originalTransactionId, latestReceiptInfo?.value?.id, latestExpiredReceiptInfo?.value?.id]
      let listed = [unifiedReceipt?.latestReceiptInfo, unifiedReceipt?.pendingRenewalInfo].compactMap { $0 }.joined()
      var seen: Set<OriginalTransactionId> = []
      let ids = (named + listed.map(\.id)).compactMap { $0?.id }
      let distinct = ids.filter { TransactionId.isValid($0.text) && seen.insert($0).inserted }
      return Array(distinct.prefix(NotificationV1.mostPurchases))
    }
  }

  struct UnifiedReceipt: Decodable {
    var latestReceiptInfo: [Entry]?
    var pendingRenewalInfo: [Entry]?

    private enum CodingKeys: String, CodingKey {
      case latestReceiptInfo = "latest_receipt_info"
      case pendingRenewalInfo = "pending_renewal_info"
    }
  }

  /// A transaction, or a renewal.
  struct Entry: Decodable {
    var id: NumberOrText?
    var bid: BundleId?

    private enum CodingKeys: String, CodingKey {
      case bid
      case id = "original_transaction_id"
    }
  }

  /// An id. Apple writes a text; copies of old bodies have numbers.
  struct NumberOrText: Decodable {
    let id: OriginalTransactionId

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if let number = try? value.decode(Int64.self) {
        id = OriginalTransactionId(String(number))
      } else {
        id = try value.decode(OriginalTransactionId.self)
      }
    }
  }

  /// A value that may have another form: old bodies have an object where later ones may have a list or a text.
  struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws { value = try? Value(from: decoder) }
  }
}
