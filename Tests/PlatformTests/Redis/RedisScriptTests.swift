import Redis
import Testing

@Suite struct RedisScriptTests {
  @Test func `functions come first, then the names, then the body`() {
    let script = RedisScript(
      "all", functions: [LuaFunction("local function one() return 1 end")], keys: ["first", "second"],
      moreKeys: "otherKeys", arguments: ["name"], moreArguments: "otherNames", "return name")
    #expect(
      script.source == """
        local function one() return 1 end
        local first, second = unpack(KEYS, 1, 2)
        local otherKeys = 3
        local name = unpack(ARGV, 1, 1)
        local otherNames = 2
        return name
        """)
  }

  @Test func `a script without keys and arguments is its body`() {
    #expect(RedisScript("none", "return 1").source == "return 1")
  }

  @Test func `a call with other names, or in another order, does not run`() async {
    await #expect(processExitsWith: .success) {
      _ = RedisScript("two", arguments: ["one", "two"], "").call(arguments: ["one": "1", "two": "2"])
    }
    await #expect(processExitsWith: .failure) {
      _ = RedisScript("two", arguments: ["one", "two"], "").call(arguments: ["two": "2", "one": "1"])
    }
    await #expect(processExitsWith: .failure) {
      _ = RedisScript("two", arguments: ["one", "two"], "").call(arguments: ["one": "1"])
    }
    await #expect(processExitsWith: .failure) {
      _ = RedisScript("key", keys: ["one"], "").call(keys: ["other": "1"])
    }
    await #expect(processExitsWith: .failure) {
      _ = RedisScript("none", "").call(moreArguments: ["1"])
    }
  }

  @Test func `a name stands for one value`() async {
    await #expect(processExitsWith: .failure) {
      _ = RedisScript("twice", keys: ["claim"], arguments: ["claim"], "")
    }
  }
}
