import FoundationEssentials
import TestSupport
import Testing

@testable import Simulator

/// The two lists of Apple's notification types: the domain's, and the one by which the simulator checks what it posts.
struct NotificationNamesTests {
  /// The raw values that a file of the domain declares.
  private func declared(_ file: String) throws -> Set<String> {
    let path = Repository.root + "/Sources/Domain/Notifications/" + file
    let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
    return Set(text.matches(of: /\(rawValue: "([A-Z_]+)"\)/).map { String($0.output.1) })
  }

  @Test func `the simulator posts the types that the domain names`() throws {
    #expect(try declared("NotificationType.swift") == Set(NotificationNames.subtypes.keys))
  }

  @Test func `the simulator posts the subtypes that the domain names`() throws {
    let known = try declared("NotificationSubtype.swift")
    #expect(known == NotificationNames.subtypes.values.reduce(into: []) { $0.formUnion($1) })
  }
}
