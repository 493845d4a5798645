/// Access that somebody gave by hand, and that ends at a time: a worker tells its end.
public protocol EndingAccess: Sendable {
  var customer: CustomerKey { get }
  /// Milliseconds since 1970.
  var endsAt: Int64 { get }
}

extension Grant: EndingAccess {}
extension SandboxOverride: EndingAccess {}
