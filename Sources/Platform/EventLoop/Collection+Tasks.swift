extension Collection {
  /// Waits for all tasks, and returns their values in their order. So none goes on behind a failure.
  ///
  /// - Throws: the failure of the first task that has one, in their order.
  public func allValues<Success: Sendable>() async throws -> [Success] where Element == Task<Success, any Error> {
    var results: [Result<Success, any Error>] = []
    for task in self { results.append(await task.result) }
    return try results.map { try $0.get() }
  }
}
