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

  /// Whether anybody may sign in with a password.
  var takesPasswords: Bool { people.hasPasswords }

  /// The people of the file of users, as it is now.
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
      try await refuse(Self.entry("console.refused", person))
      return .refused
    }
    let answer = try await begin(person)
    if case .signedIn = answer { try await sessions.forgetAttempts(own) }
    return answer
  }

  /// Begins a session of somebody who has proven who it is. The ledger's audit log notes it before.
  ///
  /// - Throws: `RedisError`, `PostgresError`, `CryptoError`.
  func begin(_ person: ConsolePerson) async throws -> Answer {
    let name = person.name
    let signIns = try await sessions.count(Self.digest("signed in \(name)"), within: Self.window)
    guard signIns <= Self.mostSignIns else { return .tooOften }
    try await note(Self.entry("console.signedIn", person))
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
  /// - Parameter isRefresh: whether the console's script asks, and no person does.
  /// - Throws: `RedisError`.
  func person(_ token: String, isRefresh: Bool) async throws -> ConsolePerson? {
    let digest = Self.digest(token)
    guard let session = try await sessions.session(digest) else { return nil }
    let now = context.now()
    guard let person = Self.person(session, people.people, people.roles, people.openID), left(session, now) > .zero
    else {
      try await sessions.end(digest)
      return nil
    }
    if let used = Self.session(session, usedAt: now, isRefresh: isRefresh) {
      try await sessions.use(used, digest, for: left(used, now))
    }
    return person
  }

  /// A session as its record must become; `nil` if the record stays.
  ///
  /// A page that nobody looks at any more refreshes itself: its session ends all the same. And a use is noted every ten
  /// seconds at most, since each page would write otherwise.
  nonisolated static func session(_ session: ConsoleSession, usedAt now: Int64, isRefresh: Bool) -> ConsoleSession? {
    guard !isRefresh, now.subtractingReportingOverflow(session.usedAt).partialValue > 10_000 else { return nil }
    var used = session
    used.usedAt = now
    return used
  }

  /// Who has a session, as the files are now; `nil` if the line that lets the person in is gone or another one.
  nonisolated static func person(
    _ session: ConsoleSession, _ people: ConsolePeople, _ roles: OpenIDRoles? = nil, _ settings: OpenIDSettings? = nil
  ) -> ConsolePerson? {
    // A name belongs to one way of signing in: with a password, if the file of users has it.
    if let person = people[session.name] { return person.lineSHA256 == session.lineSHA256 ? person : nil }
    guard let roles, let settings, people.hasTaken(session.name) == false else { return nil }
    return roles.person(session.name, session.lineSHA256, settings)
  }

  /// Ends the session of a token.
  ///
  /// - Throws: `RedisError`.
  func signOut(_ token: String) async throws { try await sessions.end(Self.digest(token)) }

  private func left(_ session: ConsoleSession, _ now: Int64) -> Duration {
    let settings = context.settings.console
    return session.left(at: now, idle: settings.idleTimeout, longest: settings.sessionTimeout)
  }

  /// Notes a refusal, if there were not too many of them. If there were, the ledger is asked all the same, and writes
  /// nothing.
  ///
  /// - Throws: `RedisError`, `PostgresError`.
  func refuse(_ entry: AuditEntry) async throws {
    let refusals = try await sessions.count(Self.digest("refused"), within: Self.window)
    try await note(refusals <= Self.mostNotedRefusals ? entry : nil)
  }

  /// Counts an attempt from an address to sign in with the provider.
  ///
  /// - Returns: whether the address may go on.
  /// - Throws: `RedisError`.
  func admits(_ address: String) async throws -> Bool {
    try await sessions.count(Self.digest("openid \(address)"), within: Self.window) <= Self.mostOfAddress
  }

  /// Writes one entry, however many publishers the person may see.
  private func note(_ entry: AuditEntry?) async throws {
    _ = try await postgres.run(AuditEntry.insert([entry].compactMap { $0 }))
  }

  /// The entry of a person with one publisher is the publisher's, and everybody else's is of publisher 0.
  ///
  /// - Parameter person: `nil` if nobody has the name. What somebody typed there may be a password.
  nonisolated static func entry(_ action: String, _ person: ConsolePerson?) -> AuditEntry {
    guard let person else { return AuditEntry(publisherId: 0, actor: .operator, action: action, subject: "console") }
    let detail = JSONWriter.object {
      $0.member("role", person.role.rawValue)
      if person.password == nil { $0.member("with", "openId") }
    }
    return AuditEntry(
      publisherId: person.publishers.single ?? 0, operator: person.name, action: action, subject: "console",
      detail: detail)
  }

  private nonisolated static func digest(_ text: String) -> String { Hex.encode(SHA256.hash(Array(text.utf8))) }
}
