public import Domain
import Formats
public import Transport

/// A numeric address and a port.
public struct ListenAddress: Sendable, Equatable {
  public var host: String
  /// 0 takes any free port.
  public var port: Int

  init(_ reader: SettingsReader, _ key: String, _ fallback: String, _ meaning: String) {
    let text = reader.string(key, fallback, meaning)
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let port = parts.last.flatMap { UInt16($0) }
    host = parts.dropLast().joined(separator: ":")
    if host.first == "[", host.last == "]" { host = String(host.dropFirst().dropLast()) }
    self.port = port.map(Int.init) ?? 0
    // A name cannot be listened on, and that must not come out only at the start.
    if port == nil || NetworkAddress(host) == nil {
      reader.note(key, "is \"\(text)\", expected address:port with a numeric address, for example 0.0.0.0:8080")
    }
  }
}

/// The workers' way to Apple, and the certificates that they trust.
public struct AppStoreSettings: Sendable {
  public var productionURL: String
  public var sandboxURL: String
  /// Files with the roots that signatures must chain to; empty means Apple's own, which are built in.
  public var rootFiles: [String]
  /// PEM file with the authorities for Apple's TLS; `nil` means the system's.
  public var caFile: String?
  /// Time for one call.
  public var timeout: Duration
  /// A longer answer is an error.
  public var maxResponseBytes: Int
  /// Connections to each of Apple's hosts; calls share them by HTTP/2.
  public var maxConnections: Int
  /// The whole fleet's budget for each app, environment and endpoint, as a factor of Apple's limit.
  public var budgetScale: Double

  init(_ reader: SettingsReader) {
    func url(_ key: String, _ fallback: String, _ meaning: String) -> String {
      // The URL might hold a password.
      let text = reader.string(key, fallback, meaning, isSecret: true)
      let url = ServerURL(text)
      if url?.scheme != "https" { reader.note(key, "expected an https:// URL") }
      // Apple knows no password. The errors of calls name the host as it stands here.
      if url?.user != nil { reader.note(key, "expected an https:// URL without a user or a password") }
      return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
    productionURL = url(
      "appStore.productionURL", "https://api.storekit.apple.com", "Base URL of the App Store Server API.")
    sandboxURL = url(
      "appStore.sandboxURL", "https://api.storekit-sandbox.apple.com", "Base URL of its sandbox.")
    rootFiles = reader.strings(
      "appStore.rootFiles", [], "Root certificates (DER or PEM) that signatures must chain to, instead of Apple's."
    ).map(reader.resolve)
    caFile = reader.optionalPath(
      "appStore.caFile", "PEM file of certificate authorities for Apple's TLS, instead of the system's.")
    timeout = reader.seconds("appStore.timeoutSeconds", 30, 0.1...300, "Time for one call to Apple.")
    maxResponseBytes = Int(
      reader.int("appStore.maxResponseBytes", 1 << 20, 1024...(64 << 20), "A longer answer of Apple is an error."))
    maxConnections = Int(
      reader.int("appStore.maxConnections", 4, 1...50, "Connections to each of Apple's hosts, shared by HTTP/2."))
    budgetScale = reader.factor(
      "appStore.budgetScale", 1, 0.001...10_000,
      "Budget of the whole fleet for each app and endpoint, as a factor of what Apple allows.")
  }
}

/// The gateway: HTTP in, jobs out.
public struct GatewaySettings: Sendable {
  public var listen: ListenAddress
  public var maxBodyBytes: Int
  public var maxHeaderBytes: Int
  public var maxConnections: Int
  public var maxConnectionsPerAddress: Int
  public var idleTimeout: Duration
  public var headTimeout: Duration
  public var bodyTimeout: Duration
  /// Bytes a second.
  public var minBodyRate: Int
  /// How much of the memory for large bodies one publisher and one client address can have, from 0 to 1.
  public var bodySharePerPublisher: Double
  public var bodySharePerAddress: Double
  /// Time for the broker to confirm a job before the client gets a 503.
  public var publishTimeout: Duration
  /// The proxies whose `X-Forwarded-For` names the client.
  public var trustedProxies: [AddressBlock]
  /// How many notifications of one client address the gateway refuses in a second before it answers 429.
  public var refusedNotificationsPerSecond: Int
  public var doors: DoorSettings
  public var limits: LimitSettings

