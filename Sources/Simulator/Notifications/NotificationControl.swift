import Formats
import HTTP2Server
import JSON

/// A call of the control API of notifications.
enum NotificationControl: Equatable, Sendable {
  /// `simulator/notifications`.
  case settings
  /// `simulator/notifications/sent`, perhaps about one life.
  case sent(limit: Int, transactionId: String?)

  /// Reads the parts of a path behind `simulator/notifications`.
  init?(_ segments: [String], query: [StoreCall.QueryItem]) {
    switch segments {
    case [] where query.isEmpty: self = .settings
    case ["sent"]:
      var (limit, id): (Int, String?) = (100, nil)
      for item in query {
        switch item.name {
        case "transactionId" where item.value.isASCIIDigits(1...20): id = item.value
        case "limit":
          guard let count = Int(item.value), 1...1000 ~= count else { return nil }
          limit = count
        default: return nil
        }
      }
      self = .sent(limit: limit, transactionId: id)
    default: return nil
    }
  }

  /// The methods that the resource has.
  var methods: [String] {
    switch self {
    case .settings: ["GET", "PUT"]
    case .sent: ["GET"]
    }
  }
}

extension StoreService {
  /// Answers a control call.
  func control(_ call: NotificationControl, _ request: HTTP2Request) -> HTTP2Response {
    guard call.methods.contains(request.method) else {
      return HTTP2Response(status: 405, headers: [("allow", call.methods.joined(separator: ", "))])
    }
    switch call {
    case .settings:
      if request.method == "PUT" {
        do throws(ControlRefusal) {
          var body = try ControlBody(request.body)
          poster.settings = try NotificationSettings(&body, usual: usualNotifications)
        } catch {
          return Self.refused(error)
        }
      }
      return StoreRenderer.json(
        JSONWriter.object { json in
          poster.settings.write(to: &json)
          json.member("counts") { poster.counts.write(to: &$0) }
          json.member("waiting", Int64(poster.waiting))
        })
    case .sent(let limit, let transactionId):
      let life = transactionId.flatMap { try? lives.life($0).id } ?? transactionId
      let found = poster.archive.all.lazy.filter { life == nil || $0.originalTransactionId == life }.suffix(limit)
      return StoreRenderer.json(
        JSONWriter.object { json in
          json.member("notifications", found) { notification, json in Self.write(notification, to: &json) }
        })
    }
  }

  private static func write(_ notification: SimulatedNotification, to json: inout JSONWriter) {
    json.member("notificationUUID", notification.uuid)
    json.member("notificationType", notification.type)
    json.member("subtype", notification.subtype)
    json.member("environment", notification.environment.rawValue)
    json.member("bundleId", notification.bundleId.text)
    json.member("originalTransactionId", notification.originalTransactionId)
    json.member("transactionId", notification.transactionId)
    json.member("signedDate", notification.signedDate)
    json.member("lost", notification.isLost)
    json.member("delivered", notification.isDelivered)
    json.member("attempts", notification.attempts) { attempt, json in
      json.member("date", attempt.date)
      json.member("url", attempt.url)
      json.member("result", attempt.result.rawValue)
      json.member("status", attempt.status.map(Int64.init))
    }
  }
}
