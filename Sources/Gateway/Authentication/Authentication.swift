import Domain
package import EventLoop
import HTTPServer
import Service

/// Checks credentials with the present publishers and the fetched keys.
@LoopActor
package struct Authentication {
  let context: RoleContext
  let keySets: KeySets

  /// How long a request waits for the first fetch of a key set.
  private static let patience: Duration = .seconds(3)

  /// Checks by what is known now, without waiting.
  package var authenticator: Authenticator {
    Authenticator(
      publishers: context.publishers, keySets: keySets.caches, now: context.now() / 1000,
      asksForKey: { [keySets] in keySets.ask(for: $0) })
  }

  /// Returns the caller. If its publisher's key set is being fetched for the first time, it waits for the end of that.
  ///
  /// - Throws: ``Problem`` as ``Authenticator/caller(of:)`` does.
  func caller(of request: HTTPServerRequest) async throws(Problem) -> Caller {
    var missing: PublisherId?
    var first = authenticator
    first.asksForKey = { [keySets] in
      missing = $0
      return keySets.ask(for: $0)
    }
    do {
      return try first.caller(of: request)
    } catch {
      guard let missing, await keySets.firstFetch(for: missing, atMost: Self.patience) else { throw error }
    }
    return try authenticator.caller(of: request)
  }
}
