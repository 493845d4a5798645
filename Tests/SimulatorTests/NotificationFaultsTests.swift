import Formats
import Testing

@testable import Simulator

/// Faults on the way of notifications, and repetitions, by value.
struct NotificationFaultsTests {
  @Test func withoutFaultsNothingHappens() {
    let faults = NotificationFaults()
    #expect((0..<1000).allSatisfy { faults.fate(of: $0) == NotificationFaults.Fate() })
  }

  @Test func theSeedDecides() {
    var faults = NotificationFaults(lose: 0.1, repeat: 0.1, delay: 0.2, delays: 100...200, isShuffling: true, seed: 7)
    let fates = (0..<10_000).map(faults.fate)
    #expect(fates == (0..<10_000).map(faults.fate))
    let lost = fates.filter(\.isLost)
    #expect(900...1100 ~= lost.count && 400...600 ~= lost.filter(\.isBelieved).count)
    let posted = fates.filter { !$0.isLost }
    let repeated = posted.compactMap(\.repetition)
    #expect(800...1000 ~= repeated.count && repeated.allSatisfy { 100...200 ~= $0 })
    #expect(posted.allSatisfy { 0...2200 ~= $0.delay } && posted.contains { $0.delay > 2000 })
    #expect(posted.map(\.delay) != posted.map(\.delay).sorted())
    faults.seed = 8
    #expect(fates != (0..<10_000).map(faults.fate))
  }

  @Test func everythingCanGoWrong() {
    #expect(NotificationFaults(lose: 1).fate(of: 3).isLost)
    let late = NotificationFaults(repeat: 1, delay: 1, delays: 5...5).fate(of: 3)
    #expect(late.delay == 5 && late.repetition == 5 && !late.isLost)
  }

  @Test func repetitionsFollowApple() {
    let scale = LifeScale(monthMilliseconds: 0)
    func hours(_ version: Int, _ environment: StoreEnvironment) -> [Int64] {
      (0...7).compactMap { NotificationSchedule.wait(after: $0, version: version, in: environment, scale) }
        .map { $0 / 3_600_000 }
    }
    #expect(hours(2, .production) == [1, 12, 24, 48, 72])
    #expect(hours(1, .production) == [6, 24, 48])
    #expect(hours(2, .sandbox).isEmpty && hours(1, .sandbox).isEmpty)
    #expect(NotificationSchedule.wait(after: 2, version: 2, in: .production, GivenLife.scale) == 1000)
    #expect(NotificationSchedule.wait(after: 1, version: 2, in: .production, LifeScale(monthMilliseconds: 1)) == 1)
  }

  @Test func settings() throws(ControlRefusal) {
    func settings(_ text: String) throws(ControlRefusal) -> NotificationSettings {
      var body = try ControlBody(Array(text.utf8))
      return try NotificationSettings(&body, usual: NotificationSettings(urls: ["http://usual"], password: "p"))
    }
    #expect(try settings("{}") == NotificationSettings(urls: ["http://usual"], password: "p"))
    let all = try settings(
      """
      {"urls": ["https://a", "http://b"], "version": 1, "password": "q", "lose": 0.1, "repeat": 0.2, "shuffle": true,
       "seed": 9, "delay": {"share": 0.5, "minSeconds": 1, "maxSeconds": 2.5}}
      """)
    #expect(all.urls == ["https://a", "http://b"] && all.version == 1 && all.password == "q")
    #expect(
      all.faults
        == NotificationFaults(
          lose: 0.1, repeat: 0.2, delay: 0.5, delays: 1000...2500, isShuffling: true, seed: 9))
    #expect(try settings(#"{"delay": {}}"#).faults.delay == 1)
    for mistake in [
      #"{"lose": 2}"#, #"{"urls": ["ftp://a"]}"#, #"{"version": 3}"#, #"{"delay": 1}"#, #"{"delay": {"x": 1}}"#,
      #"{"delay": {"minSeconds": 2, "maxSeconds": 1}}"#, #"{"loose": 0.1}"#,
    ] {
      #expect(throws: ControlRefusal.self, "\(mistake)") { try settings(mistake) }
    }
  }

  @Test func theArchiveForgetsTheOldest() {
    var archive = NotificationArchive(capacity: 20)
    func add() {
      archive.add(
        SimulatedNotification(
          number: archive.next, uuid: "u\(archive.next)", type: "TEST", environment: .sandbox, bundleId: "b",
          appAppleId: 1, signedDate: 0, urls: ["http://a"]))
    }
    for _ in 0..<20 { add() }
    #expect(archive.first == 0 && archive[uuid: "u0"]?.number == 0)
    add()
    #expect(archive.first == 2 && archive.next == 21 && archive.all.map(\.number) == Array(2...20))
    #expect(archive[1] == nil && archive[uuid: "u0"] == nil && archive[21] == nil && archive[2]?.uuid == "u2")
    #expect(archive[20]?.isDelivered == false)
    let attempt = SimulatedNotification.Attempt(date: 1, url: "http://a", result: .success)
    archive.note(attempt, of: 20)
    archive.note(attempt, of: 0)
    #expect(archive[20]?.attempts == [attempt] && archive[20]?.isDelivered == true)
  }
}
