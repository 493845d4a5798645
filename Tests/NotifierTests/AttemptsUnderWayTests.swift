import Coordination
import Domain
import EventLoop
import TestSupport
import Testing

@testable import Notifier

/// The slots of attempts that take long.
@LoopActor
struct AttemptsUnderWayTests {
  private struct Unreachable: Error {}

  /// A clock, and the slots that were renewed with each call.
  @LoopActor
  private final class Bench {
    var now: Duration = .zero
    var renewed: [[String]] = []
    var isReachable = true
    lazy var underWay = AttemptsUnderWay(
      clock: { [unowned self] in now },
      renewSlots: { [unowned self] slots in
        guard isReachable else { throw Unreachable() }
        renewed.append(slots.map { "\($0.delivery.eventId) at \($0.endpoint)" }.sorted())
      })

    func add(_ event: EventId, at endpoint: EndpointId = "main") throws -> Int {
      let body = Array(#"{"broadcasterId":1,"topic":"t"}"#.utf8)
      let delivery = try Delivery(eventId: event, endpointId: endpoint, headers: [:], body: body)
      return underWay.add(delivery, endpoint: endpoint)
    }
  }

  @Test func `an attempt that takes long is renewed until its end, and a short one is not`() throws {
    let bench = Bench()
    let first = try bench.add("a")
    bench.now = AttemptsUnderWay.interval
    let second = try bench.add("b")
    // It has not lasted longer than an interval.
    bench.underWay.renew()
    #expect(bench.renewed.isEmpty)
    bench.now += .milliseconds(1)
    bench.underWay.renew()
    #expect(bench.renewed == [["a at main"]])
    bench.now += AttemptsUnderWay.interval
    bench.underWay.renew()
    #expect(bench.renewed.last == ["a at main", "b at main"])
    bench.underWay.remove(first)
    bench.underWay.renew()
    #expect(bench.renewed.last == ["b at main"])
    bench.underWay.remove(second)
    bench.underWay.renew()
    #expect(bench.renewed.count == 3)
  }

  @Test func `an event under way at two endpoints holds a slot at each`() throws {
    let bench = Bench()
    _ = try bench.add("a")
    let other = try bench.add("a", at: "other")
    bench.now = AttemptsUnderWay.interval * 2
    bench.underWay.renew()
    #expect(bench.renewed == [["a at main", "a at other"]])
    bench.underWay.remove(other)
    bench.underWay.renew()
    #expect(bench.renewed.last == ["a at main"])
  }

  @Test func `what Redis did not renew is renewed with the next look, long before a lease ends`() throws {
    let bench = Bench()
    _ = try bench.add("a")
    bench.now = AttemptsUnderWay.interval * 2
    bench.isReachable = false
    bench.underWay.renew()
    #expect(bench.renewed.isEmpty)
    bench.isReachable = true
    bench.underWay.renew()
    #expect(bench.renewed == [["a at main"]])
    // Begun just after a look, an attempt waits for two looks until its first renewal.
    #expect(AttemptsUnderWay.interval * 3 < AttemptsUnderWay.lease)
  }

  @Test func `a slot is given back at once, and a stop waits for it`() async {
    let bench = Bench()
    let gate = Gate()
    var steps: [String] = []
    bench.underWay.giveBack {
      steps.append("sent")
      await gate.pass()
      steps.append("answered")
    }
    #expect(steps == ["sent"])
    gate.open()
    await bench.underWay.stop(within: .patience)
    #expect(steps == ["sent", "answered"])
    bench.underWay.giveBack { throw Unreachable() }
    await bench.underWay.stop(within: .patience)
  }
}
