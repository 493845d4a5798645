import Domain
import Testing

@testable import Coordination

/// What a process tells about itself, as Redis has it.
struct FleetBeatTests {
  private static let beat = FleetBeat(
    id: "a1", role: "worker", version: "0.1.0 (abc)", place: "host:7", startedAt: 1000,
    troubles: ["not ready: redis: \"LOADING\""],
    readings: [
      FleetBeat.Reading("cpu", [], 0.25), FleetBeat.Reading("up", ["ledger"], 1),
      FleetBeat.Reading("up", ["consume \"few\""], 0),
    ],
    refusedApps: [FleetBeat.RefusedApp("com.one", of: 7, in: .sandbox, since: 5, cause: "401 \"no\"")],
    settings: [FleetBeat.Setting("log.level", "debug", fallback: "info")])

  private func parsed(_ record: String) -> FleetBeat? { FleetBeat(record: record, heardAt: 5000, readAt: 7500) }

  @Test func `a beat comes back as it was told`() throws {
    var told = Self.beat
    (told.heardAt, told.readAt) = (5000, 7500)
    let read = try #require(parsed(Self.beat.record))
    #expect(read == told)
    #expect(read.silence == 2500)
    #expect(read.value("cpu") == 0.25)
    #expect(read.value("up", "ledger") == 1)
    #expect(read.value("up") == nil)
    #expect(read.values("up").map(\.value) == [1, 0])
  }

  @Test func `a clock that went back makes nobody speak in the future`() {
    #expect(FleetBeat(record: Self.beat.record, heardAt: 9000, readAt: 8000)?.silence == 0)
    #expect(FleetBeat(record: Self.beat.record, heardAt: .min, readAt: .max)?.silence == .max)
  }

  @Test(arguments: [
    "", "{", "[]", "null", "{}", #"{"id":"a","role":"worker","version":"1","place":"h:1"}"#,
    #"{"id":1,"role":"worker","version":"1","place":"h:1","startedAt":1}"#,
    #"{"id":"a","role":"worker","version":"1","place":"h:1","startedAt":"1"}"#,
  ])
  func `what is no beat is none`(record: String) {
    #expect(parsed(record) == nil)
  }

  @Test func `a reading that nobody understands is left out`() throws {
    let record =
      #"{"id":"a","role":"r","version":"1","place":"h","startedAt":1,"troubles":[1,"x"],"#
      + #""readings":[1,{"name":"a"},{"name":1,"value":1},{"name":"b","labels":"x","value":2},{"name":"c","value":"3"}]}"#
    let beat = try #require(parsed(record))
    #expect(beat.troubles == ["x"])
    #expect(beat.readings == [FleetBeat.Reading("b", [], 2)])
  }

  @Test func `a process of an earlier version tells neither its settings nor refused apps`() throws {
    let record = #"{"id":"a","role":"r","version":"1","place":"h","startedAt":1}"#
    let beat = try #require(parsed(record))
    #expect(beat.refusedApps == nil && beat.settings == nil)
    var none = Self.beat
    (none.refusedApps, none.settings) = ([], [])
    let told = try #require(parsed(none.record))
    #expect(told.refusedApps == [] && told.settings == [])
    let broken =
      record.dropLast() + #","refusedApps":[1,{"publisherId":"7"},{"publisherId":7,"bundleId":"b"}],"#
      + #""settings":[{"key":1,"value":"x","default":"y"},{"key":"k","value":"x"},"z"]}"#
    let rest = try #require(parsed(String(broken)))
    #expect(rest.refusedApps == [] && rest.settings == [])
  }

  @Test func `a process that goes wrong does not fill Redis`() throws {
    var beat = Self.beat
    let long = String(repeating: "é", count: 10_000)
    beat.refusedApps = Array(
      repeating: FleetBeat.RefusedApp("com.one", of: 7, in: .production, since: 5, cause: long), count: 1000)
    beat.settings = Array(repeating: FleetBeat.Setting("key", long, fallback: long), count: 1000)
    beat.troubles = Array(repeating: String(repeating: "é", count: 10_000), count: 1000)
    beat.readings = (0..<10_000).map { FleetBeat.Reading("n\($0)", [], Double($0)) }
    #expect(beat.record.utf8.count < 110_000)
    let read = try #require(parsed(beat.record))
    #expect(read.troubles.count == FleetBeat.mostTroubles && read.readings.count == FleetBeat.mostReadings)
    #expect(read.refusedApps?.count == FleetBeat.mostRefusedApps && read.settings?.count == FleetBeat.mostSettings)
    // JSON has no such numbers.
    beat.readings = [
      FleetBeat.Reading("x", [], .infinity), FleetBeat.Reading("y", [], .nan), FleetBeat.Reading("z", [], 1e300),
    ]
    #expect(parsed(beat.record)?.readings.map(\.name) == ["z"])
  }
}

/// How much of a budget is left, by value.
struct CallBudgetStateTests {
  private func state(_ perSecond: Double, used: Double? = nil, pause: Double? = nil) -> CallBudgetState {
    let budget = CallBudget(endpoint: "e", perSecond: perSecond)
    let place = CallPlace(bundleId: "com.one", environment: .production, budgets: [budget])
    return CallBudgetState(place, budget, used: used, pause: pause, now: 10_000_000)
  }

  @Test(
    arguments: [
      (50.0, nil, 50.0), (50, 9_000_000, 50), (50, 10_020_000, 49), (50, 10_500_000, 25), (50, 11_000_000, 0),
      (50, 99_000_000, 0), (0.5, nil, 1), (0.5, 12_000_000, 0), (50, Double.nan, 50), (50, Double.infinity, 0),
    ] as [(Double, Double?, Double)])
  func `what is left is counted in calls`(perSecond: Double, used: Double?, left: Double) {
    let state = state(perSecond, used: used)
    #expect(abs(state.left - left) < 0.001)
    #expect(state.isInUse == (left < max(1, perSecond)))
  }

  @Test(
    arguments: [
      (nil, nil), (9_999_000, nil), (10_000_000, nil), (12_000_000, 12_000), (Double.infinity, nil), (Double.nan, nil),
    ] as [(Double?, Int64?)])
  func `a pause counts until it ends`(pause: Double?, until: Int64?) {
    let state = state(50, pause: pause)
    #expect(state.pausedUntil == until)
    #expect(state.isInUse == (until != nil))
  }
}
