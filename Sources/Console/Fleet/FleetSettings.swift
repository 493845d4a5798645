import Coordination
import JSON

/// What the configuration of the processes says other than the defaults, and where processes differ.
struct FleetSettings {
  /// A key that a process has another value for than the default.
  struct Row: Equatable, Sendable {
    let key: String
    let fallback: String
    /// One if all processes have the same; the commonest first.
    let values: [Value]

    var differs: Bool { values.count > 1 }
  }

  /// A value, and who has it.
  struct Value: Equatable, Sendable {
    /// `nil` for the default.
    let text: String?
    /// Roles of which every process has it, and single processes, such as `worker host:7`.
    let holders: [String]
    /// How many processes have it.
    let count: Int
  }

  /// The processes that tell their settings now, each as `worker host:7`.
  let processes: [FleetBeat]

  /// - Parameter beats: what the processes have told last.
  init(_ beats: [FleetBeat]) {
    processes = beats.filter { !$0.isSilent && $0.settings != nil }
      .sorted { ($0.role, $0.place, $0.id) < ($1.role, $1.place, $1.id) }
  }

  /// The keys in their order, first those in which processes differ.
  var rows: [Row] {
    let stated = processes.flatMap { $0.settings ?? [] }
    let fallbacks = Dictionary(stated.map { ($0.key, $0.fallback) }) { first, _ in first }
    let rows = fallbacks.sorted { $0.key < $1.key }.compactMap { key, fallback in
      let values = values(of: key)
      return values.isEmpty ? nil : Row(key: key, fallback: fallback, values: values)
    }
    return rows.filter(\.differs) + rows.filter { !$0.differs }
  }

  private func values(of key: String) -> [Value] {
    let holders = Dictionary(grouping: processes(thatUse: key)) { process in
      process.settings?.first { $0.key == key }?.value
    }
    return holders.map { Value(text: $0, holders: names($1), count: $1.count) }
      .sorted { ($1.count, $0.text ?? "") < ($0.count, $1.text ?? "") }
  }

  /// All processes read all keys, but those of a role, such as `worker.concurrency`, mean something to that role only.
  private func processes(thatUse key: String) -> [FleetBeat] {
    let role = key.prefix { $0 != "." }
    let isOfRole = ["gateway", "worker", "notifier", "console"].contains(role)
    return isOfRole ? processes.filter { $0.role == role } : processes
  }

  /// The shortest names for some of the processes.
  private func names(_ some: [FleetBeat]) -> [String] {
    Dictionary(grouping: some) { $0.role }.sorted { $0.key < $1.key }.flatMap { role, own in
      own.count == processes.count { $0.role == role } ? [role] : own.map { "\(role) \($0.place)" }
    }
  }
}

// MARK: For people, and as JSON

extension FleetSettings {
  /// The section of a page.
  var html: HTML {
    let rows = rows
    guard !processes.isEmpty else {
      return .section("Settings in effect", [.p(.text("No process reports its settings."), class: "none")])
    }
    let words = "Every other key has its default. Secrets are left out, and of a URL all but the server."
    return .section(
      "Settings in effect",
      [
        rows.isEmpty
          ? .nothing
          : .table(
            "What \(processes.count) process\(processes.count == 1 ? "" : "es") started with, first where they differ",
            ["Setting", "Value", "Default"],
            rows.map { row in [.code(row.key), .all(row.values.map { cell($0, of: row) }), .code(row.fallback)] }),
        .p(.text(words), class: "none"),
      ])
  }

  private func cell(_ value: Value, of row: Row) -> HTML {
    let text = value.text.map { HTML.code($0) } ?? .span("default", class: "none")
    guard row.differs else { return text }
    let (named, more) = (value.holders.prefix(6).joined(separator: ", "), value.holders.count - 6)
    return .element(
      .div, [],
      [
        text, .text(" "), .span("differs", class: "mark"),
        .text(" in \(named)\(more > 0 ? " and \(more) more" : "")"),
      ])
  }

  /// The same as JSON.
  func write(_ writer: inout JSONWriter) {
    writer.member("settings", rows) { row, writer in
      writer.member("default", row.fallback)
      writer.member("differs", row.differs)
      writer.member("key", row.key)
      writer.member("values", row.values) { value, writer in
        writer.member("holders", array: value.holders.map { JSONWriter.text($0) })
        writer.member("processes", Int64(value.count))
        writer.member("value", value.text ?? row.fallback)
      }
    }
  }
}
