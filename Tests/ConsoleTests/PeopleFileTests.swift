import Configuration
import Crypto
import Domain
import EventLoop
import FoundationEssentials
import Observability
import RoleSupport
import Service
import Testing

@testable import Console

/// The file of users while the console runs.
@LoopActor
struct PeopleFileTests {
  private let folder: ConfigurationFolder

  init() throws { folder = try ConfigurationFolder() }

  private func context() throws -> RoleContext {
    RoleContext(
      role: "console", settings: try folder.settings(#"{"console": {"usersFile": "users"}}"#),
      publishers: Publishers([]), doors: DoorCatalog([]))
  }

  private func line(_ name: String) throws -> String {
    "\(name) support * \(try Scrypt(of: "correct horse", logN: 10).text)\n"
  }

  private static let mistakes = "countersign_console_users_file_mistakes"

  @Test func `who is not in the file any more is out`() async throws {
    let (ada, bob) = (try line("ada"), try line("bob"))
    try folder.write(ada + bob, to: "users")
    let context = try context()
    let file = try PeopleFile(context)
    #expect(file.people.count == 2 && context.metrics.text().contains("\(Self.mistakes) 0"))
    try folder.write(ada.dropLast(3) + "\n" + bob, to: "users")
    await file.look()
    #expect(file.people["ada"] == nil && file.people["bob"] != nil)
    #expect(context.metrics.text().contains("\(Self.mistakes) 1"))
    for empty in ["", "# nobody\n"] {
      try folder.write(empty, to: "users")
      await file.look()
      #expect(file.people.count == 0 && context.metrics.text().contains("\(Self.mistakes) 1"))
    }
    try folder.write(ada, to: "users")
    await file.look()
    #expect(file.people.count == 1 && context.metrics.text().contains("\(Self.mistakes) 0"))
    try FileManager.default.removeItem(atPath: folder.path + "/users")
    await file.look()
    #expect(file.people.count == 0 && context.metrics.text().contains("\(Self.mistakes) 1"))
  }

  @Test func `a console starts with mistakes, and not without the file`() throws {
    #expect(throws: UnusableFile.self) { try PeopleFile(try context()) }
    try folder.write("", to: "users")
    #expect(try PeopleFile(try context()).people.count == 0)
  }
}
