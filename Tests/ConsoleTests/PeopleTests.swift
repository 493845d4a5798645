import Coordination
import Crypto
import Domain
import Testing

@testable import Console

/// The file of users, and whose a session is.
struct PeopleTests {
  private static func line(
    _ name: String = "ada", _ role: String = "support", _ publishers: String = "*"
  ) throws -> String {
    "\(name) \(role) \(publishers) \(try Scrypt(of: "correct horse", logN: 10).text)"
  }

  @Test func `a line is made and read`() throws {
    let made = try PasswordLine.make(
      name: "ada@example.com", role: "viewer", publishers: "2,1", password: "long enough!")
    let person = try #require(ConsolePerson(line: made ?? ""))
    #expect(person.name == "ada@example.com" && person.role == .viewer && person.publishers == .only([1, 2]))
    let password = try #require(person.password)
    #expect(made == ConsolePerson.line(person.name, .viewer, person.publishers, password))
    #expect(made?.contains(" 1,2 ") == true)
    #expect(password.admits("long enough!") && !password.admits("long enough?"))
    #expect(person.sees(1) && !person.sees(3))
    let short = try PasswordLine.make(name: "a", role: "viewer", publishers: "*", password: "short")
    #expect(short == nil)
  }

  @Test(arguments: [
    "", "ada", "ada support *", "ada king * HASH", "ada support 1, HASH", "ada support 0 HASH", "ada support -1 HASH",
    "ada support * scrypt$15$AAAA$AAAA", "#ada support * HASH", "ada support * HASH more",
  ])
  func `other lines are refused`(line: String) throws {
    let hash = try Scrypt(of: "correct horse", logN: 10).text
    #expect(ConsolePerson(line: line.replacing("HASH", with: hash)) == nil)
  }

  @Test func `a file has people, comments and empty lines`() throws {
    let people = ConsolePeople(try "# who\n\n\(Self.line())\r\n\(Self.line("bob", "viewer", "3"))\n")
    #expect(people.count == 2)
    #expect(people["ada"]?.sees(9) == true && people["bob"]?.sees(9) == false && people["eve"] == nil)
    #expect(people.mistakes == [])
  }

  @Test func `a mistake puts its person out, and nobody else`() throws {
    let (ada, bob) = (try Self.line(), try Self.line("bob"))
    let broken = ConsolePeople(ada.replacing("support", with: "suport") + "\n" + bob)
    #expect(broken["ada"] == nil && broken["bob"] != nil && broken.mistakes.count == 1)
    #expect(broken.mistakes.allSatisfy { $0.hasPrefix("line 1 cannot be read") && !$0.contains("suport") })
    // Nobody can tell which line counts.
    let twice = ConsolePeople("\(ada)\n\(bob)\n\(try Self.line())\n\(ada)")
    #expect(twice["ada"] == nil && twice["bob"] != nil)
    #expect(twice.mistakes.map { $0.prefix(6) } == ["line 3", "line 4"])
    for empty in ["", "# nobody\n", "\n\n"] {
      #expect(ConsolePeople(empty).count == 0 && ConsolePeople(empty).mistakes.count == 1)
    }
  }

  /// RFC 7914, section 12, has other parameters; this hash was made with Python's hashlib.scrypt.
  @Test func `the hash is scrypt`() throws {
    let hash = try #require(
      Scrypt("scrypt$14$AAECAwQFBgcICQoLDA0ODw$JbN2hANm9NOw4h5BRHZnbjzQ6Jr0QwNWojTOC2WgIbU"))
    #expect(hash.admits("correct horse") && !hash.admits("Correct horse"))
  }

  @Test func `a session is bound to the line`() throws {
    let text = try Self.line()
    let people = ConsolePeople(text)
    let person = try #require(people["ada"])
    let session = ConsoleSession(name: "ada", lineSHA256: person.lineSHA256, startedAt: 0, usedAt: 0)
    #expect(SignIn.person(session, people) == person)
    // Another role, another password, and no line at all.
    #expect(SignIn.person(session, ConsolePeople(text.replacing("support", with: "operator"))) == nil)
    #expect(SignIn.person(session, ConsolePeople(try Self.line())) == nil)
    #expect(SignIn.person(session, ConsolePeople(try Self.line("bob"))) == nil)
  }

  @Test(
    arguments: [
      // started, used, now in seconds; what is left of 100 idle and 1000 in all
      (0, 0, 0, 100), (0, 0, 99, 1), (0, 0, 100, 0), (0, 950, 960, 40), (0, 990, 1000, 0), (10, 10, 0, 100),
    ] as [(Int64, Int64, Int64, Int64)])
  func `a session ends idle or old`(started: Int64, used: Int64, now: Int64, left: Int64) {
    let session = ConsoleSession(name: "a", lineSHA256: "x", startedAt: started * 1000, usedAt: used * 1000)
    #expect(session.left(at: now * 1000, idle: .seconds(100), longest: .seconds(1000)) == .seconds(left))
  }

  @Test(
    arguments: [
      // milliseconds of the last use that is noted, and of now; what is noted then, and whether the script asked
      (0, 10_000, nil, false), (0, 10_001, 10_001, false), (0, 10_001, nil, true), (0, 1_799_999, nil, true),
      (5000, 0, nil, false), (.min, 5000, nil, false), (0, .max, .max, false),
    ] as [(Int64, Int64, Int64?, Bool)])
  func `a refresh is no use of a session`(used: Int64, now: Int64, noted: Int64?, isRefresh: Bool) {
    let session = ConsoleSession(name: "a", lineSHA256: "x", startedAt: 0, usedAt: used)
    let after = SignIn.session(session, usedAt: now, isRefresh: isRefresh)
    #expect(after?.usedAt == noted && after.map(\.startedAt) == noted.map { _ in 0 })
  }
}
