/// What a script's answer holds.
///
/// An answer comes from outside: another script under the same name, or a damaged record, must not end the process.
extension [RESPValue] {
  /// The element at a place; `null` behind the end of the answer.
  public subscript(at place: Int) -> RESPValue { indices.contains(place) ? self[place] : .null }
}

extension RESPValue {
  /// A wait that a script asks for in milliseconds, from `least` to a day; `nil` for anything but a number.
  ///
  /// Nothing in Redis makes anybody wait for longer: Apple's `Retry-After` counts for an hour, a lease for ten minutes.
  public func wait(atLeast least: Duration = .milliseconds(1)) -> Duration? {
    integer.map { min(max(.milliseconds($0), least), .seconds(86_400)) }
  }
}
