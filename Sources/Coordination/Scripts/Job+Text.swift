import Domain

extension Job {
  /// The job in the form for a script.
  var text: String { String(decoding: encoded, as: UTF8.self) }
}
