import Configuration
import Coordination
import Crypto
import Domain
import EventLoop
import JSON
import Ledger
import Postgres
import Service

/// Signs people in and out, and tells whose session a request has.
@LoopActor
final class SignIn {
  /// How often one name may be tried from one address, and any names from one address, in ``window``.
  nonisolated static let mostOfPerson: Int64 = 10
  nonisolated static let mostOfAddress: Int64 = 100
  nonisolated static let window = Duration.seconds(900)
  /// How often one person may sign in, from any addresses, in ``window``. Each time costs a row of the audit log.
  nonisolated static let mostSignIns: Int64 = 30
  /// How many refusals the audit log gets in ``window``. The metric counts all of them.
  nonisolated static let mostNotedRefusals: Int64 = 100
  /// How many sessions a person may have. One more ends the oldest.
  nonisolated static let mostSessions = 10
  /// Each password takes 32 MiB and a thread of the pool of four, which others need too.
  nonisolated static let lineOfPasswords = ConsoleTurns.Limits(atOnce: 2, waiting: 16, ofOwner: 4)

  private let context: RoleContext
  private let people: PeopleFile
  private let sessions: ConsoleSessions
  private let postgres: PostgresClient
  private let line = ConsoleLine(SignIn.lineOfPasswords)
  /// Somebody whom nobody knows costs as much as somebody with a wrong password.
  private let nobody: Scrypt

  init(
    _ context: RoleContext, _ people: PeopleFile, _ sessions: ConsoleSessions, _ postgres: PostgresClient
  ) throws {
    (self.context, self.people, self.sessions, self.postgres) = (context, people, sessions, postgres)
    nobody = try Scrypt.ofNobody()
  }

  /// The people of the file, as it is now.
  var present: ConsolePeople { people.people }

  /// What becomes of a sign-in.
  enum Answer: Sendable, Equatable {
    /// With the token of the session.
    case signedIn(String)
    case refused
    /// Too many attempts.
    case tooOften
    /// Too many passwords are being looked at.
    case busy

    /// For metrics.
    nonisolated var label: String {
      switch self {
      case .signedIn: "signedIn"
      case .refused: "refused"
      case .tooOften: "tooOften"
      case .busy: "busy"
      }
    }
    nonisolated static let labels = ["signedIn", "refused", "tooOften", "busy"]
  }

  /// Signs a person in. The ledger's audit log notes it before the session begins.
  ///
  /// A name that nobody has costs the same work and gets the same answer as a wrong password, also if a server is away.
  ///
  /// - Throws: `RedisError`, `PostgresError`, `CryptoError`.
  func signIn(_ name: String, _ password: String, from address: String) async throws -> Answer {
    guard line.hasRoom(for: address) else { return .busy }
    let (own, all) = (Self.digest("\(address) \(name)"), Self.digest(address))
    let counts = try await sessions.attempt(own, all, atMost: Self.mostOfAddress, within: Self.window)
    guard counts.person <= Self.mostOfPerson, counts.address <= Self.mostOfAddress else { return .tooOften }
    let (person, cost) = (people.people[name], people.people.costliestLogN)
    let hash = person?.password ?? nobody
    let isRight = try await line.run(of: address) {
      try await EventLoop.offload { hash.admits(password, costing: cost) }
    }
    guard let isRight else { return .busy }
    guard let person, isRight else {
      let refusals = try await sessions.count(Self.digest("refused"), within: Self.window)
      try await note("console.refused", person, isNoted: refusals <= Self.mostNotedRefusals)
      return .refused
    }
    let signIns = try await sessions.count(Self.digest("signed in \(name)"), within: Self.window)
    guard signIns <= Self.mostSignIns else { return .tooOften }
    try await note("console.signedIn", person)
    try await sessions.forgetAttempts(own)
    let token = Base64URL.encode(try secureRandomBytes(32))
    let now = context.now()
    let session = ConsoleSession(name: name, lineSHA256: person.lineSHA256, startedAt: now, usedAt: now)
    try await sessions.begin(
      session, Self.digest(token), of: Self.digest("sessions of \(name)"), for: left(session, now),
      longest: context.settings.console.sessionTimeout, atMost: Self.mostSessions)
    return .signedIn(token)
  }

  /// Returns who has the session of a token; `nil` if it is over, or if the person's line has changed.
  ///
  /// - Throws: `RedisError`.
  func person(_ token: String) async throws -> ConsolePerson? {
    let digest = Self.digest(token)
    guard var session = try await sessions.session(digest) else { return nil }
    let now = context.now()
    guard let person = Self.person(session, people.people), left(session, now) > .zero else {
      try await sessions.end(digest)
      return nil
    }
    // Each page would write otherwise.
    if now.subtractingReportingOverflow(session.usedAt).partialValue > 10_000 {
      session.usedAt = now
      try await sessions.use(session, digest, for: left(session, now))
    }
    return person
  }

  /// Who has a session, as the file of users is now; `nil` if the person's line is gone or another one.
  nonisolated static func person(_ session: ConsoleSession, _ people: ConsolePeople) -> ConsolePerson? {
    guard let person = people[session.name], person.lineSHA256 == session.lineSHA256 else { return nil }
    return person
  }

  /// Ends the session of a token.
  ///
  /// - Throws: `RedisError`.
  func signOut(_ token: String) async throws { try await sessions.end(Self.digest(token)) }

  private func left(_ session: ConsoleSession, _ now: Int64) -> Duration {
    let settings = context.settings.console
    return session.left(at: now, idle: settings.idleTimeout, longest: settings.sessionTimeout)
  }

  /// Writes one entry, however many publishers the person may see.
  ///
  /// - Parameters:
  ///   - person: `nil` if nobody has the name. What somebody typed there may be a password.
  ///   - isNoted: if not, the ledger is asked all the same, and writes nothing.
  private func note(_ action: String, _ person: ConsolePerson?, isNoted: Bool = true) async throws {
    _ = try await postgres.run(AuditEntry.insert(isNoted ? [Self.entry(action, person)] : []))
  }

  /// The entry of a person with one publisher is the publisher's, and everybody else's is of publisher 0.
  nonisolated static func entry(_ action: String, _ person: ConsolePerson?) -> AuditEntry {
    guard let person else { return AuditEntry(publisherId: 0, actor: .operator, action: action, subject: "console") }
    let detail = JSONWriter.object { $0.member("role", person.role.rawValue) }
    return AuditEntry(
      publisherId: person.publishers.single ?? 0, operator: person.name, action: action, subject: "console",
      detail: detail)
  }

  private nonisolated static func digest(_ text: String) -> String { Hex.encode(SHA256.hash(Array(text.utf8))) }
}
