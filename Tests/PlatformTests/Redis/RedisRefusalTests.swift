import Redis
import Testing

/// The errors with which Redis 6 and 7 refuse writes.
struct RedisRefusalTests {
  @Test(arguments: [
    ("READONLY You can't write against a read only replica.", RedisRefusal.readOnly),
    ("OOM command not allowed when used memory > 'maxmemory'.", .outOfMemory),
    ("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist.", .misconfigured),
    ("MISCONF Errors writing to the AOF file: No space left on device", .misconfigured),
    ("NOREPLICAS Not enough good replicas to write.", .tooFewReplicas),
    // Redis 7, in a script.
    ("OOM command not allowed when used memory > 'maxmemory'. script: 2f0c…, on @user_script:9.", .outOfMemory),
    // Redis 6, in a script.
    (
      "ERR Error running script (call to f_2f0c): @user_script:1: @user_script: 1: -READONLY You can't write against a "
        + "read only replica. ", .readOnly
    ),
    (
      "ERR Error running script (call to f_2f0c): @user_script:9: @user_script: 9: -OOM command not allowed when used "
        + "memory > 'maxmemory'. ", .outOfMemory
    ),
    (
      "ERR Error running script (call to f_2f0c): @user_script:9: @user_script: 9: -MISCONF Errors writing to the AOF "
        + "file: No space left on device ", .misconfigured
    ),
  ]) func refused(text: String, refusal: RedisRefusal) {
    #expect(RedisRefusal(text) == refusal)
    #expect(RedisError(.reply, operation: "SET", target: "t", cause: text).refusal == refusal)
  }

  @Test(arguments: [
    "", "ERR unknown command 'OOM'", "WRONGTYPE Operation against a key", "OOMS", "NOSCRIPT No matching script.",
    "LOADING Redis is loading the dataset in memory", "Connection refused",
    "ERR Error running script (call to f_2f0c): @user_script:1: user_script:1: OOM",
  ]) func other(text: String) {
    #expect(RedisRefusal(text) == nil)
  }
}
