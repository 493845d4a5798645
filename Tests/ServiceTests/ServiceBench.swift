import Domain
import EventLoop
import Observability
import RoleSupport
import Service

/// The context of a role that has no servers.
@LoopActor
struct ServiceBench {
  let context: RoleContext

  init() throws {
    context = RoleContext(
      role: "gateway", version: "1.2.3", settings: try ConfigurationFolder().settings(#"{"log": {"level": "error"}}"#),
      publishers: Publishers([]), doors: DoorCatalog([]))
  }

  /// Whether the metrics of the role have a line.
  func counts(_ line: String) -> Bool { context.metrics.text().contains(line + "\n") }
}
