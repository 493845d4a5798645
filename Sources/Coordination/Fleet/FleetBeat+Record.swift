import Domain
import Formats
import JSON

/// A beat as Redis has it.
extension FleetBeat {
  /// A process tells no more than these, so that one that goes wrong does not fill Redis.
  static let (mostTroubles, mostReadings, mostText) = (20, 400, 500)
  static let (mostRefusedApps, mostSettings, mostValue) = (50, 200, 100)

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
      if let refusedApps {
        if hasMoreRefusedApps || refusedApps.count > Self.mostRefusedApps { json.member("hasMoreRefusedApps", true) }
        json.member("refusedApps", refusedApps.prefix(Self.mostRefusedApps)) { app, json in
          json.member("publisherId", app.publisherId.number)
          json.member("bundleId", app.bundleId)
          json.member("environment", app.environment)
          json.member("since", app.since)
          json.member("cause", JSONWriter.beginning(of: app.cause, upTo: Self.mostValue))
        }
      }
      if let settings {
        json.member("settings", settings.prefix(Self.mostSettings)) { setting, json in
          json.member("key", setting.key)
          json.member("value", JSONWriter.beginning(of: setting.value, upTo: Self.mostValue))
          json.member("default", JSONWriter.beginning(of: setting.fallback, upTo: Self.mostValue))
        }
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
      guard case .string(let text)? = members[name] else { return nil }
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
      case .integer(let startedAt)? = members["startedAt"]
    else { return nil }
    self.init(
      id: id, role: role, version: version, place: place, startedAt: startedAt,
      troubles: words(members["troubles"]),
      readings: list(members["readings"]).compactMap { element in
        guard case .object(let reading) = element, case .string(let name)? = reading["name"] else { return nil }
        let labels = words(reading["labels"])
        return switch reading["value"] {
        case .number(let value): Reading(name, labels, value)
        case .integer(let value): Reading(name, labels, Double(value))
        default: nil
        }
      },
      refusedApps: members["refusedApps"].map { list($0).compactMap(RefusedApp.init) },
      settings: members["settings"].map { list($0).compactMap(Setting.init) })
    (self.heardAt, self.readAt) = (heardAt, readAt)
    hasMoreRefusedApps = members["hasMoreRefusedApps"] == .bool(true)
  }
}

extension FleetBeat.RefusedApp {
  /// Reads an app of a record; `nil` if it is none.
  fileprivate init?(_ value: JSONValue) {
    guard case .object(let members) = value, case .integer(let publisher)? = members["publisherId"],
      case .string(let bundle)? = members["bundleId"],
      case .string(let environment)? = members["environment"], case .integer(let since)? = members["since"],
      case .string(let cause)? = members["cause"]
    else { return nil }
    self.init(BundleId(bundle), of: PublisherId(publisher), in: Environment(environment), since: since, cause: cause)
  }
}

extension FleetBeat.Setting {
  /// Reads a setting of a record; `nil` if it is none.
  fileprivate init?(_ value: JSONValue) {
    guard case .object(let members) = value, case .string(let key)? = members["key"],
      case .string(let value)? = members["value"], case .string(let fallback)? = members["default"]
    else { return nil }
    self.init(key, value, fallback: fallback)
  }
}
