import Formats
import Testing

@testable import Simulator

/// Get Notification History, by value.
struct NotificationQueryTests {
  private let now: Int64 = 1_790_000_000_000
  private let day: Int64 = 86_400_000

  private func query(
    _ more: String = "", token: String? = nil, _ environment: StoreEnvironment = .production
  ) throws(StoreFailure) -> NotificationQuery {
    try query(whole: "{\"startDate\": \(now - day), \"endDate\": \(now)\(more)}", token: token, environment)
  }

  private func query(
    whole: String, token: String? = nil, _ environment: StoreEnvironment = .production
  ) throws(StoreFailure) -> NotificationQuery {
    let items = token.map { [StoreCall.QueryItem(name: "paginationToken", value: $0)] } ?? []
    return try NotificationQuery(Array(whole.utf8), items, environment: environment, now: now)
  }

  private func archive(_ count: Int, capacity: Int = 1000) -> NotificationArchive {
    var archive = NotificationArchive(capacity: capacity)
    for number in 0..<count {
      var notification = SimulatedNotification(
        number: number, uuid: "u\(number)", type: number % 2 == 0 ? "DID_RENEW" : "REFUND",
        subtype: number % 4 == 0 ? "BILLING_RECOVERY" : nil, environment: number % 10 == 9 ? .sandbox : .production,
        bundleId: number % 10 == 8 ? "other" : "app", appAppleId: 1, originalTransactionId: "\(number % 3)",
        signedDate: now - day / 2 + Int64(number), urls: ["http://a"])
      let result = number % 5 == 0 ? SendResult.timedOut : .success
      notification.attempts = [.init(date: now, url: "http://a", result: result)]
      archive.add(notification)
    }
    return archive
  }

  private func numbers(_ query: NotificationQuery, _ archive: NotificationArchive, life: String? = nil) -> [Int] {
    query.page(of: archive, app: "app", environment: .production, life: life).items.map(\.number)
  }

  @Test func pagesCoverEverythingOnce() throws {
    let archive = archive(100)
    var (found, sizes): ([Int], [Int]) = ([], [])
    var token: String?
    while true {
      let query = try query(token: token)
      let page = query.page(of: archive, app: "app", environment: .production, life: nil)
      found += page.items.map(\.number)
      sizes.append(page.items.count)
      guard page.hasMore, let last = page.items.last else { break }
      token = query.token(after: last.number)
    }
    #expect(found == (0..<100).filter { $0 % 10 < 8 } && sizes == [20, 20, 20, 20])
  }

  /// What the archive forgets between two pages is skipped.
  @Test func pagesGoOnBehindForgottenOnes() throws {
    let old = try query()
    let token = old.token(after: 25)
    #expect(numbers(try query(token: token), archive(100, capacity: 50)).first == 50)
    #expect(numbers(try query(token: token), archive(100)).first == 26)
  }

  @Test func filters() throws {
    let archive = archive(40)
    #expect(numbers(try query(#", "notificationType": "REFUND""#), archive).allSatisfy { $0 % 2 == 1 })
    #expect(
      numbers(try query(#", "notificationType": "DID_RENEW", "notificationSubtype": "BILLING_RECOVERY""#), archive)
        .allSatisfy { $0 % 4 == 0 })
    #expect(numbers(try query(#", "transactionId": "2""#), archive).allSatisfy { $0 % 3 == 2 })
    #expect(numbers(try query(#", "transactionId": "77""#), archive, life: "1").allSatisfy { $0 % 3 == 1 })
    #expect(numbers(try query(#", "onlyFailures": true"#), archive) == [0, 5, 10, 15, 20, 25, 30, 35])
    let range = try query(whole: "{\"startDate\": \(now - day / 2 + 3), \"endDate\": \(now - day / 2 + 5)}")
    #expect(numbers(range, archive) == [3, 4, 5])
  }

  @Test(arguments: [
    (#", "notificationType": "PARTY""#, 4_000_018),
    (#", "notificationType": "REFUND", "notificationSubtype": "UPGRADE""#, 4_000_018),
    (#", "notificationSubtype": "UPGRADE""#, 4_000_018),
    (#", "notificationType": "REFUND", "transactionId": "7""#, 4_000_019), (#", "transactionId": "x""#, 4_000_006),
    (#", "onlyFailures": 1"#, 4_000_000), (#", "page": 2"#, 4_000_000),
  ])
  func mistakes(more: String, code: Int) {
    #expect { try query(more) } throws: { ($0 as? StoreFailure)?.code == code }
  }

  @Test func dates() throws {
    func code(_ whole: String, _ environment: StoreEnvironment = .production) -> Int? {
      do throws(StoreFailure) {
        _ = try query(whole: whole, environment)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(code("{\"startDate\": \(now - 180 * day), \"endDate\": \(now + day)}") == nil)
    #expect(code("{\"startDate\": \(now - 181 * day), \"endDate\": \(now)}") == 4_000_012)
    #expect(code("{\"startDate\": \(now - 30 * day), \"endDate\": \(now)}", .sandbox) == nil)
    #expect(code("{\"startDate\": \(now - 31 * day), \"endDate\": \(now)}", .sandbox) == 4_000_012)
    #expect(code("{\"startDate\": \(now), \"endDate\": \(now)}") == 4_000_013)
    #expect(code("{\"endDate\": 1}") == 4_000_015 && code("{\"startDate\": 1}") == 4_000_016)
    #expect(code("{\"startDate\": \"1\", \"endDate\": 2}") == 4_000_015)
    #expect(code("") == 4_000_000 && code("[]") == 4_000_000)
  }

  /// A token holds for the request that it comes from.
  @Test func tokens() throws {
    let token = try query().token(after: 3)
    #expect(try query(token: token).after == 3)
    #expect { try query(#", "onlyFailures": true"#, token: token) } throws: {
      ($0 as? StoreFailure)?.code == 4_000_014
    }
    for wrong in ["", "x", "!!", "MTIz"] {
      #expect { try query(token: wrong) } throws: { ($0 as? StoreFailure)?.code == 4_000_014 }
    }
  }
}
