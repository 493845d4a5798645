/// A local Lua function, of which scripts are composed.
public struct LuaFunction: Sendable {
  /// The Lua text, from `local function` to its `end`.
  public let source: String

  /// Creates a function.
  public init(_ source: String) { self.source = source }
}
