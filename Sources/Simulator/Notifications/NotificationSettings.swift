import JSON

/// Where notifications go, in which version, and what goes wrong on the way.
struct NotificationSettings: Equatable, Sendable {
  var urls: [String] = []
  /// 1 or 2.
  var version = 2
  /// The shared secret of version 1.
  var password: String?
  var faults = NotificationFaults()

  /// Reads the body of a control call. What it does not name is as in the configuration, or without a fault.
  init(_ body: inout ControlBody, usual: NotificationSettings) throws(ControlRefusal) {
    urls = try body.texts("urls") ?? usual.urls
    if let stranger = urls.first(where: { !Self.isURL($0) }) { throw .mistake("\(stranger) is not a URL") }
    version = Int(try body.integer("version", 1...2) ?? Int64(usual.version))
    password = try body.text("password") ?? usual.password
    faults.lose = try body.number("lose", 0...1) ?? 0
    faults.repeat = try body.number("repeat", 0...1) ?? 0
    faults.isShuffling = try body.flag("shuffle") ?? false
    faults.seed = UInt64(try body.integer("seed", 0...Int64.max) ?? 0)
    if var delay = try body.object("delay") {
      faults.delay = try delay.number("share", 0...1) ?? 1
      let least = try delay.seconds("minSeconds", 0...86_400) ?? 0
      let most = try delay.seconds("maxSeconds", 0...86_400) ?? max(least, 5_000)
      guard least <= most else { throw .mistake("minSeconds is more than maxSeconds") }
      faults.delays = least...most
      try delay.end()
    }
    try body.end()
  }

  init(urls: [String] = [], version: Int = 2, password: String? = nil) {
    (self.urls, self.version, self.password) = (urls, version, password)
  }

  static func isURL(_ text: String) -> Bool { text.hasPrefix("http://") || text.hasPrefix("https://") }

  /// Writes the settings; the password is not told.
  func write(to json: inout JSONWriter) {
    json.member("urls", array: urls.map { JSONValue.string($0).json })
    json.member("version", Int64(version))
    json.member("lose", json: JSONValue.number(faults.lose).json)
    json.member("repeat", json: JSONValue.number(faults.repeat).json)
    json.member("delay") { delay in
      delay.member("share", json: JSONValue.number(faults.delay).json)
      delay.member("minSeconds", json: JSONValue.number(Double(faults.delays.lowerBound) / 1000).json)
      delay.member("maxSeconds", json: JSONValue.number(Double(faults.delays.upperBound) / 1000).json)
    }
    json.member("shuffle", faults.isShuffling)
    json.member("seed", Int64(faults.seed))
  }
}
