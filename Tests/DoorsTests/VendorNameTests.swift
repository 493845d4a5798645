import Domain
import Doors
import FoundationEssentials
import TestSupport
import Testing

/// A vendor's name stands in its slice only: whoever adds, changes or removes a door changes one folder and one list.
struct VendorNameTests {
  /// The Swift files of a folder, with their texts in lower case.
  private static func files(_ folder: String) throws -> [(path: String, text: String)] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: "\(Repository.root)/\(folder)").filter {
      $0.hasSuffix(".swift")
    }
    return try names.sorted().map { name in
      (
        "\(folder)/\(name)",
        try String(contentsOfFile: "\(Repository.root)/\(folder)/\(name)", encoding: .utf8).lowercased()
      )
    }
  }

  /// Cleeng is not among them: our own API began as its contract, and both have words in common.
  private static let vendors = DoorRegistry.all.map(\.id.rawValue).filter { $0 != "cleeng" }

  @Test func `the core names no vendor`() throws {
    let core = try Self.files("Sources").filter { !$0.path.hasPrefix("Sources/Doors/") }
    #expect(core.count > 500 && Self.vendors.count >= 3)
    for (path, text) in core {
      for vendor in Self.vendors { #expect(!text.contains(vendor), "\(path) names \(vendor)") }
    }
  }

  @Test func `no slice names another one's vendor`() throws {
    let slices = try FileManager.default.contentsOfDirectory(atPath: "\(Repository.root)/Sources/Doors").filter {
      !$0.hasSuffix(".swift")
    }
    #expect(slices.count == DoorRegistry.all.count)
    for own in slices {
      let slice = try Self.files("Sources/Doors/\(own)")
      #expect(!slice.isEmpty)
      for (path, text) in slice {
        for other in Self.vendors where other != own.lowercased() {
          #expect(!text.contains(other), "\(path) names \(other)")
        }
      }
    }
  }
}
