extension RedisError {
  /// What a Redis in cluster mode says to a client that does not know the cluster.
  private static let marks = ["MOVED ", "CLUSTERDOWN ", "ERR SELECT is not allowed in cluster mode"]
  private static let sentence =
    "this Redis runs in cluster mode, and the scripts of Countersign need all keys in one node; expected a Redis with "
    + "cluster-enabled no, alone or with Sentinel"

  /// Whether the cause is the cluster mode.
  var isOfClusterMode: Bool { cause == Self.sentence }

  /// The same error, or the sentence about the cluster mode if the cause is one of its marks.
  var namingClusterMode: RedisError {
    guard Self.marks.contains(where: cause.hasPrefix) else { return self }
    return Self.clusterMode(target: target)
  }

  /// The refusal of a Redis in cluster mode.
  static func clusterMode(target: String) -> RedisError {
    RedisError(.reply, operation: "connect", target: target, cause: sentence)
  }
}
