import Configuration
import Coordination
import Crypto
import Domain
import EventLoop
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

  private let context: RoleContext
  private let people: PeopleFile
  private let sessions: ConsoleSessions
  private let postgres: PostgresClient
  /// Somebody whom nobody knows costs as much as somebody with a wrong password.
  private let nobody: Scrypt

  init(
    _ context: RoleContext, _ people: PeopleFile, _ sessions: ConsoleSessions, _ postgres: PostgresClient
  ) throws {
    (self.context, self.people, self.sessions, self.postgres) = (context, people, sessions, postgres)
    nobody = try Scrypt(of: "")
  }

  /// What becomes of a sign-in.
  enum Answer: Sendable, Equatable {
    /// With the token of the session.
    case signedIn(String)
    case refused
    /// Too many attempts.
    case tooOften

    /// For metrics.
    nonisolated var label: String {
      switch self {
      case .signedIn: "signedIn"
      case .refused: "refused"
      case .tooOften: "tooOften"
      }
    }
    nonisolated static let labels = ["signedIn", "refused", "tooOften"]
  }

  /// Signs a person in. The ledger's audit log notes it before the session begins.
  ///
  /// - Throws: `RedisError`, `PostgresError`, `CryptoError`.
  func signIn(_ name: String, _ password: String, from address: String) async throws -> Answer {
    let (own, all) = (Self.digest("\(address) \(name)"), Self.digest(address))
    let counts = try await sessions.attempt(own, all, atMost: Self.mostOfAddress, within: Self.window)
    guard counts.person <= Self.mostOfPerson, counts.address <= Self.mostOfAddress else { return .tooOften }
    let person = people.people[name]
    let hash = person?.password ?? nobody
    let isRight = try await EventLoop.offload { hash.admits(password) }
    guard let person else { return .refused }
    guard isRight else {
      try await note("console.refused", person)
      return .refused
    }
    try await note("console.signedIn", person)
    try await sessions.forgetAttempts(own)
    let token = Base64URL.encode(try secureRandomBytes(32))
    let now = context.now()
    let session = ConsoleSession(name: name, lineSHA256: person.lineSHA256, startedAt: now, usedAt: now)
    try await sessions.begin(session, Self.digest(token), for: left(session, now))
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

  private func note(_ action: String, _ person: ConsolePerson) async throws {
    let publishers = person.publishers?.sorted() ?? [0]
    _ = try await postgres.run(
      AuditEntry.insert(
        publishers.map {
          AuditEntry(
            publisherId: $0, operator: person.name, action: action, subject: "console", detail: Array("{}".utf8))
        }))
  }

  private nonisolated static func digest(_ text: String) -> String { Hex.encode(SHA256.hash(Array(text.utf8))) }
}
