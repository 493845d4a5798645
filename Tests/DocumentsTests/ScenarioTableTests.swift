import FoundationEssentials
import Simulator
import TestSupport
import Testing

@Suite struct ScenarioTableTests {
  @Test func theDocumentListsEveryScenario() throws {
    let document = URL(filePath: Repository.root + "/docs/how-to/simulate.md")
    let text = String(decoding: try Data(contentsOf: document), as: UTF8.self)
    let rows = text.split(separator: "\n").filter { $0.first == "|" }
    for scenario in Scenario.allCases {
      let start = "| \(scenario.prefix) | \(scenario.name) | \(scenario.summary) |"
      #expect(rows.contains { $0.hasPrefix(start) }, "\(scenario.name)")
    }
  }
}