  init(_ reader: SettingsReader, _ known: [any ConfiguredDoor]) {
    doors = DoorSettings(reader, known)
    limits = LimitSettings(reader)
    listen = ListenAddress(reader, "gateway.listen", "127.0.0.1:8080", "Address and port of the HTTP API.")
    maxBodyBytes = Int(
      reader.int("gateway.maxBodyBytes", 16384, 256...1_048_576, "A longer body is answered with 413."))
    maxHeaderBytes = Int(
      reader.int(
        "gateway.maxHeaderBytes", 16384, 4096...1_048_576,
        "Memory for the request line and header fields, with 64 bytes for each."))
    maxConnections = Int(reader.int("gateway.maxConnections", 4096, 1...100_000, "Connections at a time."))
    idleTimeout = reader.seconds(
      "gateway.idleTimeoutSeconds", 30, 1...3600, "A silent connection is closed after this.")
    maxConnectionsPerAddress = Int(
      reader.int(
        "gateway.maxConnectionsPerAddress", 1024, 1...100_000,
        "Connections of one client at a time; of a client behind a listed proxy, its requests. An IPv6 network of 48 "
          + "bits can have twice as many."))
    headTimeout = reader.seconds("gateway.headTimeoutSeconds", 10, 0.1...300, "Time for a whole head.")
    bodyTimeout = reader.seconds("gateway.bodyTimeoutSeconds", 60, 0.1...3600, "Time for a whole body.")
    minBodyRate = Int(
      reader.int(
        "gateway.minBodyBytesPerSecond", 1024, 1...1_048_576,
        "A body or a reader that is slower is cut, once the time for a head has passed."))
    bodySharePerPublisher = reader.factor(
      "gateway.bodySharePerPublisher", 0.5, 0.05...1,
      "Part of the 256 MiB for bodies with receipts that one publisher can have; its apps three quarters of that part.")
    bodySharePerAddress = reader.factor(
      "gateway.bodySharePerAddress", 0.25, 0.05...1,
      "Part of these, and of the 64 MiB for notifications, that one client address can have; an IPv6 network of 48 "
        + "bits twice as much.")
    publishTimeout = reader.seconds(
      "gateway.publishTimeoutSeconds", 5, 0.1...30, "Time for the broker to confirm a job before the answer is 503.")
    refusedNotificationsPerSecond = Int(
      reader.int(
        "gateway.refusedNotificationsPerSecond", 10, 1...100_000,
        "Notifications that are not Apple's from one client address to one publisher's path; those of 30 seconds may "
          + "come at once. Beyond that the address gets 429. All paths together have 20 times as much."))
    let key = "gateway.trustedProxies"
    trustedProxies = reader.strings(
      key, [],
      "Addresses and blocks, as `10.1.0.0/16`, of the proxies before the gateway; `X-Forwarded-For` of any other "
        + "sender counts nothing."
    ).compactMap { text in
      let block = AddressBlock(text)
      if block == nil { reader.note(key, "has \"\(text)\", expected an address, or a block such as 10.1.0.0/16") }
      return block
    }
  }
}

/// The worker: jobs in, events out.
public struct WorkerSettings: Sendable {
  public var listen: ListenAddress
  /// Jobs that run at once; also the prefetch.
  public var concurrency: Int
  /// Looks at purchases, without a waiting customer, that run at once.
  public var timerConcurrency: Int
  /// How often the Notification History of each app is read.
  public var historyInterval: Duration
  public var leaseDuration: Duration
  /// Delay before each further attempt. After the last attempt the result is `INTERNAL_ERROR`.
  public var retrySchedule: [Duration]
  /// Further attempts when Apple does not know a transaction. It may be too new for Apple.
  public var notFoundRetries: Int
  /// How long the next registrations of a transaction need no call to Apple when one has given access.
  public var answerReuse: Duration
  /// How long a client can read a finalized status.
  public var statusRetention: Duration
  /// How long an applied notification of Apple's is kept.
  public var notificationRetention: Duration
  /// How often the sweep looks for open synchronizations that no queue holds.
  public var sweepInterval: Duration
  /// The age at which the sweep looks at an open synchronization.
  public var sweepAfter: Duration

