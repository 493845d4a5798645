public import Domain
public import Formats

/// A door, as the configuration knows it: the keys that it reads, and the rules of their values.
public protocol ConfiguredDoor: DoorContract {
  /// How long its requests wait for results; `nil` if they wait for none.
  var wait: DoorWait? { get }
  /// What no two publishers may have in common: with it, one publisher could act for the other.
  var credentials: [UniqueCredential] { get }

  /// Reads what a publisher's file says about the door, also of a closed one.
  ///
  /// - Returns: `nil` if the door is closed.
  func read(_ reader: DoorReader) -> (any OpenDoor)?

  /// Returns the mistakes that only the whole publisher shows.
  func mistakes(in publisher: Publisher) -> [(key: String, problem: String)]
}

/// How long the requests of a door wait: a key `gateway.doors.…`.
public struct DoorWait: Sendable {
  let key: String
  let seconds: Double
  let meaning: String

  /// Describes the key.
  ///
  /// - Parameters:
  ///   - key: the name behind `gateway.doors.`.
  ///   - seconds: the default.
  public init(_ key: String, _ seconds: Double, _ meaning: String) {
    (self.key, self.seconds, self.meaning) = (key, seconds, meaning)
  }
}

/// A value that identifies one publisher.
public struct UniqueCredential: Sendable {
  let key: String
  let values: @Sendable (Publisher) -> [ExactText]

  /// Describes the values of a key.
  ///
  /// - Parameters:
  ///   - key: the name behind `doors.DOOR.`.
  ///   - values: those of a publisher.
  public init(_ key: String, _ values: @escaping @Sendable (Publisher) -> [ExactText]) {
    (self.key, self.values) = (key, values)
  }
}

extension ConfiguredDoor {
  /// None.
  public var wait: DoorWait? { nil }
  /// None.
  public var credentials: [UniqueCredential] { [] }

  /// Returns none.
  public func mistakes(in publisher: Publisher) -> [(key: String, problem: String)] { [] }

  /// The key of the door's object in a publisher's file.
  var key: String { "doors.\(id.rawValue)" }
}
