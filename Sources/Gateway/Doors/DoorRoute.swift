import EventLoop
package import HTTPServer

/// One operation of a door.
package struct DoorRoute: Sendable {
  /// Answers a request in the vendor's form, with the vendor's errors.
  package typealias Handler = @LoopActor @Sendable (DoorContext, DoorCall) async -> HTTPServerResponse

  let method: RouteMethod
  let path: String
  let prefix: String?
  let label: String
  let takesReceipts: Bool
  let answer: Handler

  /// Declares a route.
  ///
  /// - Parameters:
  ///   - path: as docs/reference/openapi.yaml writes it.
  ///   - prefix: an optional first segment of the path.
  ///   - label: that of the route's metrics.
  ///   - takesReceipts: whether the body may be as long as a receipt. Such a path has no prefix and no value.
  package init(
    _ method: RouteMethod, _ path: String, under prefix: String? = nil, _ label: String, takesReceipts: Bool = false,
    _ answer: @escaping Handler
  ) {
    (self.method, self.path, self.prefix, self.label) = (method, path, prefix, label)
    (self.takesReceipts, self.answer) = (takesReceipts, answer)
  }
}
