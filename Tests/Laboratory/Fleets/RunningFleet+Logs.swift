import FoundationEssentials
import HTTP
import TestSupport

/// What the roles tell about themselves: their logs and metrics.
extension RunningFleet {
  /// The lines with a text in the logs of all processes that the fleet has started.
  public func logged(_ text: String) -> [Substring] { logs.flatMap { LineSearch(bytes(of: $0)).lines(with: text) } }

  /// The log of a role's last process.
  public func log(_ name: String) -> String { roles[name].map { text(of: $0.log) } ?? "" }

  /// The sum of a metric's samples whose line starts with a text.
  ///
  /// - Throws: `NeverHappened` when the role does not have the metric. A metric without samples has a line of help,
  ///   and is 0.
  public func metric(_ role: String, _ start: String) async throws -> Double {
    let text = LineSearch(try await get("http://\(roles[role]!.address)/metrics").body)
    let samples = text.lines(with: start).filter { $0.hasPrefix(start) }
    let name = start.prefix { $0 != "{" }
    guard !samples.isEmpty || !text.lines(with: "# HELP \(name)").isEmpty else {
      throw NeverHappened(description: "\(role) has no metric \(start)")
    }
    return samples.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
  }

  func text(of path: String) -> String { String(decoding: bytes(of: path), as: UTF8.self) }

  /// The address in a role's log; `nil` before it listens.
  func listening(_ log: String) -> String? {
    struct Line: Decodable { let address: String }
    return LineSearch(bytes(of: log)).lines(with: "\"event\":\"listening\"").first.flatMap {
      try? JSONDecoder().decode(Line.self, from: Data($0.utf8)).address
    }
  }

  private func bytes(of path: String) -> [UInt8] {
    (try? Data(contentsOf: URL(filePath: path))).map { Array($0) } ?? []
  }
}
