public import EventLoop
public import Postgres

/// A role's client of the ledger, and whether this build can work with the ledger's schema.
@LoopActor
public final class RoleLedger: RoleService {
  public let postgres: PostgresClient
  public let readiness: [ReadinessCheck]
  private let context: RoleContext
  private let followers: Followers<Void>
  private var phase = ServicePhase.new
  /// Whether the schema has been seen to fit.
  private var hasSchema = false { didSet { followers.tell(()) } }

  /// Creates a client. Nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - isNeeded: whether the role is not ready without the ledger.
  ///   - statementTimeout: PostgreSQL breaks off a statement that takes longer; `nil` for no limit of its own.
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`.
  public init(_ context: RoleContext, isNeeded: Bool, statementTimeout: Duration? = nil) throws {
    let followers = Followers<Void>()
    self.context = context
    self.followers = followers
    postgres = try context.makeLedger(statementTimeout: statementTimeout) { followers.tell(()) }
    readiness = [.ledger(postgres, isNeeded: isNeeded)]
  }

  /// Whether statements can run now.
  public var isReady: Bool { hasSchema && postgres.isReady }

  /// Calls a handler whenever ``isReady`` may have changed.
  public func follow(_ handler: @escaping @LoopActor () -> Void) { followers.add { _ in handler() } }

  /// Starts to connect.
  public func start() { if phase.start() { postgres.start() } }

  /// Does nothing: it takes no work by itself.
  public func close() {}

  public func stop(within grace: Duration) async { if phase.stop() { await postgres.stop() } }

  /// The service whose start ends when the schema fits, or when the role must go on without the ledger.
  ///
  /// It comes after the clients, so that all of them connect meanwhile, and before whatever needs the ledger.
  public private(set) lazy var schema = SchemaWait(postgres, context.log) { [weak self] in self?.hasSchema = true }
}
