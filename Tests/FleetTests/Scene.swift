import EventLoop
import Testing

/// A part of a test that shares a fleet with other parts: to start and to stop a fleet takes longer than most of them.
struct Scene<Stage> {
  private let name: String
  private let play: @LoopActor (Stage) async throws -> Void

  init(_ name: String, _ play: @escaping @LoopActor (Stage) async throws -> Void) {
    (self.name, self.play) = (name, play)
  }

  /// Plays it. What it throws is told with its name, and the next scene can follow.
  @LoopActor func run(_ stage: Stage) async {
    do { try await play(stage) } catch { Issue.record("\(name): \(error)") }
  }
}
