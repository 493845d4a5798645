/// A row that this process cannot read. A newer process may have written it.
///
/// The error shows no value of the row: some rows hold secrets.
public struct UnreadableRecord: Error, Sendable, CustomStringConvertible {
  /// The record and the column, such as `the format of endpoint ep_1`.
  public let what: String

  init(_ what: String) { self.what = what }

  public var description: String { "\(what) cannot be read; perhaps a newer process wrote it" }
}
