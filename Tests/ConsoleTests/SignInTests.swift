import Crypto
import Domain
import Ledger
import Testing

@testable import Console

/// What a sign-in costs and notes, by value.
struct SignInTests {
  private static func person(_ publishers: SeenPublishers) throws -> ConsolePerson {
    ConsolePerson(name: "ada", role: .support, publishers: publishers, password: try Scrypt.ofNobody())
  }

  @Test func `a sign-in is one entry, however many publishers a line has`() throws {
    let one = SignIn.entry("console.signedIn", try Self.person(.only([7])))
    #expect(one.publisherId == 7 && one.operatorName == "ada" && one.subject == "console")
    let many: [SeenPublishers] = [.all, .only(Set((1...1000).map { PublisherId($0) }))]
    for seen in many {
      #expect(SignIn.entry("console.signedIn", try Self.person(seen)).publisherId == 0)
    }
    // What somebody typed as a name may be a password.
    let unknown = SignIn.entry("console.refused", nil)
    #expect(unknown.publisherId == 0 && unknown.operatorName == nil && unknown.actor == .operator)
  }

  @Test func `nobody has a password`() throws {
    let nobody = try Scrypt.ofNobody(logN: 10)
    #expect(!nobody.admits("") && nobody.logN == 10)
    #expect(try Scrypt.ofNobody().logN == Scrypt.usualLogN)
  }

  /// A hash with a lower cost is looked at as long as the costliest of the file.
  @Test func `each look costs as much`() throws {
    let cheap = try Scrypt(of: "correct horse", logN: 10)
    #expect(cheap.admits("correct horse", costing: 12) && !cheap.admits("wrong", costing: 12))
    let people = ConsolePeople(
      "a support * \(cheap.text)\nb support * \(try Scrypt.ofNobody(logN: 14).text)")
    #expect(people.costliestLogN == 14 && ConsolePeople("").costliestLogN == Scrypt.usualLogN)
  }
}
