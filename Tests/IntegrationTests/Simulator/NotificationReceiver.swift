import AppStore
import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import HTTP
import HTTPServer
import Testing

/// A developer's server that takes notifications. A test chooses its answers.
@LoopActor
final class NotificationReceiver {
  private struct Body: Decodable { var signedPayload: String }

  /// The bodies so far, in the order of arrival.
  private(set) var bodies: [[UInt8]] = []
  /// The status of the answer to each body, by how many came before it.
  var status: @LoopActor (Int) -> Int = { _ in 200 }
  private var server: HTTPServer?

  func start() throws {
    server = try HTTPServer(.unlimited) { [weak self] request in
      guard let self, request.method == "POST", request.header("content-type") == "application/json" else {
        return .text(500, "")
      }
      bodies.append(request.body)
      return .text(status(bodies.count - 1), "")
    }
  }

  func close() async { await server?.close() }

  var url: String { "http://127.0.0.1:\(server?.port ?? 0)/apple/notifications" }

  /// What a body of version 2 says, verified with everything that is nested in it.
  func verified(_ index: Int, by simulator: RunningSimulator) throws -> VerifiedNotification {
    let body = try JSONDecoder().decode(Body.self, from: Data(bodies[index]))
    let apps = AcceptedApps([AcceptedApps.App(bundleId: "com.example.video", appAppleId: 1_234_567_890)])
    let verdict = try simulator.signedDataVerifier().notification(body.signedPayload, expecting: apps)
    return try #require(verdict.payload, "\(String(describing: verdict.rejection))")
  }

  /// Runs a test with a simulator that posts to a receiver.
  static func with(
    month: Duration = .seconds(60), _ settings: String = "",
    _ body: @LoopActor (RunningSimulator, NotificationReceiver) async throws -> Void
  ) async throws {
    let receiver = NotificationReceiver()
    try receiver.start()
    do {
      try await RunningSimulator.with(month: month) { simulator async throws in
        let text = "{\"urls\": [\"\(receiver.url)\"]\(settings.isEmpty ? "" : ", ")\(settings)}"
        #expect(try await simulator.control("PUT", "notifications", text).status == 200)
        try await body(simulator, receiver)
      }
    } catch {
      await receiver.close()
      throw error
    }
    await receiver.close()
  }
}

extension RunningSimulator {
  func notifications() async throws -> NotificationsBody {
    try await control("GET", "notifications").decoded(as: NotificationsBody.self)
  }

  func sent(_ query: String = "") async throws -> [SentBody.Notification] {
    try await control("GET", "notifications/sent\(query)").decoded(as: SentBody.self).notifications
  }
}

/// The settings and the counts of notifications.
struct NotificationsBody: Decodable {
  struct Counts: Decodable {
    var told: Int
    var lost: Int
    var delayed: Int
    var repeated: Int
    var posts: Int
    var received: Int
    var refused: Int
    var unanswered: Int
    var retried: Int
    var givenUp: Int
  }

  var urls: [String]
  var version: Int
  var counts: Counts
  var waiting: Int
}

/// The last notifications.
struct SentBody: Decodable {
  struct Notification: Decodable {
    struct Attempt: Decodable {
      var result: String
      var status: Int?
    }

    var notificationUUID: String
    var notificationType: String
    var subtype: String?
    var lost: Bool
    var delivered: Bool
    var attempts: [Attempt]
  }

  var notifications: [Notification]
}
