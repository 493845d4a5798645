/// A Lua script that runs atomically in Redis.
///
/// A script declares the names of its keys and arguments once. The Lua text uses these names, and so does each call:
///
///     let add = RedisScript(
///       "add", keys: ["sumKey"], arguments: ["number"],
///       """
///       return redis.call('INCRBY', sumKey, number)
///       """)
///     try await redis.run(add, keys: ["sumKey": "sum"], arguments: ["number": "2"])
public final class RedisScript: Sendable {
  /// A name for errors and metrics.
  public let name: String
  /// The Lua text: the functions, then the names, then the body.
  public let source: String

  private let keys: [String]
  private let arguments: [String]
  private let hasMoreKeys: Bool
  private let hasMoreArguments: Bool

  /// Creates a script.
  ///
  /// - Parameters:
  ///   - functions: the functions that the body calls. They stand before the names, so they know only their own
  ///     parameters.
  ///   - keys: the names of the keys, in their order.
  ///   - moreKeys: for a script with a varying number of keys, the name of the index in `KEYS` where they begin.
  ///   - arguments: the names of the arguments, in their order.
  ///   - moreArguments: the same for the arguments and `ARGV`.
  ///   - body: the Lua text that uses the names.
  public init(
    _ name: String, functions: [LuaFunction] = [], keys: [String] = [], moreKeys: String? = nil,
    arguments: [String] = [], moreArguments: String? = nil, _ body: String
  ) {
    let names = keys + arguments + [moreKeys, moreArguments].compactMap(\.self)
    precondition(Set(names).count == names.count, "script \(name) has two names that are the same")
    self.name = name
    self.keys = keys
    self.arguments = arguments
    hasMoreKeys = moreKeys != nil
    hasMoreArguments = moreArguments != nil
    source =
      functions.map { $0.source + "\n" }.joined() + Self.prologue(keys, of: "KEYS", moreKeys)
      + Self.prologue(arguments, of: "ARGV", moreArguments) + body
  }

  /// One run of a script: the script, its keys and its arguments.
  public struct Call: Sendable {
    let script: RedisScript
    /// The words of the command, with room for the script in the first two.
    private let words: [String]

    fileprivate init(_ script: RedisScript, _ words: [String]) {
      self.script = script
      self.words = words
    }

    func command(_ name: String, _ script: String) -> [String] {
      var words = words
      (words[0], words[1]) = (name, script)
      return words
    }
  }

  /// Creates a call.
  ///
  /// Each name must stand in the place where the script declares it. So no value can slip into the place of another
  /// value.
  ///
  /// - Parameters:
  ///   - moreKeys: only for a script that declares more keys.
  ///   - moreArguments: only for a script that declares more arguments.
  public func call(
    keys: KeyValuePairs<String, String> = [:], moreKeys: [String] = [],
    arguments: KeyValuePairs<String, String> = [:], moreArguments: [String] = []
  ) -> Call {
    precondition(
      keys.lazy.map(\.key).elementsEqual(self.keys) && arguments.lazy.map(\.key).elementsEqual(self.arguments)
        && (hasMoreKeys || moreKeys.isEmpty) && (hasMoreArguments || moreArguments.isEmpty),
      "a call of script \(name) has other names than the script")
    let keyCount = keys.count + moreKeys.count
    var words: [String] = []
    words.reserveCapacity(3 + keyCount + arguments.count + moreArguments.count)
    words.append("")
    words.append("")
    words.append(String(keyCount))
    for (_, key) in keys { words.append(key) }
    words.append(contentsOf: moreKeys)
    for (_, argument) in arguments { words.append(argument) }
    words.append(contentsOf: moreArguments)
    return Call(self, words)
  }

  private static func prologue(_ names: [String], of table: String, _ more: String?) -> String {
    var lines = ""
    if !names.isEmpty { lines += "local \(names.joined(separator: ", ")) = unpack(\(table), 1, \(names.count))\n" }
    if let more { lines += "local \(more) = \(names.count + 1)\n" }
    return lines
  }
}
