import Formats
public import JSON

/// What a vendor's contract adds to the words of the core: the same for every publisher.
///
/// docs/internals/a-new-door.md tells how to add one.
public protocol DoorContract: Sendable {
  /// Its name.
  var id: Door { get }
  /// The topics of its events.
  var topics: [EventTopic] { get }
  /// The formats of its webhooks.
  var formats: [WebhookEndpoint.Format] { get }
  /// The columns of the vendor's export, for imports; `nil` if it has none. An import needs no open door.
  var export: ExportColumns? { get }
  /// Reads the webhook bodies that the vendor posts itself, for `countersign shadow compare`; `nil` if nobody does.
  var recordedBodies: (any RecordedBodyReader)? { get }

  /// Returns the environment of the purchase that one of its events tells about.
  ///
  /// - Parameter data: the event's `data`.
  /// - Returns: `nil` if this is no event of the door, or one about no purchase.
  func environment(of data: JSONValue) -> WebhookEnvironment?
}

extension DoorContract {
  /// None.
  public var topics: [EventTopic] { [] }
  /// None.
  public var formats: [WebhookEndpoint.Format] { [] }
  /// None.
  public var export: ExportColumns? { nil }
  /// None.
  public var recordedBodies: (any RecordedBodyReader)? { nil }

  /// Returns `nil`: the events name their environment as ours do.
  public func environment(of data: JSONValue) -> WebhookEnvironment? { nil }
}

/// The doors that this build has. A process gets them from the registry in `Sources/Doors`.
public struct DoorCatalog: Sendable {
  /// In the order of the registry.
  public let all: [any DoorContract]

  /// Creates the catalog; without arguments, this build has no doors.
  public init(_ all: [any DoorContract] = []) { self.all = all }

  /// Returns the door with a name.
  public func door(named name: String) -> Door? { all.first { $0.id.rawValue.isExactly(name) }?.id }

  /// Every topic that an endpoint can have: ours, then those of the doors.
  public var topics: [EventTopic] { EventTopic.own + all.flatMap(\.topics) }

  /// The rule for an endpoint's topics, as the text of a mistake.
  public var topicsExpectation: String {
    "expected a list of \(topics.map(\.text).joined(separator: ", ")), none of them twice"
  }

  /// Every format of webhooks: ours, then those of the doors.
  public var formats: [WebhookEndpoint.Format] { [.cleeng] + all.flatMap(\.formats) }

  /// Returns the format with a name.
  public func format(named name: String) -> WebhookEndpoint.Format? {
    formats.first { $0.rawValue.isExactly(name) }
  }
}
