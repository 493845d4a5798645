import Domain
import EventLoop
import Ledger
import Service

/// What becomes of owed events after one try each, by value.
struct OwedRound: Equatable {
  /// The events that the subscriber has, or that nobody wants.
  var settled: [EventId] = []
  /// The events that wait, and how long.
  var putOff: [OwedEvents.PutOff] = []
  /// How many events the broker has taken, or had no queue for: it has answered, and a queue may have other events,
  /// although nobody wants this one.
  var progress = 0

  /// Judges the tries: each event with its failure, `nil` if the broker has confirmed it.
  init(_ tries: [(owed: OwedEvents.Owed, failure: SubscriberOutlet.Failure?)]) {
    for (owed, failure) in tries {
      if failure?.isUnwanted ?? true { progress += 1 }
      if let failure, !(failure.isUnwanted && SubscriberPace.isUnwanted(afterTries: owed.tries)) {
        let pause = SubscriberPace.pause(afterTries: owed.tries + 1)
        putOff.append(OwedEvents.PutOff(owed.event.id, pause: pause, cause: failure.cause))
      } else {
        settled.append(owed.event.id)
      }
    }
  }
}
