import Domain
import EventLoop
import Ledger
import Service

/// What becomes of owed events after one try each, by value.
struct OwedRound: Equatable {
  /// The events that the subscriber has, or that nobody wants or is told.
  var settled: [EventId] = []
  /// The events that wait, and how long.
  var putOff: [OwedEvents.PutOff] = []
  /// How many events the broker has taken, or had no queue for: it has answered, and a queue may have other events,
  /// although nobody wants this one.
  var progress = 0
  /// How many events the broker was asked to take. Without one the round says nothing about the subscriber.
  var asked = 0
  /// How many of those the subscriber still misses, and why the first one.
  var missed = 0
  var cause = ""

  /// What became of one event.
  typealias End = Result<EventTelling, SubscriberOutlet.Failure>

  /// Judges the tries: each event with what the outlet did with it, or with the subscriber's failure.
  init(_ tries: [(owed: OwedEvents.Owed, end: End)]) {
    for (owed, end) in tries {
      let id = owed.event.id
      switch end {
      case .success(.told):
        asked += 1
        progress += 1
        settled.append(id)
      case .success(.kept): settled.append(id)
      case .success(.waits(let pause)):
        putOff.append(OwedEvents.PutOff(id, pause: pause, cause: "its publisher may be in shadow mode"))
      case .failure(let failure):
        asked += 1
        if failure.isUnwanted { progress += 1 }
        if failure.isUnwanted, SubscriberPace.isUnwanted(afterTries: owed.tries) {
          settled.append(id)
        } else {
          let pause = SubscriberPace.pause(afterTries: owed.tries + 1)
          putOff.append(OwedEvents.PutOff(id, pause: pause, cause: failure.cause))
          if missed == 0 { cause = failure.cause }
          missed += 1
        }
      }
    }
  }
}
