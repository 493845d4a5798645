/// A local Lua function that scripts are composed of.
public struct LuaFunction: Sendable {
  /// The Lua text, `local function` and all.
  public let source: String

  /// Creates a function.
  public init(_ source: String) { self.source = source }
}
