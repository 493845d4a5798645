import AppleCalls
import Crypto
import Domain
import DomainSupport
import Testing

@testable import Console

/// Apple's test notifications: which app a form names, and what Apple's words mean.
struct TestNotificationTests {
  private static func form(_ fields: [String: String]) -> TestNotificationForm? { TestNotificationForm { fields[$0] } }
  private static let good = ["publisher": "7", "app": "com.example", "environment": "Sandbox"]

  @Test func `a form names an app in an environment that Apple has`() throws {
    let form = try #require(Self.form(Self.good))
    #expect(form.publisherId == 7 && form.bundleId == "com.example" && form.environment == .sandbox)
    let again = Dictionary(form.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    #expect(Self.form(again) == form)
    for (name, value) in [
      ("publisher", ""), ("publisher", "x"), ("app", ""), ("environment", "Xcode"), ("environment", "LocalTesting"),
    ] {
      #expect(Self.form(Self.good.merging([name: value]) { $1 }) == nil, "\(name) \(value)")
    }
    for name in Self.good.keys { #expect(Self.form(Self.good.filter { $0.key != name }) == nil, "\(name)") }
  }

  private static func page(_ outcome: TestNotifications.Answer) throws -> TestNotificationPage {
    let person = ConsolePerson(name: "ada", role: .support, publishers: .all, password: try Scrypt.ofNobody())
    return TestNotificationPage(
      view: ConsoleView(prefix: "/c", person: person, now: AnsweredPurchases.now), form: try #require(form(good)),
      outcome: outcome)
  }

  @Test(
    arguments: [
      (.asked(token: "t"), true, "Apple tries within a minute"), (.waiting, true, "Apple tries within a minute"),
      (.busy(.seconds(9)), true, "Apple tries within a minute"), (.tried("SUCCESS"), false, "The test has arrived"),
      (.tried("NO_RESPONSE"), false, "does a firewall"), (.tried("<b>"), false, "Apple saw &lt;b&gt;."),
      (.failed("no <key>"), false, "no &lt;key&gt;"),
    ] as [(TestNotifications.Answer, Bool, String)])
  func `each outcome has its words`(outcome: TestNotifications.Answer, isWaiting: Bool, words: String) throws {
    let page = try Self.page(outcome)
    #expect(page.isWaiting == isWaiting && page.html.contains(words), "\(page.html)")
  }

  @Test func `each app says when Apple posted something last`() throws {
    let now = AnsweredPurchases.now
    let key = NotificationSource.Key(publisherId: 7, bundleId: "<b>app", environment: .production)
    func html(_ role: ConsoleRole, _ source: NotificationSource) throws -> Document {
      let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
      var page = NotificationsPage(
        view: ConsoleView(prefix: "/c", person: person, now: now), question: ListQuestion(choices: [7]))
      page.sources = [source]
      return page.html
    }
    let silent = NotificationSource(
      key, readThrough: now - 60_000, lastReceivedAt: now - 9 * 86_400_000, longestSilence: 1000)
    let support = try html(.support, silent)
    #expect(
      support.contains("longer ago than usual") && support.contains("Send a test") && support.contains("&lt;b&gt;app"))
    #expect(!support.contains("<b>app"))
    #expect(try !html(.viewer, silent).contains("Send a test"))
    #expect(try html(.support, NotificationSource(key)).contains("never"))
  }
}
