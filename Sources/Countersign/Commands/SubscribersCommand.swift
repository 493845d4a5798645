import Configuration
import Domain
import EventLoop
import Formats
import JSON
import Ledger
import Postgres
import Service

/// `countersign subscribers`: lists what the ledger owes subscribers, or the events that one of them misses.
enum SubscribersCommand {
  static let command = Command(
    name: "subscribers", summary: "lists the events that subscribers miss",
    synopsis: "--config FILE [--events NAME [--limit N] | --forget NAME] [--json]",
    options: [
      .configuration, CommandOption("--events NAME", "lists the events that one subscriber misses, the oldest first"),
      CommandOption("--limit N", "at most N events; the default is 100"),
      CommandOption("--forget NAME", "deletes the events owed to a subscriber that will not return"),
      CommandOption("--json", "has no effect: lists always have one JSON object per line"),
    ], run: run)

  @LoopActor
  static func run(_ arguments: [String]) async -> Int32 {
    let endpoint: PostgresEndpoint
    let wish: Wish
    do {
      let (found, rest) = try Wish.read(arguments)
      wish = found
      let loader = try ConfigurationLoader(rest, command: "subscribers")
      endpoint = try PostgresEndpoint(
        try loader.settings(for: [.migrate]).ledger, name: "countersign subscribers")
    } catch {
      complain("\(error)")
      return 2
    }
    let postgres = await PostgresClient.opened(endpoint)
    let status = await answer(wish, OwedEvents(postgres), postgres)
    await postgres.stop()
    return status
  }

  /// What the caller wants to see.
  struct Wish: Equatable {
    /// The subscriber whose events are listed; `nil` lists the subscribers.
    var subscriber: String?
    /// The subscriber that will not come back.
    var forgotten: String?
    var limit = 100

    struct Refused: Error, CustomStringConvertible {
      let description: String
    }

    /// Reads the arguments; returns the others, too.
    static func read(_ arguments: [String]) throws -> (wish: Wish, rest: [String]) {
      var (wish, rest) = (Wish(), [String]())
      var words = arguments[...]
      while let word = words.popFirst() {
        switch word {
        case "--events":
          guard let name = words.popFirst() else {
            throw Refused(description: "--events needs the name of a subscriber")
          }
          wish.subscriber = name
        case "--forget":
          guard let name = words.popFirst() else {
            throw Refused(description: "--forget needs the name of a subscriber")
          }
          wish.forgotten = name
        case "--limit":
          guard let number = words.popFirst().flatMap({ Int($0) }), (1...100_000).contains(number) else {
            throw Refused(description: "--limit needs a number from 1 to 100000")
          }
          wish.limit = number
        case "--json": break
        default: rest.append(word)
        }
      }
      return (wish, rest)
    }
  }

  @LoopActor
  private static func answer(_ wish: Wish, _ owed: OwedEvents, _ postgres: PostgresClient) async -> Int32 {
    do {
      try await SchemaCheck(postgres).pass(within: .seconds(30))
      if let subscriber = wish.forgotten {
        var count = 0
        while case let some = try await owed.forget(subscriber, limit: 1000), some > 0 { count += some }
        say(jsonLine { $0.member("forgotten", Int64(count)) })
      } else if let subscriber = wish.subscriber {
        for event in try await owed.list(subscriber, limit: wish.limit) { say(line(of: event)) }
      } else {
        for state in try await owed.states() { say(line(of: state)) }
      }
      return 0
    } catch {
      complain(error, by: "subscribers")
      return 1
    }
  }

  static func line(of state: OwedEvents.State) -> String {
    jsonLine { json in
      json.member("subscriber", state.subscriber)
      json.member("events", state.count)
      json.member("oldest", rfc3339(milliseconds: state.oldest))
      json.member("mostTries", state.mostTries)
      json.member("cause", state.cause)
    }
  }

  static func line(of event: OwedEvents.Listed) -> String {
    jsonLine { json in
      json.member("eventId", event.eventId)
      json.member("publisherId", event.publisherId.number)
      json.member("topic", event.topic)
      json.member("tries", event.tries)
      json.member("owedSince", rfc3339(milliseconds: event.owedSince))
      json.member("cause", event.cause)
    }
  }
}
