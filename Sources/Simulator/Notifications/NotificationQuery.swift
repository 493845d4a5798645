import Crypto
import Formats
import JSON

/// A request for Get Notification History, with the place where its pages go on.
struct NotificationQuery: Equatable, Sendable {
  var startDate: Int64
  var endDate: Int64
  var type: String?
  var subtype: String?
  var transactionId: String?
  var isOnlyFailures = false
  /// The number of the last notification of the page before.
  var after: Int?

  /// Apple's page.
  static let limit = 20

  /// Reads a body and the query of the URL.
  ///
  /// - Parameter now: UNIX milliseconds.
  init(
    _ body: [UInt8], _ query: [StoreCall.QueryItem], environment: StoreEnvironment, now: Int64
  ) throws(StoreFailure) {
    guard let text = try? JSONText(body), let value = try? text.decoded(as: JSONValue.self),
      case .object(let members) = value
    else { throw .badRequest }
    guard case .integer(let start) = members["startDate"] else { throw .invalidStartDate }
    guard case .integer(let end) = members["endDate"] else { throw .invalidEndDate }
    guard start < end else { throw .startDateAfterEndDate }
    guard start >= now - Self.reach(environment) else { throw .startDateTooFarInPast }
    (startDate, endDate) = (start, end)
    for (key, value) in members where value != .null {
      switch (key.text, value) {
      case ("startDate", _), ("endDate", _): break
      case ("notificationType", .string(let text)): type = text
      case ("notificationSubtype", .string(let text)): subtype = text
      case ("transactionId", .string(let text)):
        guard text.isASCIIDigits(1...20) else { throw .invalidTransactionId }
        transactionId = text
      case ("onlyFailures", .bool(let flag)): isOnlyFailures = flag
      default: throw .badRequest
      }
    }
    guard type == nil || transactionId == nil else { throw .multipleFilters }
    if let type {
      guard let known = NotificationNames.subtypes[type], subtype.map(known.contains) ?? true else {
        throw .invalidNotificationType
      }
    } else if subtype != nil {
      throw .invalidNotificationType
    }
    for item in query {
      guard item.name == "paginationToken" else { throw .badRequest }
      guard let number = number(in: item.value) else { throw .invalidPaginationToken }
      after = number
    }
  }

  /// How far back the history goes: 180 days, 30 in the sandbox. The hour is for a caller that asks for all of it.
  private static func reach(_ environment: StoreEnvironment) -> Int64 {
    (environment == .production ? 180 : 30) * millisecondsPerDay + 3_600_000
  }

  /// Returns the page of some notifications, oldest first.
  ///
  /// - Parameters:
  ///   - app: only this app's.
  ///   - life: the life of ``transactionId``.
  func page(
    of archive: NotificationArchive, app: ExactText, environment: StoreEnvironment, life: String?
  ) -> (items: [SimulatedNotification], hasMore: Bool) {
    var items: [SimulatedNotification] = []
    let skipped = after.map { $0 + 1 - archive.first } ?? 0
    for notification in archive.all.dropFirst(max(0, skipped)) {
      guard notification.bundleId == app, notification.environment == environment,
        startDate...endDate ~= notification.signedDate,
        type == nil || notification.type == type, subtype == nil || notification.subtype == subtype,
        transactionId == nil || notification.originalTransactionId == life ?? transactionId,
        !isOnlyFailures || !notification.isDelivered
      else { continue }
      guard items.count < Self.limit else { return (items, true) }
      items.append(notification)
    }
    return (items, false)
  }

  /// The token of the page behind a notification. It holds for the same request only.
  func token(after number: Int) -> String { Base64URL.encode(Array("\(number).\(digest)".utf8)) }

  private func number(in token: String) -> Int? {
    guard let bytes = Base64URL.decode(token) else { return nil }
    let parts = String(decoding: bytes, as: UTF8.self).split(separator: ".").map(String.init)
    guard parts.count == 2, parts[1].isExactly(digest), let number = Int(parts[0]), number >= 0 else { return nil }
    return number
  }

  private var digest: String {
    let parts = [
      String(startDate), String(endDate), type ?? "", subtype ?? "", transactionId ?? "", String(isOnlyFailures),
    ]
    return Hex.encode(Array(SHA256.hash(Array(parts.joined(separator: " ").utf8)).prefix(8)))
  }
}
