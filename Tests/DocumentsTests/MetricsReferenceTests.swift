import Console
import Domain
import EventLoop
import FoundationEssentials
import Notifier
import Observability
import RoleSupport
import Service
import TestSupport
import Testing
import Worker

@testable import Doors
@testable import Gateway

/// Compares docs/reference/metrics.md with the metrics that each role registers.
@LoopActor
struct MetricsReferenceTests {
  private static let routes = RouteTable(DoorRegistry.all)

  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder(doors: DoorRegistry.all) }

  @Test(arguments: ["Gateway", "Worker", "Notifier", "Console"])
  func pageListsTheMetricsOfEveryRole(section: String) throws {
    #expect(try documented(["Every role", section]) == registered(by: section))
  }

  private func page() throws -> String {
    let file = URL(filePath: Repository.root + "/docs/reference/metrics.md")
    return String(decoding: try Data(contentsOf: file), as: UTF8.self)
  }

  /// The metrics in the tables of these sections, each as `name type`.
  private func documented(_ titles: [String]) throws -> Set<String> {
    let text = try page()
    var metrics: Set<String> = []
    var title = ""
    for line in text.split(separator: "\n") {
      if line.hasPrefix("## ") { title = String(line.dropFirst(3)) }
      guard titles.contains(title), line.hasPrefix("| `countersign_") else { continue }
      let cells = line.split(separator: "|").map { String($0.drop { $0 == " " }) }
      let name = try #require(cells[0].split(separator: "`").first)
      let type = try #require(cells[1].split(separator: " ").first)
      metrics.insert("\(name) \(type)")
    }
    return metrics
  }

  /// The page lists the labels behind "`route` is".
  @Test func pageListsEveryRoute() throws {
    let list = try #require(try page().firstMatch(of: /`route` is ([^.]+)\./))
    let labels = list.1.matches(of: /`(\w+)`/).map { String($0.1) }
    #expect(labels.sorted() == Self.routes.labels)
  }

  private static let ledger = """
    {"ledger": {"url": "postgresql://countersign@localhost/countersign"}, "console": {"usersFile": "users"}}
    """

  /// The metrics of a role that is created but not started, each as `name type`.
  private func registered(by section: String) throws -> Set<String> {
    let line = try PasswordLine.make(name: "ada", role: "viewer", publishers: "*", password: "long enough!")
    try folder.write(line ?? "", to: "users")
    let context = RoleContext(
      role: section, settings: try folder.settings(Self.ledger), publishers: Publishers([]),
      doors: DoorRegistry.catalog)
    let role: any Role =
      switch section {
      case "Gateway": try Gateway(context, doors: DoorRegistry.all)
      case "Worker": try Worker(context, importVerifier: { _ in throw CancellationError() })
      case "Console": try Console(context)
      default: try Notifier(context)
      }
    return withExtendedLifetime(role) {
      let lines = context.metrics.text().split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
      return Set(lines.map { String($0.dropFirst("# TYPE ".count)) })
    }
  }
}
