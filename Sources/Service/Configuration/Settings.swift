import Formats

/// The configuration of one process. Every role reads the same file and takes the settings that it needs.
public struct Settings: Sendable {
  public var rabbitmq: RabbitMQSettings
  public var redis: RedisSettings
  public var ledger: LedgerSettings
  public var events: EventSettings
  public var traces: TraceSettings
  public var appStore: AppStoreSettings
  public var gateway: GatewaySettings
  public var worker: WorkerSettings
  public var notifier: NotifierSettings
  public var console: ConsoleSettings
  public var simulator: SimulatorSettings
  /// The folder with one file per publisher.
  public var publishersFolder: String
  /// The least important level that the log shows.
  public var logLevel: LogLevel
  /// How lines of the log name customers.
  public var logCustomers: LogCustomers
  /// How often a role looks whether the files of its configuration have changed.
  public var reloadInterval: Duration
  /// How long roles may differ about a publisher's file that has changed.
  public var reloadSettling: Duration { min(reloadInterval * 2, .seconds(300)) }
  /// Time for a role to finish its work after SIGTERM.
  public var shutdownGrace: Duration
  /// What the file and the environment say other than the defaults, without secrets, in the order of the reference.
  public let stated: [StatedSetting]

  /// Levels of the log, from the most to the least talkative.
  public enum LogLevel: String, Sendable, CaseIterable { case debug, info, warning, error }
  /// The ways to name customers in the log.
  public enum LogCustomers: String, Sendable, CaseIterable { case hash, plain, none }

  init(_ reader: SettingsReader, _ doors: [any ConfiguredDoor]) {
    rabbitmq = RabbitMQSettings(reader)
    redis = RedisSettings(reader)
    ledger = LedgerSettings(reader)
    events = EventSettings(reader)
    traces = TraceSettings(reader)
    publishersFolder = reader.path("publishers.folder", "publishers", "Folder with one JSON file per publisher.")
    appStore = AppStoreSettings(reader)
    gateway = GatewaySettings(reader, doors)
    worker = WorkerSettings(reader)
    notifier = NotifierSettings(reader)
    console = ConsoleSettings(reader)
    if console.playsLives, ServerURL(appStore.productionURL)?.host.hasSuffix("apple.com") ?? true {
      reader.note(
        ConsoleSettings.playsLivesKey, "is true, but appStore.productionURL is Apple's: only a simulator has lives")
    }
    simulator = SimulatorSettings(reader)
    logLevel = reader.choice("log.level", LogLevel.info, "Lowest level that is logged.")
    logCustomers = reader.choice(
      "log.customers", LogCustomers.hash,
      "How log lines name customers, whose ids may be e-mail addresses. `hash`: by a SHA-256 that support can compute; "
        + "`plain`: by their ids; `none`: not at all.")
    reloadInterval = reader.seconds(
      "reloadSeconds", 30, 0.1...86_400,
      "How often a role compares the files of its configuration with what it has read. After SIGHUP, it compares them "
        + "at once.")
    shutdownGrace = reader.seconds(
      "shutdownGraceSeconds", 25, 0...3600,
      "How long a role may finish its current work after SIGTERM. Then it hands back the rest.")
    stated = reader.stated.filter { $0.value != $0.fallback }
  }
}
