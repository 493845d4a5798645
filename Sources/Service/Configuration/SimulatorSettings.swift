public import Domain
import Formats

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
    folder = reader.path(
      "simulator.folder", "simulator", "Folder in which the simulator keeps its test PKI and the apps' keys.")
    tlsNames = reader.strings(
      "simulator.tlsNames", ["localhost", "127.0.0.1"], "Names and addresses in the simulator's TLS certificate.")
    let key = "simulator.apps"
    apps = reader.strings(
      key, ["com.example.app:1234567890:57246542-96fe-1a63-e053-0824d011072a:2X9R4HXF34"],
      "Apps that the simulator knows, each as `bundleId:appAppleId:issuerId:keyId`."
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
    latency = reader.seconds("simulator.latencySeconds", 0, 0...60, "How long the simulator waits before each answer.")
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
