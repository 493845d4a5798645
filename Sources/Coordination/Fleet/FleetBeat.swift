import Formats
import JSON

/// What a process of the fleet tells about itself every few seconds.
public struct FleetBeat: Sendable, Equatable {
  /// Tells a process from every other one, also from one that ran before it under the same number.
  public var id: String
  public var role: String
  /// The version, with the commit if the build knows it.
  public var version: String
  /// The host's name and the process's number, such as `worker-7f:1`.
  public var place: String
  /// When the process started, in milliseconds since 1970.
  public var startedAt: Int64
  /// The lines of `/readyz` that tell of a trouble.
  public var troubles: [String]
  /// Some of the process's metrics.
  public var readings: [Reading]
  /// When Redis got it, in milliseconds of Redis' clock; 0 in a beat that was not sent yet.
  public var heardAt: Int64 = 0
  /// Redis' clock when it was read.
  public var readAt: Int64 = 0

  /// The value of a metric that has these labels.
  public struct Reading: Sendable, Equatable {
    public var name: String
    /// The values of the labels, in the metric's own order.
    public var labels: [String]
    public var value: Double

    public init(_ name: String, _ labels: [String] = [], _ value: Double) {
      (self.name, self.labels, self.value) = (name, labels, value)
    }
  }

  public init(
    id: String, role: String, version: String, place: String, startedAt: Int64, troubles: [String] = [],
    readings: [Reading] = []
  ) {
    (self.id, self.role, self.version, self.place, self.startedAt) = (id, role, version, place, startedAt)
    (self.troubles, self.readings) = (troubles, readings)
  }

  /// How long nobody has heard of the process, in milliseconds; never negative.
  public var silence: Int64 { max(0, readAt.subtracting(heardAt)) }

  /// The first value of a metric that has these labels; `nil` if the process does not tell it.
  public func value(_ name: String, _ labels: String...) -> Double? {
    readings.first { $0.name == name && $0.labels == labels }?.value
  }

  /// All values of a metric.
  public func values(_ name: String) -> [Reading] { readings.filter { $0.name == name } }

  // MARK: As Redis has it

  /// A process tells no more than these, so that one that goes wrong does not fill Redis.
  static let (mostTroubles, mostReadings, mostText) = (20, 400, 500)

  var record: String {
    let json = JSONWriter.object { json in
      json.member("id", id)
      json.member("role", role)
      json.member("version", version)
      json.member("place", place)
      json.member("startedAt", startedAt)
      json.member(
        "troubles",
        array: troubles.prefix(Self.mostTroubles).map {
          JSONWriter.text(JSONWriter.beginning(of: $0, upTo: Self.mostText))
        })
      // A number that JSON does not have says nothing.
      json.member("readings", readings.filter(\.value.isFinite).prefix(Self.mostReadings)) { reading, json in
        json.member("name", reading.name)
        json.member("labels", array: reading.labels.map { JSONWriter.text($0) })
        json.member("value", json: Array("\(reading.value)".utf8))
      }
    }
    return String(decoding: json, as: UTF8.self)
  }

  /// Reads a record; `nil` if it is none, for example one of a version with other members.
  init?(record: String, heardAt: Int64, readAt: Int64) {
    guard let text = try? JSONText(Array(record.utf8), limits: .own),
      case .object(let members)? = try? text.decoded(as: JSONValue.self)
    else { return nil }
    func word(_ name: String) -> String? {
      guard case .string(let text)? = members[name.exact] else { return nil }
      return text
    }
    func list(_ value: JSONValue?) -> [JSONValue] {
      guard case .array(let elements)? = value else { return [] }
      return elements
    }
    func words(_ value: JSONValue?) -> [String] {
      list(value).compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
    guard let id = word("id"), let role = word("role"), let version = word("version"), let place = word("place"),
      case .integer(let startedAt)? = members["startedAt".exact]
    else { return nil }
    self.init(
      id: id, role: role, version: version, place: place, startedAt: startedAt,
      troubles: words(members["troubles".exact]),
      readings: list(members["readings".exact]).compactMap { element in
        guard case .object(let reading) = element, case .string(let name)? = reading["name".exact] else { return nil }
        let labels = words(reading["labels".exact])
        return switch reading["value".exact] {
        case .number(let value): Reading(name, labels, value)
        case .integer(let value): Reading(name, labels, Double(value))
        default: nil
        }
      })
    (self.heardAt, self.readAt) = (heardAt, readAt)
  }
}
