import FoundationEssentials
import Harness
import Testing

/// Compares docs/internals/architecture.md with Package.swift.
struct ArchitectureTests {
  @Test func tableListsEveryModuleWithItsFolder() throws {
    let manifest = try text("Package.swift")
    let page = try text("docs/internals/architecture.md")
    let modules = manifest.matches(of: /(?:library|executable)\(\s*"(\w+)", "([\w\/]+)"/)
    #expect(modules.count > 20)
    for module in modules {
      #expect(page.contains("\n| `\(module.1)` | `\(module.2)` | "), "\(module.1) in Sources/\(module.2)")
    }
  }

  @Test func tableOfKeysListsEveryKey() throws {
    let page = try text("docs/internals/architecture.md")
    for file in ["Keys.swift", "Keys+Deliveries.swift"] {
      let keys = try text("Sources/Ledger/Store/Keys/\(file)").matches(of: /\\\(prefix\)([a-z\-]+)/)
      #expect(!keys.isEmpty)
      for key in keys { #expect(page.contains(try Regex("\n\\| `\(key.1)[:`]")), "\(key.1)") }
    }
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: Repository.root + "/" + path)), as: UTF8.self)
  }
}