  init(_ reader: SettingsReader) {
    listen = ListenAddress(
      reader, "worker.listen", "127.0.0.1:9101", "Address and port of /livez, /readyz and /metrics.")
    concurrency = Int(
      reader.int(
        "worker.concurrency", 200, 1...10_000,
        "Jobs of one publisher that run at once in one process; of all, a third more."))
    timerConcurrency = Int(
      reader.int(
        "worker.timerConcurrency", 100, 0...10_000,
        "Looks at purchases whose timers are due that run at once in one process; 0 takes none."))
    historyInterval = reader.seconds(
      "worker.historyIntervalSeconds", 3600, 1...86_400,
      "How often the Notification History of each app is read, for notifications that did not arrive.")
    leaseDuration = reader.seconds(
      "worker.leaseSeconds", 15, 0.5...600, "A worker that is silent for so long loses its jobs to another.")
    retrySchedule = reader.secondsList(
      "worker.retryScheduleSeconds", [1, 5, 30, 120, 600] + Array(repeating: 3600, count: 23),
      "Delay before each further attempt, which comes a second or a tenth later at most.")
    notFoundRetries = Int(
      reader.int("worker.notFoundRetries", 2, 0...20, "Further attempts while Apple does not know a transaction."))
    answerReuse = reader.seconds(
      "worker.answerReuseSeconds", 3, 0...60,
      "A verified answer that gives access covers further registrations of the transaction for so long.")
    statusRetention = reader.seconds(
      "worker.statusRetentionSeconds", 2_592_000, 60...31_536_000, "How long a finalized status can be read.")
    // Not shorter: a reading of Notification History after an outage would keep them again as new.
    notificationRetention = reader.seconds(
      "worker.notificationRetentionSeconds", 15_552_000, 2_592_000...315_360_000,
      "How long a notification of Apple's is kept after it was applied; Apple itself keeps it for 180 days.")
    sweepInterval = reader.seconds(
      "worker.sweepIntervalSeconds", 30, 0.1...3600, "How often open synchronizations are looked through.")
    sweepAfter = reader.seconds(
      "worker.sweepAfterSeconds", 120, 0.1...86_400,
      "Age at which an open synchronization that no queue seems to hold is enqueued again.")
    // A copy of a job may wait for the longest delay while the original is finalized, and must find its status.
    let retry = retrySchedule.max() ?? .zero
    let longest = retry + JobDelayQueue.tolerance(of: retry) + sweepAfter
    if statusRetention < longest + .seconds(30) {
      reader.note(
        "worker.statusRetentionSeconds",
        "is too short, expected 30 seconds more than the longest retry, which may end a tenth later, and the sweep")
    }
  }
}

/// The simulator: a stand-in for Apple.
public struct SimulatorSettings: Sendable {
  public var listen: ListenAddress
  /// Where the simulator keeps its test PKI and the apps' keys, and where workers find both.
  public var folder: String
  public var tlsNames: [String]
  /// `bundleId:appAppleId:issuerId:keyId` of each app.
  public var apps: [App]
  /// The time that the simulator adds to every answer.
  public var latency: Duration
  /// How long a month of a simulated purchase takes; zero is real time.
  public var lifeMonth: Duration
  /// Where the notifications of simulated purchases go.
  public var notificationURLs: [String]
  /// The version of these notifications.
  public var notificationVersion: Int
  /// The shared secret in notifications of version 1.
  public var notificationPassword: String?
  public var notificationCAFile: String?

  /// An app that the simulator knows.
  public struct App: Sendable, Equatable {
    public let bundleId: BundleId
    public let appAppleId: Int64
    public let issuerId: String
    public let keyId: String
  }

  init(_ reader: SettingsReader) {
    listen = ListenAddress(reader, "simulator.listen", "127.0.0.1:8443", "Address and port of the simulated App Store.")
    folder = reader.path("simulator.folder", "simulator", "Where it keeps its test PKI and the apps' keys.")
    tlsNames = reader.strings(
      "simulator.tlsNames", ["localhost", "127.0.0.1"], "Names and addresses in its TLS certificate.")
    let key = "simulator.apps"
    apps = reader.strings(
      key, ["com.example.app:1234567890:57246542-96fe-1a63-e053-0824d011072a:2X9R4HXF34"],
      "Apps it knows, each as `bundleId:appAppleId:issuerId:keyId`."
    ).compactMap { text in
      let words = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      // A key's file is named after its id.
      guard words.count == 4, !words.contains(""), let appAppleId = Int64(words[1]),
        words[3].utf8.allSatisfy(\.isASCIILetterOrDigit)
      else {
        reader.note(key, "has \"\(text)\", expected bundleId:appAppleId:issuerId:keyId")
        return nil
      }
      return App(bundleId: BundleId(words[0]), appAppleId: appAppleId, issuerId: words[2], keyId: words[3])
    }
    latency = reader.seconds("simulator.latencySeconds", 0, 0...60, "Added to every answer.")
    lifeMonth = reader.seconds(
      "simulator.lives.monthSeconds", 60, 0...2_592_000,
      "How long a month of a simulated purchase takes; 0 is real time.")
    let urls = "simulator.notifications.urls"
    notificationURLs = reader.strings(urls, [], "URLs that get the notifications of simulated purchases.")
    for url in notificationURLs where ServerURL(url)?.scheme != "https" && ServerURL(url)?.scheme != "http" {
      reader.note(urls, "has \"\(url)\", expected an http:// or https:// URL")
    }
    notificationVersion = Int(
      reader.int(
        "simulator.notifications.version", 2, 1...2, "Version of these notifications: 2, or 1 for the unsigned form."))
    notificationPassword = reader.secret(
      "simulator.notifications.passwordFile", isRequired: false,
      "File with the shared secret in notifications of version 1.")
    notificationCAFile = reader.optionalPath(
      "simulator.notifications.caFile", "PEM file of certificate authorities for these URLs, instead of the system's.")
  }
}
