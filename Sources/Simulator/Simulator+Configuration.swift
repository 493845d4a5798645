public import Formats

extension Simulator {
  /// One app of App Store Connect, with the key that signs its bearer tokens.
  public struct App: Hashable, Sendable {
    /// The bundle id, `bid` in the token.
    public var bundleId: ExactText
    /// The app's number.
    public var appAppleId: Int64
    /// The issuer id, `iss` in the token.
    public var issuerId: String
    /// The key id, `kid` in the token; apps of one issuer may share a key.
    public var keyId: String

    /// Creates an app.
    public init(bundleId: ExactText, appAppleId: Int64, issuerId: String, keyId: String) {
      self.bundleId = bundleId
      self.appAppleId = appAppleId
      self.issuerId = issuerId
      self.keyId = keyId
    }
  }

  /// Where the notifications of lives go, and in which version.
  public struct Notifications: Sendable {
    /// The URLs; each gets every notification.
    public var urls: [String] = []
    /// 2, or 1 for the unsigned form of old.
    public var version = 2
    /// The shared secret in notifications of version 1.
    public var password: String?
    /// A PEM file of certificate authorities for the URLs, instead of the system's.
    public var caFile: String?

    /// Creates settings without URLs.
    public init() {}
  }

  /// Address, files and apps of one simulator.
  public struct Configuration: Sendable {
    /// The address to listen on.
    public var host: String
    /// The port; 0 lets the system choose, see ``Simulator/port``.
    public var port: Int
    /// The folder of the test PKI and the keys. The first start writes them, and later starts read them. The simulator
    /// creates the folder if it is missing.
    public var folder: String
    /// Names and addresses in the TLS certificate, in addition to `localhost` and `127.0.0.1`.
    public var tlsNames: [String]
    /// The apps whose tokens the simulator accepts.
    public var apps: [App]
    /// An extra delay of every answer of the App Store Server API.
    public var latency: Duration
    /// How long a month of a life takes; zero is real time.
    public var lifeMonth: Duration = .seconds(60)
    /// Where the notifications of lives go.
    public var notifications = Notifications()

    /// Creates a configuration.
    public init(
      host: String = "127.0.0.1", port: Int = 0, folder: String, tlsNames: [String] = [], apps: [App],
      latency: Duration = .zero
    ) {
      self.host = host
      self.port = port
      self.folder = folder
      self.tlsNames = tlsNames
      self.apps = apps
      self.latency = latency
    }
  }
}
